// Connects agents and takes it back. Every file that is changed has a copy first, and the record says what was there before: disconnecting
// gives the very bytes back, or, where somebody changed the file meanwhile, takes only these settings back.

import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { OrielError } from 'oriel'
import type { FileChange, How } from './agents.ts'
import {
  type FileFormat,
  type PastSetting,
  withoutSettings,
  withSettings,
} from './settings-file.ts'

/** One file as it would be changed. */
export interface PlannedFile {
  readonly path: string
  readonly format: FileFormat
  /** The bytes that are there; absent where there is no file. */
  readonly before?: Buffer
  readonly after: Buffer
  readonly settings: FileChange['settings']
  readonly past: readonly PastSetting[]
}

/** What changes, before anything does. Throws OrielError with the file's name where one cannot be changed safely. */
export function plan(changes: readonly FileChange[]): readonly PlannedFile[] {
  return changes.map(({ path: first, alternatives = [], format, settings }) => {
    const path = alternatives.find((one) => existsSync(one)) ?? first
    const before = existsSync(path) ? readFileSync(path) : undefined
    try {
      const { text, before: past } = withSettings(textOf(before), settings, format)
      const from = before === undefined ? {} : { before }
      return { path, format, ...from, after: Buffer.from(text), settings, past }
    } catch (error) {
      throw named(path, error)
    }
  })
}

interface RecordedFile {
  readonly path: string
  readonly format: FileFormat
  /** The copy of the file as it was; absent where there was none. */
  readonly copy?: string
  /** SHA-256 of the file as it was written. */
  readonly written: string
  readonly past: readonly PastSetting[]
  /** Folders that were made for it, the innermost first. */
  readonly folders: readonly string[]
}

export interface Connection {
  readonly how: How
  readonly files: readonly RecordedFile[]
}

type Records = Readonly<Record<string, Connection>>

/** The record of what is connected, in a folder of its own. */
export class Connections {
  readonly #folder: string

  /** `folder`: Oriel's own, such as ~/.oriel. */
  constructor(folder: string) {
    this.#folder = folder
  }

  get(agent: string): Connection | undefined {
    const records = this.#read()
    return Object.hasOwn(records, agent) ? records[agent] : undefined
  }

  names(): readonly string[] {
    return Object.keys(this.#read())
  }

  /** Copies each file, notes what will be written, then writes. A crash in between leaves the copies and the record. */
  connect(agent: string, how: How, files: readonly PlannedFile[]): Connection {
    const copies = join(this.#folder, 'copies', agent)
    mkdirSync(copies, { recursive: true, mode: 0o700 })
    const recorded = files.map(({ path, format, before, after, past }, index): RecordedFile => {
      const copy = join(copies, `${index}-${hashOf(Buffer.from(path)).slice(0, 8)}`)
      if (before !== undefined) writeFileSync(copy, before, { mode: 0o600 })
      const kept = before === undefined ? {} : { copy }
      return { path, format, ...kept, written: hashOf(after), past, folders: missingFolders(path) }
    })
    const connection = { how, files: recorded }
    this.#write({ ...this.#read(), [agent]: connection })
    for (const { path, after } of files) {
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, after, { mode: 0o600 })
    }
    return connection
  }

  /** Gives each file back. Tells of each whether it is byte for byte what it was. */
  disconnect(agent: string): readonly { readonly path: string; readonly isExact: boolean }[] {
    const connection = this.get(agent)
    if (connection === undefined) return []
    const undone = connection.files.map((file) => ({ path: file.path, isExact: giveBack(file) }))
    const { [agent]: _gone, ...rest } = this.#read()
    this.#write(rest)
    rmSync(join(this.#folder, 'copies', agent), { recursive: true, force: true })
    return undone
  }

  get #file(): string {
    return join(this.#folder, 'connections.json')
  }

  #read(): Records {
    if (!existsSync(this.#file)) return {}
    try {
      return JSON.parse(readFileSync(this.#file, 'utf8')) as Records
    } catch (cause) {
      const message = `${this.#file} is damaged. The copies of your files are beside it, in copies.`
      throw new OrielError('invalid-input', message, { cause })
    }
  }

  #write(records: Records): void {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 })
    writeFileSync(this.#file, `${JSON.stringify(records, null, 2)}\n`, { mode: 0o600 })
  }
}

function giveBack({ path, format, copy, written, past, folders }: RecordedFile): boolean {
  if (!existsSync(path)) return copy === undefined
  const now = readFileSync(path)
  if (hashOf(now) === written) {
    if (copy !== undefined) writeFileSync(path, readFileSync(copy))
    else remove(path, folders)
    return true
  }
  try {
    // What is no longer as it was written is somebody else's by now.
    writeFileSync(path, withoutSettings(textOf(now), past, format))
  } catch (error) {
    throw named(path, error)
  }
  return false
}

function remove(path: string, folders: readonly string[]): void {
  rmSync(path)
  for (const folder of folders) {
    if (!existsSync(folder) || readdirSync(folder).length > 0) return
    rmdirSync(folder)
  }
}

function missingFolders(path: string): readonly string[] {
  const folders: string[] = []
  for (let folder = dirname(path); !existsSync(folder); folder = dirname(folder)) {
    folders.push(folder)
  }
  return folders
}

function textOf(bytes: Buffer | undefined): string {
  if (bytes === undefined) return ''
  const text = bytes.toString('utf8')
  if (Buffer.from(text).equals(bytes)) return text
  throw new OrielError('invalid-input', 'The file is not UTF-8.')
}

function hashOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}

function named(path: string, error: unknown): OrielError {
  const reason = error instanceof Error ? error.message : String(error)
  return new OrielError('invalid-input', `${path}: ${reason} Nothing was changed.`, {
    cause: error,
  })
}

/** Whether connecting would change nothing. */
export function isUnchanged(files: readonly PlannedFile[]): boolean {
  return files.every(
    ({ before, after }) => before !== undefined && isDeepStrictEqual(before, after),
  )
}
