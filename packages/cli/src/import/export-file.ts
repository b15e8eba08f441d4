// Import of an export file: verifies all of it first, then appends the entries that the store does
// not have.

import { type Entry, OrielError, type Store, type ThreadKey } from 'oriel'
import { entriesText } from '../doctor/render.ts'
import { nameOf, wrong } from '../doctor/store-options.ts'
import { type EntryLine, entryHash, type HeaderLine } from '../export/lines.ts'
import { number, plural } from '../render/layout.ts'
import { readLine } from './export-line.ts'
import type { Outcome } from './outcome.ts'
import type { FileSettings } from './settings.ts'
import type { Source } from './source.ts'
import { type Section, verify } from './verify.ts'

/** Entries per append: most threads fit in one, and memory stays bounded. */
const batchEntries = 5000
const batchCharacters = 16 * 1024 * 1024

export interface Imported {
  readonly outcomes: readonly Outcome[]
  /** Notes about the file for the user. */
  readonly notes: readonly string[]
  /** The file itself is complete. */
  readonly isWhole: boolean
}

export async function importExport(
  source: Source,
  settings: FileSettings,
  around: { readonly store: Store; readonly onBytes: (bytes: number) => void },
): Promise<Imported> {
  const { store, onBytes } = around
  const { sections, notes } = await verify(source.lines(onBytes))
  if (settings.thread !== undefined && sections.length !== 1) {
    const count = plural(sections.length, 'thread')
    throw wrong(`--thread names one thread; the file holds ${count}.`)
  }
  const outcomes: Outcome[] = []
  let target: Target | undefined
  for await (const { text } of source.lines(onBytes)) {
    const reading = readLine(text)
    if (reading.type === 'header') {
      if (target !== undefined) outcomes.push(await target.finish())
      const section = sections[outcomes.length]
      target = await openTarget(section, reading.header, settings, store)
    } else if (reading.type === 'entry') await target?.take(reading.line, text.length)
  }
  if (target !== undefined) outcomes.push(await target.finish())
  return { outcomes, notes, isWhole: notes.length === 0 }
}

/** Receives the entries of one thread, in order. */
interface Target {
  take(line: EntryLine, length: number): Promise<void>
  finish(): Promise<Outcome>
}

async function openTarget(
  section: Section | undefined,
  header: HeaderLine,
  settings: FileSettings,
  store: Store,
): Promise<Target> {
  const problem = section?.header.head === header.head ? section.problem : fileChanged
  if (problem !== undefined) return refusing(nameOf(header), problem)
  const { tenant = header.tenant, thread = header.thread } = settings
  const key = { tenant, thread }
  try {
    const version = (await store.info(key))?.version ?? 0
    return new ThreadTarget(store, key, { version, entries: header.entries })
  } catch (error) {
    // A name that no store accepts.
    if (OrielError.is(error, 'invalid-input')) return refusing(nameOf(key), error.message)
    throw error
  }
}

const fileChanged = 'the file was changed while it was imported'

function refusing(what: string, reason: string): Target {
  return { take: async () => {}, finish: async () => ({ type: 'refused', what, reason }) }
}

interface Lengths {
  /** Entries in the store. */
  readonly version: number
  /** Entries in the file. */
  readonly entries: number
}

class ThreadTarget implements Target {
  readonly #store: Store
  readonly #key: ThreadKey
  readonly #lengths: Lengths
  readonly #known: AsyncIterator<Entry>
  #batch: Entry[] = []
  #characters = 0
  #written: number
  #problem: string | undefined

  constructor(store: Store, key: ThreadKey, lengths: Lengths) {
    this.#store = store
    this.#key = key
    this.#lengths = lengths
    this.#written = lengths.version
    const to = Math.min(lengths.version, lengths.entries)
    this.#known = store.read(key, { to })[Symbol.asyncIterator]()
  }

  async take(line: EntryLine, length: number): Promise<void> {
    if (this.#problem !== undefined) return
    await this.#attempt(async () => {
      if (line.seq <= this.#lengths.version) await this.#compare(line)
      else {
        this.#batch.push(line.entry)
        this.#characters += length
        const isFull = this.#batch.length >= batchEntries || this.#characters >= batchCharacters
        if (isFull) await this.#append()
      }
    })
  }

  async finish(): Promise<Outcome> {
    if (this.#problem === undefined) await this.#attempt(() => this.#append())
    const key = this.#key
    if (this.#problem !== undefined) {
      return { type: 'refused', what: nameOf(key), reason: this.#problem }
    }
    const { version, entries } = this.#lengths
    const remark = entriesText(entries)
    if (version === 0) return { type: 'imported', key, remark }
    if (version < entries) {
      const added = `${entriesText(entries - version)} added to ${number(version)}`
      return { type: 'continued', key, remark: added }
    }
    const newer = version === entries ? '' : `, and ${number(version - entries)} newer ones`
    return { type: 'already there', key, remark: remark + newer }
  }

  async #compare({ hash }: EntryLine): Promise<void> {
    const { done, value } = await this.#known.next()
    if (done !== true && entryHash(value) === hash) return
    this.#problem = 'the store has it with other content; import it under another id with --thread'
  }

  async #append(): Promise<void> {
    if (this.#batch.length === 0) return
    const { version } = await this.#store.append(this.#key, this.#batch, this.#written)
    this.#written = version
    this.#batch = []
    this.#characters = 0
  }

  /**
   * Errors about this thread reject it; others, such as a full disk, end the import. A repeated
   * import continues from there.
   */
  async #attempt(step: () => Promise<void>): Promise<void> {
    try {
      await step()
    } catch (error) {
      const reason = refusalOf(error)
      if (reason === undefined) throw error
      this.#problem = reason
    }
  }
}

/** Why a thread is rejected, if the error concerns that thread. */
export function refusalOf(error: unknown): string | undefined {
  if (!OrielError.is(error)) return undefined
  switch (error.code) {
    case 'not-found':
      return 'it was erased from this store; import it under another id with --thread'
    case 'version-conflict':
      return 'another process is writing to it; try again'
    case 'corrupt-entry':
    case 'log-truncated':
      return 'the store has it, but damaged; run oriel doctor'
    case 'invalid-input':
    case 'not-json':
    case 'too-deep':
    case 'too-large':
      return error.message
    default:
      return undefined
  }
}
