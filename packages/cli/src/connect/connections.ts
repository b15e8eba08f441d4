// Connects agents and takes it back. Every file that is changed has a copy first, and the record says what was there before: disconnecting
// gives the very bytes back, or, where somebody changed the file meanwhile, takes only these settings back.

import { createHash } from 'node:crypto'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
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
  /** Where it is written: another place than the path behind a link that leads to nothing yet. */
  readonly target: string
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
    const path = resolve(alternatives.find((one) => existsSync(one)) ?? first)
    try {
      const before = existsSync(path) ? readFileSync(path) : undefined
      const { text, before: past } = withSettings(textOf(before), settings, format)
      const target = before === undefined ? targetOf(path) : path
      const from = before === undefined ? {} : { before }
      return { path, target, format, ...from, after: Buffer.from(text), settings, past }
    } catch (error) {
      throw named(path, error, 'Nothing was changed.')
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

  /**
   * Copies each file, notes what will be written, then writes. A crash in between leaves the copies and the record; where a file cannot be
   * written, the others are given back. Adds to what is connected: an agent may have several folders of settings.
   */
  connect(agent: string, how: How, files: readonly PlannedFile[]): void {
    const past = this.get(agent)?.files ?? []
    const copies = join(this.#folder, 'copies', agent)
    const recorded = files.map(
      ({ target: path, format, before, after, past: settings }): RecordedFile => {
        const copy = join(copies, hashOf(Buffer.from(path)).slice(0, 16))
        const kept = before === undefined ? {} : { copy }
        const folders = missingFolders(path)
        return { path, format, ...kept, written: hashOf(after), past: settings, folders }
      },
    )
    try {
      mkdirSync(copies, { recursive: true, mode: 0o700 })
      recorded.forEach(({ copy }, index) => {
        const before = files[index]?.before
        if (copy !== undefined && before !== undefined) writeFileSync(copy, before, { mode: 0o600 })
      })
      this.#record(agent, { how, files: [...past, ...recorded] })
    } catch (error) {
      throw named(this.#folder, error, 'Nothing was changed.')
    }
    const done: RecordedFile[] = []
    for (const [index, file] of recorded.entries()) {
      try {
        mkdirSync(dirname(file.path), { recursive: true })
        writeFileSync(file.path, files[index]?.after ?? '', { mode: 0o600 })
        done.push(file)
      } catch (error) {
        for (const one of done) giveBack(one)
        removeFolders(file.folders)
        this.#forget(agent, past, how)
        throw named(file.path, error, 'Nothing was changed.')
      }
    }
  }

  /** Gives each file back. Tells of each whether it is byte for byte what it was. */
  disconnect(agent: string): readonly { readonly path: string; readonly isExact: boolean }[] {
    const connection = this.get(agent)
    if (connection === undefined) return []
    const undone = connection.files.map((file) => ({ path: file.path, isExact: giveBack(file) }))
    this.#forget(agent, [], connection.how)
    return undone
  }

  /** What is left of a connection after files of it were given back. */
  #forget(agent: string, left: readonly RecordedFile[], how: How): void {
    this.#record(agent, left.length === 0 ? undefined : { how, files: left })
    const copies = join(this.#folder, 'copies', agent)
    if (left.length === 0) rmSync(copies, { recursive: true, force: true })
  }

  #record(agent: string, connection: Connection | undefined): void {
    const { [agent]: _before, ...others } = this.#read()
    this.#write(connection === undefined ? others : { ...others, [agent]: connection })
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

/** Whether the file is byte for byte what it was. */
function giveBack({ path, format, copy, written, past, folders }: RecordedFile): boolean {
  if (!existsSync(path)) return copy === undefined
  try {
    const now = readFileSync(path)
    const before = copy !== undefined && existsSync(copy) ? readFileSync(copy) : undefined
    if (before?.equals(now) === true) return true
    if (hashOf(now) === written && (before !== undefined || copy === undefined)) {
      if (before !== undefined) writeFileSync(path, before)
      else remove(path, folders)
      return true
    }
    const texts = textsOf(before, { format, written, past })
    writeFileSync(path, withoutSettings(textOf(now), { before: past, texts }, format))
  } catch (error) {
    const hint = copy === undefined ? '' : ` As it was before: ${copy}.`
    throw named(path, error, `It stays as it is.${hint}`)
  }
  return false
}

/** The texts through which connecting went; none where another version of Oriel would write them otherwise. */
function textsOf(
  before: Buffer | undefined,
  { format, written, past }: Pick<RecordedFile, 'format' | 'written' | 'past'>,
): readonly string[] {
  const settings = past.flatMap(({ path, set }) =>
    set === undefined ? [] : [{ path, value: set }],
  )
  const { text, texts } = withSettings(textOf(before), settings, format)
  return hashOf(Buffer.from(text)) === written ? texts : []
}

function remove(path: string, folders: readonly string[]): void {
  rmSync(path)
  removeFolders(folders)
}

function removeFolders(folders: readonly string[]): void {
  for (const folder of folders) {
    if (!existsSync(folder) || readdirSync(folder).length > 0) return
    rmdirSync(folder)
  }
}

/** The end of links that lead to nothing yet: they stay. */
function targetOf(path: string): string {
  let target = path
  // As many as Linux follows.
  for (let links = 0; links < 40; links++) {
    if (lstatSync(target, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return target
    target = resolve(dirname(target), readlinkSync(target))
  }
  return target
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

function named(path: string, error: unknown, consequence: string): OrielError {
  const reason = error instanceof Error ? error.message : String(error)
  const sentence = /[.!?]$/.test(reason) ? reason : `${reason}.`
  return new OrielError('invalid-input', `${path}: ${sentence} ${consequence}`, { cause: error })
}

/** Whether connecting would change nothing. */
export function isUnchanged(files: readonly PlannedFile[]): boolean {
  return files.every(
    ({ before, after }) => before !== undefined && isDeepStrictEqual(before, after),
  )
}
