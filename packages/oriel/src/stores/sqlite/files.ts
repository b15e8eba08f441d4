// The files around a database: created private, on a disk that SQLite can lock, and still there when something is acknowledged.

import {
  closeSync,
  constants,
  existsSync,
  fdatasyncSync,
  fsyncSync,
  mkdirSync,
  openSync,
  realpathSync,
  renameSync,
  statfsSync,
  statSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { OrielError } from '../../core/log/errors.ts'

/** Network file systems (NFS, SMB, CIFS, SMB2, AFS, Ceph, 9P): the write-ahead log needs memory shared by all processes. */
const networkTypes = new Set([
  0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x5346414f, 0x00c36400, 0x01021997,
])

/** Makes sure that the database file exists, readable by its owner alone if it is new. */
export function prepareFile(path: string): void {
  const directory = dirname(path)
  createDirectory(directory)
  if (networkTypes.has(statfsSync(directory).type)) {
    throw new OrielError(
      'storage-failed',
      `The directory ${directory} is on a network file system, where SQLite cannot lock. Use a local disk or the PostgreSQL store.`,
    )
  }
  if (existsSync(path)) return
  try {
    // SQLite would create it with the process's default mode; its log files take the mode of this one.
    closeQuietly(openSync(path, constants.O_CREAT | constants.O_EXCL | constants.O_RDWR, 0o600))
    syncDirectory(directory)
  } catch (error) {
    // Another process created it at this very moment: then it did the same. A link to nowhere is refused.
    if ((error as { code?: string }).code !== 'EEXIST' || !existsSync(path)) throw error
  }
}

/** Creates a directory and those above it. Node's own recursive way never returns for a path below /proc. */
function createDirectory(directory: string): void {
  if (existsSync(directory)) return
  const parent = dirname(directory)
  createDirectory(parent)
  try {
    mkdirSync(directory, { mode: 0o700 })
    syncDirectory(parent)
  } catch (error) {
    if ((error as { code?: string }).code !== 'EEXIST') throw error
  }
}

/** Identifies the file behind a path, to notice when somebody replaces or removes it; empty where there is none. */
export function fileIdentity(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false })
  return found === undefined ? '' : `${found.dev}:${found.ino}`
}

/**
 * The write-ahead log of a database that a connection has open: until it is closed, SQLite neither removes nor replaces the file.
 * Opening it beside SQLite is safe: SQLite locks other files. One descriptor for all syncs hears of every failure since the first.
 */
export class LogFile {
  readonly #descriptor: number
  readonly #paths: readonly string[]
  readonly #identities: readonly string[]

  constructor(path: string) {
    // SQLite follows links to the database, and keeps its other files beside the file itself.
    const real = realpathSync(path)
    this.#descriptor = openSync(`${real}-wal`, 'r+')
    this.#paths = [`${real}-wal`, `${real}-shm`]
    this.#identities = this.#paths.map(fileIdentity)
  }

  /** Whether the log and its index are still the files that were opened. SQLite itself does not notice, and commits into removed files. */
  isInPlace(): boolean {
    return this.#paths.every((path, index) => fileIdentity(path) === this.#identities[index])
  }

  /**
   * Renames a log that took the place of this one, to `-wal.replaced`. The next process would replay it, and undo what was written since
   * it was copied.
   */
  setReplacementAside(): void {
    const [path = ''] = this.#paths
    const found = fileIdentity(path)
    if (found === '' || found === this.#identities[0]) return
    try {
      renameSync(path, `${path}.replaced`)
    } catch {
      // Then the high-water mark tells the next process that entries are missing.
    }
  }

  /** Waits until the disk has all that was committed. */
  sync(): void {
    fdatasyncSync(this.#descriptor)
  }

  close(): void {
    closeQuietly(this.#descriptor)
  }
}

/** Closes a descriptor. The kernel releases it also when it reports an error; everything that must be durable was synced before. */
export function closeQuietly(descriptor: number): void {
  try {
    closeSync(descriptor)
  } catch {
    // Nothing depends on it: an earlier sync has already reported whether the disk has the data.
  }
}

/** Makes a new name in a directory survive a power loss. */
function syncDirectory(directory: string): void {
  const descriptor = openSync(directory, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeQuietly(descriptor)
  }
}
