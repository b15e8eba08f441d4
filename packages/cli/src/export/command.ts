// `oriel export`: writes threads as JSON lines, with a hash per entry. Streams, so that no thread
// is loaded into memory.

import { OrielError, type ThreadKey } from 'oriel'
import { StoreServer, type ThreadFacts, type Threads } from '../doctor/postgres-threads.ts'
import { entriesText } from '../doctor/render.ts'
import { isDamage, StoreFile } from '../doctor/store-file.ts'
import {
  type Choice,
  commandFor,
  isServer,
  nameOf,
  optionsFor,
  wrong,
} from '../doctor/store-options.ts'
import { damageOf } from '../doctor/thread-check.ts'
import { createProgress, type Progress } from '../progress.ts'
import { renderJson } from '../render/json.ts'
import { plural } from '../render/layout.ts'
import { clean } from '../render/text.ts'
import type { Terminal } from '../terminal.ts'
import { entryHash, exportVersion, HeadHash, LinesHash, toLine } from './lines.ts'
import type { ExportSettings } from './settings.ts'
import { openSink, type Sink } from './sink.ts'

/** Incremented when a field changes its meaning. docs/guides/keep.md documents the shape. */
const jsonVersion = 1

/**
 * Resolves to the exit code: 0, or 1 if a damaged thread was left out. Throws if nothing can be
 * exported.
 */
export async function exportThreads(settings: ExportSettings, terminal: Terminal): Promise<number> {
  if (isServer(settings.path)) {
    const server = new StoreServer(settings.path)
    try {
      return await exportFrom(server, true, settings, terminal)
    } finally {
      await server.close()
    }
  }
  const file = new StoreFile(settings.path)
  let isOpen = false
  try {
    isOpen = await opens(file, terminal)
    return await exportFrom(file, isOpen, settings, terminal)
  } finally {
    await (isOpen ? file.close() : file.leave())
  }
}

async function exportFrom(
  from: Threads,
  isOpen: boolean,
  settings: ExportSettings,
  terminal: Terminal,
): Promise<number> {
  const bytes = await sizeOf(from, settings.choice)
  const sink = await openSink(settings.out, terminal.stdout)
  const progress = createProgress(terminal, 2 * bytes)
  try {
    const run = new Run(from, sink, progress)
    await run.writeAll(from.threads(settings.choice), settings.until)
    await sink.finish()
    // A closed pipe is not a failure and needs no summary.
    if (!run.hasReader) return 0
    const isComplete = isOpen && run.damaged.length === 0 && run.missing === undefined
    if (settings.isJson) reportJson(run, { isComplete, out: settings.out }, terminal)
    else report(run, settings, terminal)
    return isComplete ? 0 : 1
  } finally {
    progress.stop()
    await sink.abandon()
  }
}

/** True if the store opens. If it is damaged or truncated, the readable part is exported anyway. */
async function opens(file: StoreFile, { stderr }: Terminal): Promise<boolean> {
  // A read-only location allows only reading.
  if (file.isReadOnly) return true
  try {
    await file.open()
    return true
  } catch (error) {
    if (!OrielError.is(error, 'log-truncated') && !isDamage(error)) throw error
    stderr.write(
      'oriel export: the store is damaged; what can be read is exported. Run oriel doctor\n',
    )
    return false
  }
}

/** A damaged thread, and its first damaged entry. */
interface Damaged {
  readonly key: ThreadKey
  readonly seq: number
}

class Run {
  readonly damaged: Damaged[] = []
  threads = 0
  entries = 0
  hasReader = true
  /** Message about threads that cannot be found. */
  missing: string | undefined
  readonly #from: Threads
  readonly #sink: Sink
  readonly #progress: Progress
  readonly #lines = new LinesHash()

  constructor(from: Threads, sink: Sink, progress: Progress) {
    this.#from = from
    this.#sink = sink
    this.#progress = progress
  }

  async writeAll(
    threads: ReturnType<Threads['threads']>,
    until = Number.MAX_SAFE_INTEGER,
  ): Promise<void> {
    try {
      for await (const state of threads) {
        // An erased thread has nothing to export.
        if (state.salt === undefined) continue
        await this.#writeThread(state, Math.min(until, state.version))
        if (!this.hasReader) return
      }
    } catch (error) {
      // The thread list is damaged: everything that was found has been written.
      if (!isDamage(error)) throw error
      this.missing = error.message
    }
    const { threads: count, entries } = this
    const hash = this.#lines.digest()
    await this.#sink.write(toLine({ oriel: 'end', threads: count, entries, hash }))
  }

  /**
   * Reads twice: the header contains the hash of all entries, and a damaged thread must not be
   * written in part.
   */
  async #writeThread(state: ThreadFacts, last: number): Promise<void> {
    const { key } = state
    const head = await this.#measure(state, last)
    if (head !== undefined) {
      const { tenant, thread } = key
      const names = { oriel: 'export', version: exportVersion, tenant, thread } as const
      await this.#write(toLine({ ...names, entries: last, head }))
      let seq = 0
      for await (const entry of this.#from.entries(state, last)) {
        if (!this.hasReader) return
        seq = entry.seq
        await this.#write(toLine({ seq, hash: entryHash(entry), entry }))
        this.#advance(state)
      }
      if (seq !== last && this.hasReader) throw vanished(key)
      this.threads += 1
      this.entries += last
    }
  }

  /** The hash over the thread's entries; undefined if one is damaged or the thread was erased. */
  async #measure(state: ThreadFacts, last: number): Promise<string | undefined> {
    const { key } = state
    const head = new HeadHash(key)
    let seq = 0
    try {
      for await (const entry of this.#from.entries(state, last)) {
        head.add(entryHash(entry))
        seq = entry.seq
        this.#advance(state)
      }
    } catch (error) {
      const damage = damageOf(error, seq + 1)
      if (damage === undefined) throw error
      this.damaged.push({ key, seq: damage.seq })
      return undefined
    }
    // Erased since it was listed.
    return seq === last ? head.digest() : undefined
  }

  async #write(line: string): Promise<void> {
    this.#lines.add(line)
    this.hasReader = await this.#sink.write(line)
  }

  /** Advances the progress bar by one entry of average size. */
  #advance({ bytes, version }: ThreadFacts): void {
    this.#progress.read(bytes / version)
    this.#progress.work(1)
  }
}

function vanished(key: ThreadKey): OrielError {
  return new OrielError('not-found', `${nameOf(key)} was erased meanwhile; export again.`)
}

/** Bytes of the selected threads. Throws if a named thread does not exist. */
async function sizeOf(from: Threads, choice: Choice): Promise<number> {
  const missing = new Set(choice.threads)
  let bytes = 0
  try {
    for await (const { key, salt, bytes: own } of from.threads(choice)) {
      if (salt === undefined) continue
      missing.delete(key.thread)
      bytes += own
    }
  } catch (error) {
    // Writing finds the same damage, and reports it.
    if (!isDamage(error)) throw error
    return bytes
  }
  const [thread] = missing
  if (thread === undefined) return bytes
  const where = choice.tenant === undefined ? '' : ` for tenant ${choice.tenant}`
  throw wrong(`there is no thread ${thread}${where}; leave --thread out to export all.`)
}

/** The same as one JSON value. */
function reportJson(
  { threads, entries, damaged, missing }: Run,
  { isComplete, out }: { readonly isComplete: boolean; readonly out: string },
  { stdout, stderr }: Terminal,
): void {
  const problems = missing === undefined ? [] : [missing]
  const left = damaged.map(({ key, seq }) => ({ ...key, seq }))
  const summary = {
    version: jsonVersion,
    isComplete,
    out,
    threads,
    entries,
    damaged: left,
    problems,
  }
  if (out === '-') stderr.write(renderJson(summary, 'line'))
  else stdout.write(renderJson(summary))
}

/** Prints the summary to standard error if the lines go to standard output. */
function report(
  { threads, entries, damaged, missing }: Run,
  { out, path }: ExportSettings,
  { stdout, stderr }: Terminal,
): void {
  for (const { key, seq } of damaged) {
    const before = commandFor(`oriel export ${optionsFor(key)} --until ${seq - 1}`, path)
    // The first entry is only the thread's header.
    const rest = seq > 2 ? `; what is before it: ${before}` : ''
    stderr.write(
      `oriel export: ${clean(`${nameOf(key)} is damaged at entry ${seq} and was left out${rest}`)}\n`,
    )
  }
  if (missing !== undefined) stderr.write(`oriel export: ${clean(missing)}\n`)
  const target = out === '-' ? '' : ` to ${out}`
  const text = `${plural(threads, 'thread')}, ${entriesText(entries)}${target}`
  const output = out === '-' ? stderr : stdout
  output.write(`oriel export: ${clean(text)}\n`)
}
