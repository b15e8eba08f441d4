// The high-water mark: a small file that names the newest acknowledged entry. SQLite drops a damaged end of its write-ahead log
// without a word; with the mark we notice.

import { hash } from 'node:crypto'
import {
  constants,
  fdatasync,
  fdatasyncSync,
  fstatSync,
  openSync,
  readSync,
  writeSync,
} from 'node:fs'
import { closeQuietly } from './files.ts'

/** Syncing the mark competes with the log for the disk, so it is done seldom. */
const syncIntervalMs = 1000

/** The newest entry of the whole store: its id in the table, and the hash of its header. */
export interface Mark {
  readonly position: number
  readonly header: string
}

/** The file beside the database that holds the mark. */
export function highWaterPath(path: string): string {
  return `${path}-high-water`
}

/**
 * Contracts:
 * - `raise` is called after the commit and before the acknowledgement, so the mark is never ahead of what is durable.
 * - The mark itself is synced in the background: after a power loss it may be a little behind, which only means that a
 *   damaged log is noticed a little less often. Killing the process does not lose it.
 */
export class HighWater {
  readonly #descriptor: number
  #isSyncing = false
  #isClosed = false
  #syncedAtMs = 0
  /** The line that was last written here: while it stands there, nobody was faster. */
  #written = Buffer.alloc(0)
  #position = 0
  #found = Buffer.alloc(0)

  constructor(path: string) {
    // A link in its place would have the mark written over a file of somebody else's choice.
    const flags = constants.O_CREAT | constants.O_RDWR | constants.O_NOFOLLOW
    this.#descriptor = openSync(highWaterPath(path), flags, 0o600)
  }

  /** The mark, or undefined when there is none or it is not readable. */
  read(): Mark | undefined {
    const buffer = Buffer.alloc(fstatSync(this.#descriptor).size > 1024 ? 0 : 1024)
    const length = readSync(this.#descriptor, buffer, 0, buffer.length, 0)
    return parseMark(buffer.toString('latin1', 0, length))
  }

  /** Writes a newer mark. An older one is ignored: another process may have been faster. */
  raise(mark: Mark): void {
    const position = this.#isOwn() ? this.#position : (this.read()?.position ?? 0)
    if (position < mark.position) this.reset(mark)
  }

  #isOwn(): boolean {
    const length = readSync(this.#descriptor, this.#found, 0, this.#found.length, 0)
    return length > 0 && this.#found.equals(this.#written)
  }

  /** Writes a mark whatever was there. */
  reset(mark: Mark): void {
    this.#position = mark.position
    this.#written = Buffer.from(formatMark(mark), 'latin1')
    if (this.#found.length !== this.#written.length)
      this.#found = Buffer.alloc(this.#written.length)
    writeSync(this.#descriptor, this.#written, 0, this.#written.length, 0)
    if (this.#isSyncing || performance.now() - this.#syncedAtMs < syncIntervalMs) return
    this.#isSyncing = true
    this.#syncedAtMs = performance.now()
    // A failure here makes the mark weaker, never wrong; the log itself was synced by SQLite.
    fdatasync(this.#descriptor, () => {
      this.#isSyncing = false
      if (this.#isClosed) closeQuietly(this.#descriptor)
    })
  }

  /** Never throws: a mark that is not synced is weaker, never wrong. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    // While a sync runs, the descriptor must not be given to another file.
    if (this.#isSyncing) return
    try {
      fdatasyncSync(this.#descriptor)
    } catch {
      // Entries are synced before the mark is raised. A failed sync of the mark loses none of them.
    }
    closeQuietly(this.#descriptor)
  }
}

/** One line of fixed length: version, position, header, and a check over them. */
function formatMark({ position, header }: Mark): string {
  const fields = `oriel-high-water 1 ${String(position).padStart(16, '0')} ${header}`
  return `${fields} ${hash('sha256', fields).slice(0, 16)}\n`
}

function parseMark(text: string): Mark | undefined {
  const match = /^(oriel-high-water 1 (\d{16}) ([0-9a-f]{64})) ([0-9a-f]{16})\n/.exec(text)
  if (match === null) return undefined
  const [, fields = '', position, header = '', check] = match
  if (hash('sha256', fields).slice(0, 16) !== check) return undefined
  return { position: Number(position), header }
}
