// Appends to a backend: those of one thread in the order of the calls, chained to the newest header, several as one batch where they
// follow each other.

import { OrielError } from '../core/log/errors.ts'
import type { LogBackend, ThreadRow } from './backend.ts'
import type { AppendResult, ThreadKey } from './store.ts'
import {
  chainEntries,
  contentHash,
  createSalt,
  genesis,
  type WrittenEntry,
} from './stored/entry-form.ts'
import { threadNotFound, versionConflict } from './stored/errors.ts'
import { ownRow, writeRows } from './stored/rows.ts'

export interface AppendInput {
  readonly key: ThreadKey
  readonly entries: readonly WrittenEntry[]
  readonly expected: number
  readonly now: number
  readonly durable: 'now' | 'soon'
}

interface Waiting {
  readonly input: AppendInput
  resolve(result: AppendResult): void
  reject(error: unknown): void
}

/** The appends of one thread that wait, and what to call when none is left. */
interface Queue {
  readonly waiting: Waiting[]
  readonly onEmpty: (() => void)[]
}

interface Known {
  readonly version: number
  readonly head: string
  readonly salt: string
}

/** What is written as one batch at most, when appends wait for each other. */
const maxTogether = 200
const maxBytesTogether = 1024 * 1024

/** Threads whose newest header is remembered, so that an append needs no read before it. */
const maxKnown = 10_000

/** How often an append is tried while others change the thread without adding to it, as a repair does. */
const maxAttempts = 5

/** Errors of a batch that may be due to one of its appends. */
const ownErrors = ['storage-full', 'too-large'] as const

/**
 * Contracts:
 * - What is remembered of a thread may be out of date: every batch names the head that it follows, and the backend compares it.
 * - An append whose outcome is open forgets the thread: the next one reads it again.
 */
export class Appender {
  readonly #backend: LogBackend
  readonly #queues = new Map<string, Queue>()
  readonly #known = new Map<string, Known>()

  constructor(backend: LogBackend) {
    this.#backend = backend
  }

  append(input: AppendInput): Promise<AppendResult> {
    const name = nameOf(input.key)
    const queue = this.#queues.get(name) ?? this.#start(name)
    return new Promise((resolve, reject) => {
      queue.waiting.push({ input, resolve, reject })
    })
  }

  /** Resolves when the appends to a thread that were begun are over, whatever became of them. */
  async settled(key: ThreadKey): Promise<void> {
    const queue = this.#queues.get(nameOf(key))
    if (queue === undefined) return
    await new Promise<void>((resolve) => {
      queue.onEmpty.push(resolve)
    })
  }

  /** What is known of a thread; it may be out of date. */
  known(key: ThreadKey): Known | undefined {
    return this.#known.get(nameOf(key))
  }

  /** Remembers a thread that was read. */
  learn({ tenant, thread, version, head, salt }: ThreadRow): void {
    const name = nameOf({ tenant, thread })
    const known = this.#known.get(name)
    if (salt === undefined) this.#known.delete(name)
    // A read that began before an append must not make the thread look shorter than it is.
    else if (known === undefined || known.version < version)
      this.#remember(name, { version, head, salt })
  }

  forget(key: ThreadKey): void {
    this.#known.delete(nameOf(key))
  }

  /** Begins a moment later, so that appends which are made at once are written at once. */
  #start(name: string): Queue {
    const queue: Queue = { waiting: [], onEmpty: [] }
    this.#queues.set(name, queue)
    queueMicrotask(() => void this.#drain(name, queue))
    return queue
  }

  async #drain(name: string, { waiting, onEmpty }: Queue): Promise<void> {
    while (waiting.length > 0) {
      await this.#appendTogether(name, waiting.splice(0, countTogether(waiting)))
    }
    this.#queues.delete(name)
    for (const resolve of onEmpty) resolve()
  }

  async #appendTogether(name: string, batch: readonly Waiting[]): Promise<void> {
    if (batch.length > 1 && (await this.#tryTogether(name, batch))) return
    for (const { input, resolve, reject } of batch) {
      try {
        resolve(await this.#append(name, input))
      } catch (error) {
        this.#known.delete(name)
        reject(error)
      }
    }
  }

  /** Whether the appends were answered as one; otherwise each is tried alone. */
  async #tryTogether(name: string, batch: readonly Waiting[]): Promise<boolean> {
    const inputs = batch.map(({ input }) => input)
    try {
      const before = await this.#before(name, inputs[0] as AppendInput)
      const results = before.isAsExpected ? await this.#write(name, inputs, before.thread) : []
      for (const [index, result] of results.entries()) batch[index]?.resolve(result)
      return results.length > 0
    } catch (error) {
      this.#known.delete(name)
      if (ownErrors.some((code) => OrielError.is(error, code))) return false
      for (const { reject } of batch) reject(error)
      return true
    }
  }

  async #append(name: string, input: AppendInput): Promise<AppendResult> {
    const { key, expected } = input
    for (let attempt = 1; ; attempt++) {
      const before = await this.#before(name, input)
      if (!before.isAsExpected) return this.#repeated(input, before.thread)
      const [result] = await this.#write(name, [input], before.thread)
      if (result !== undefined) return result
      // Another writer was first, or this very append is already there, or what was known is old.
      const row = await this.#read(key)
      const actual = row?.version ?? 0
      const isErased = row !== undefined && row.salt === undefined
      if (isErased || actual !== expected) return this.#repeated(input, row)
      if (attempt === maxAttempts) throw versionConflict(key, { expected, actual })
      if (row !== undefined) this.learn(row)
    }
  }

  /** The thread that an append continues from; read only where it is not known to be as the writer expects. */
  async #before(
    name: string,
    { key, expected, entries }: AppendInput,
  ): Promise<
    | { readonly isAsExpected: true; readonly thread?: Known }
    | { readonly isAsExpected: false; readonly thread?: ThreadRow }
  > {
    const known = this.#known.get(name)
    if (entries.length > 0) {
      if (known?.version === expected) return { isAsExpected: true, thread: known }
      if (known === undefined && expected === 0) return { isAsExpected: true }
    }
    const row = await this.#read(key)
    if (row === undefined && expected === 0 && entries.length > 0) return { isAsExpected: true }
    if (row === undefined) return { isAsExpected: false }
    const { version, head, salt } = row
    if (entries.length === 0 || salt === undefined || version !== expected)
      return { isAsExpected: false, thread: row }
    return { isAsExpected: true, thread: { version, head, salt } }
  }

  async #read(key: ThreadKey): Promise<ThreadRow | undefined> {
    const row = await this.#backend.thread(key)
    return row === undefined ? undefined : ownRow(key, row)
  }

  /** Writes appends that follow each other as one batch, and gives the result of each; none where the thread is not as it is taken for. */
  async #write(
    name: string,
    inputs: readonly AppendInput[],
    thread: Known | undefined,
  ): Promise<readonly AppendResult[]> {
    const { key, now } = inputs[0] as AppendInput
    const salt = thread?.salt ?? createSalt()
    const entries = inputs.flatMap((input) => input.entries)
    const chained = chainEntries({ key, salt, previous: thread?.head ?? genesis }, entries)
    const results = resultsOf(inputs, chained)
    const after = results.at(-1) as AppendResult
    const isWritten = await this.#backend.append({
      key,
      ...(thread === undefined ? {} : { before: { version: thread.version, head: thread.head } }),
      after,
      salt,
      ...writeRows(chained, { salt, isWhole: this.#backend.keepsWhole ?? false }),
      now,
      durable: inputs.every(({ durable }) => durable === 'soon') ? 'soon' : 'now',
    })
    if (isWritten) this.#remember(name, { ...after, salt })
    else this.#known.delete(name)
    return isWritten ? results : []
  }

  /**
   * Answers an append whose entries are already there as it was answered the first time; anything else is a conflict. They may be there
   * although the append that wrote them failed: they are read after the backend has confirmed them.
   */
  async #repeated(
    { key, entries, expected, durable }: AppendInput,
    thread: ThreadRow | undefined,
  ): Promise<AppendResult> {
    if (thread !== undefined && thread.salt === undefined) throw threadNotFound(key)
    if (thread !== undefined && durable === 'now') await this.#backend.confirm?.(key)
    if (thread !== undefined) this.learn(thread)
    const version = expected + entries.length
    const actual = thread?.version ?? 0
    const conflict = versionConflict(key, { expected, actual })
    if (version > actual) throw conflict
    if (thread?.salt === undefined || version === 0) return { version, head: genesis }
    if (entries.length === 0 && version === actual) return { version, head: thread.head }
    let head: string | undefined
    for (let next = Math.max(1, Math.min(expected + 1, version)); next <= version; ) {
      const rows = (await this.#backend.page(key, next, version))?.rows ?? []
      if (rows.length === 0) throw conflict
      for (const { seq, content, header } of rows) {
        const text = entries[seq - expected - 1]?.text
        if (text !== undefined && content !== contentHash(thread.salt, text)) throw conflict
        if (seq !== next) throw conflict
        head = header
        next += 1
      }
    }
    return { version, head: head ?? genesis }
  }

  #remember(name: string, known: Known): void {
    this.#known.delete(name)
    this.#known.set(name, known)
    if (this.#known.size <= maxKnown) return
    for (const oldest of this.#known.keys()) {
      this.#known.delete(oldest)
      return
    }
  }
}

/** One name for one key: no part of a key has this character. */
function nameOf({ tenant, thread }: ThreadKey): string {
  return `${tenant}\0${thread}`
}

/** The result of each append, given the chained entries of all. */
function resultsOf(
  inputs: readonly AppendInput[],
  chained: readonly { readonly header: string }[],
): readonly AppendResult[] {
  let count = 0
  return inputs.map(({ entries, expected }) => {
    count += entries.length
    return { version: expected + entries.length, head: chained[count - 1]?.header ?? genesis }
  })
}

/** How many of the first appends follow each other without a gap, and may be made as one. */
function countTogether(waiting: readonly Waiting[]): number {
  let next = waiting[0]?.input.expected ?? 0
  let bytes = 0
  let count = 0
  for (const { input } of waiting.slice(0, maxTogether)) {
    bytes += input.entries.reduce((sum, entry) => sum + entry.bytes, 0)
    const fits = input.expected === next && input.entries.length > 0 && bytes <= maxBytesTogether
    if (count > 0 && !fits) break
    count += 1
    if (!fits) break
    next += input.entries.length
  }
  return count
}
