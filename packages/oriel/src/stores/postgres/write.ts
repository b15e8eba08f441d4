// Every write to the tables. Each is one statement or one transaction, and may be repeated: what is already there stays as it is.

import { hash, randomUUID } from 'node:crypto'
import { OrielError } from '../../core/log/errors.ts'
import type { AppendResult, Lease, LeaseOptions, ThreadKey } from '../store.ts'
import {
  blobHash,
  chainEntries,
  contentHash,
  createSalt,
  erasedEntry,
  fromHex,
  genesis,
  storedForm,
  toHex,
  type WrittenEntry,
} from '../stored/entry-form.ts'
import { threadNotFound, versionConflict } from '../stored/errors.ts'
import { appendStatement } from './append.ts'
import type { PostgresConnections, Run } from './connections.ts'
import { ownState, type PostgresReader, type ThreadState } from './read.ts'
import type { PostgresSql } from './sql.ts'

/** Threads whose newest header is remembered, so that an append needs no read before it. */
const maxKnown = 10_000

/** Threads that an erasure of a tenant looks up at once. */
const erasePage = 100

/** The thread in `uses` that stands for a blob which no entry names yet. */
const waiting = ''

interface Known {
  readonly version: number
  readonly head: string
  readonly salt: string
  /** The newest entries that this process wrote, up to `version`: whoever is too late is told so without asking the server. */
  readonly recent: readonly { readonly content: string; readonly header: string }[]
}

/** How many entries of a thread are remembered in this way. */
const maxRecent = 64

export interface AppendInput {
  readonly key: ThreadKey
  readonly entries: readonly WrittenEntry[]
  readonly expected: number
  readonly now: number
}

export class PostgresWriter {
  readonly #connections: PostgresConnections
  readonly #reader: PostgresReader
  readonly #sql: PostgresSql
  readonly #schema: string
  readonly #known = new Map<string, Known>()
  /** Leases that were taken and not given back. */
  readonly #leases = new Set<Lease>()

  constructor(
    connections: PostgresConnections,
    reader: PostgresReader,
    { sql, schema }: { readonly sql: PostgresSql; readonly schema: string },
  ) {
    this.#connections = connections
    this.#reader = reader
    this.#sql = sql
    this.#schema = schema
  }

  /** Appends to one thread that follow each other, in one statement if all goes well. Each gets its own outcome. */
  async appendAll(inputs: readonly AppendInput[]): Promise<readonly Outcome[]> {
    const [first] = inputs
    if (inputs.length > 1 && first !== undefined) {
      const entries = inputs.flatMap((input) => input.entries)
      const outcome = await settle(() => this.append({ ...first, entries }))
      const shared = outcome.status === 'fulfilled' && this.#share(inputs, outcome.value)
      if (shared) return shared
      if (outcome.status === 'rejected' && !OrielError.is(outcome.reason, 'version-conflict'))
        return inputs.map(() => outcome)
    }
    const outcomes: Outcome[] = []
    for (const input of inputs) outcomes.push(await settle(() => this.append(input)))
    return outcomes
  }

  async append(input: AppendInput): Promise<AppendResult> {
    const { key, entries, expected } = input
    const known = this.#known.get(nameOf(key))
    const done = known && answerLocally(known, input)
    if (done !== undefined) return done
    if (entries.length === 0) return this.#repeated(input, await this.#reader.thread(key))
    let before: Known | undefined
    if (expected > 0) {
      before = known?.version === expected ? known : undefined
      if (before === undefined) {
        const state = await this.#reader.thread(key)
        if (state?.salt === undefined || state.version !== expected) {
          return this.#repeated(input, state)
        }
        before = { version: state.version, head: state.head, salt: state.salt, recent: [] }
      }
    }
    const written = await this.#write(input, before)
    if (written !== undefined) return written
    // Another writer was first, or this very append is already there, or what is remembered is old.
    this.#known.delete(nameOf(key))
    return this.#repeated(input, await this.#reader.thread(key))
  }

  /** Remembers a thread that was read. */
  learn({ key, version, head, salt }: ThreadState): void {
    const known = this.#known.get(nameOf(key))
    if (salt === undefined) this.#known.delete(nameOf(key))
    // A read that began before an append must not make the thread look shorter than it is.
    else if (known === undefined || known.version < version)
      this.#remember(key, { version, head, salt, recent: [] })
  }

  #remember(key: ThreadKey, known: Known): void {
    const name = nameOf(key)
    this.#known.delete(name)
    if (this.#known.size >= maxKnown) {
      const [oldest] = this.#known.keys()
      if (oldest !== undefined) this.#known.delete(oldest)
    }
    this.#known.set(name, known)
  }

  async saveSnapshot(
    key: ThreadKey,
    {
      version,
      format,
      text,
    }: { readonly version: number; readonly format: number; readonly text: string },
  ): Promise<void> {
    const digest = hash('sha256', text, 'buffer')
    const values = [key.tenant, key.thread, version, format, digest, text, fromHex(genesis)]
    const saved = await this.#connections.query(this.#sql.saveSnapshot, values, text.length)
    if (saved.rowCount === 1) return
    // Nothing was saved: there is a newer one, or the thread is not what the caller thinks.
    const state = await this.#reader.thread(key)
    if (state?.salt === undefined) throw threadNotFound(key)
    if (version > state.version)
      throw versionConflict(key, { expected: version, actual: state.version })
  }

  async putBlob(tenant: string, content: Uint8Array): Promise<string> {
    const name = blobHash(content)
    const values = [tenant, fromHex(name), Buffer.from(content)]
    await this.#connections.query(this.#sql.putBlob, values, content.length)
    return name
  }

  /** Deletes what a thread said; the headers stay. False when there was nothing to erase. */
  async erase(key: ThreadKey, now: number): Promise<boolean> {
    this.#known.delete(nameOf(key))
    return this.#connections.transaction((run) => this.#eraseThread(run, key, now))
  }

  /** Deletes what all threads of a tenant said, one by one, and its blobs. Gives back the threads. */
  async eraseTenant(tenant: string, now: number): Promise<readonly string[]> {
    const erased: string[] = []
    for (let after = ''; ; ) {
      const page = await this.#reader.list(tenant, { after, limit: erasePage })
      for (const { thread } of page) {
        if (await this.erase({ tenant, thread }, now)) erased.push(thread)
      }
      const last = page.at(-1)?.thread
      if (last === undefined) break
      after = last
    }
    await this.#connections.transaction((run) =>
      this.#releaseBlobs(run, { tenant, thread: waiting }),
    )
    return erased
  }

  async lease(key: ThreadKey, { name, ttlMs }: LeaseOptions): Promise<Lease | undefined> {
    const holder = randomUUID()
    const values = [key.tenant, key.thread, name, holder, ttlMs]
    const taken = await this.#connections.query(this.#sql.lease, values)
    if (taken.rowCount !== 1) return undefined
    const lease: Lease = {
      renew: async () => {
        const renewed = await this.#connections.query(this.#sql.renew, values)
        return renewed.rowCount === 1
      },
      release: async () => {
        this.#leases.delete(lease)
        await this.#connections.query(this.#sql.release, values.slice(0, 4))
      },
    }
    this.#leases.add(lease)
    return lease
  }

  /** Gives back what is still held, so that nobody waits for a process that is gone. */
  async releaseLeases(): Promise<void> {
    await Promise.allSettled([...this.#leases].map((lease) => lease.release()))
  }

  /** What each of several appends that were made as one is told; undefined when that is not known here. */
  #share(inputs: readonly AppendInput[], last: AppendResult): readonly Outcome[] | undefined {
    const outcomes: Outcome[] = []
    for (const { key, expected, entries } of inputs) {
      const known = this.#known.get(nameOf(key))
      const version = expected + entries.length
      const header = known?.recent[known.recent.length + version - known.version - 1]?.header
      const head = version === last.version ? last.head : header
      if (head === undefined) return undefined
      outcomes.push({ status: 'fulfilled', value: { version, head } })
    }
    return outcomes
  }

  async #write(input: AppendInput, before: Known | undefined): Promise<AppendResult | undefined> {
    const { key, entries, now } = input
    const salt = before?.salt ?? createSalt()
    const previous = before?.head ?? genesis
    const chained = chainEntries({ key, salt, previous }, entries)
    const work = { key, entries: chained, salt, now, ...(before === undefined ? {} : { before }) }
    const { statement, values, bytes } = appendStatement(this.#schema, work)
    const { rowCount } = await this.#connections.query(statement, values, bytes)
    const last = chained.at(-1)
    if (rowCount === 0 || last === undefined) return undefined
    const result = { version: last.seq, head: last.header }
    const recent = [...(before?.recent ?? []), ...chained].slice(
      -Math.max(maxRecent, chained.length),
    )
    this.#remember(key, {
      ...result,
      salt,
      recent: recent.map(({ content, header }) => ({ content, header })),
    })
    return result
  }

  /** Answers an append whose entries are already there as it was answered the first time; anything else is a conflict. */
  async #repeated(
    { key, entries, expected }: AppendInput,
    state: ThreadState | undefined,
  ): Promise<AppendResult> {
    if (state !== undefined && state.salt === undefined) throw threadNotFound(key)
    if (state !== undefined) this.learn(state)
    const version = expected + entries.length
    const actual = state?.version ?? 0
    if (version > actual) throw versionConflict(key, { expected, actual })
    if (state?.salt === undefined || version === 0) return { version, head: genesis }
    const { salt } = state
    const values = [key.tenant, key.thread, Math.max(1, Math.min(expected + 1, version)), version]
    const { rows } = await this.#connections.query(this.#sql.contents, values)
    const isThere = entries.every(
      ({ text }, index) => toHex(rows[index]?.content) === contentHash(salt, text),
    )
    if (!isThere) throw versionConflict(key, { expected, actual })
    return { version, head: toHex(rows.at(-1)?.header) }
  }

  async #eraseThread(run: Run, key: ThreadKey, now: number): Promise<boolean> {
    const names = [key.tenant, key.thread]
    const { rows } = await run(this.#sql.lockThread, [...names])
    const state = rows[0] === undefined ? undefined : ownState(key, rows[0])
    if (state?.salt === undefined) return false
    await this.#releaseBlobs(run, key)
    await run(this.#sql.eraseEntries, [...names])
    await run(this.#sql.eraseSnapshot, [...names])
    await run(this.#sql.eraseLeases, [...names])
    const last = erasedEntry(key, { seq: state.version + 1, previous: state.head, at: now })
    const header = fromHex(last.header)
    const content = fromHex(last.content)
    const row = [last.seq, storedForm, last.type, content, header, last.text]
    await run(this.#sql.addErased, [...names, ...row])
    await run(this.#sql.eraseThread, [...names, last.seq, header, now])
    return true
  }

  /** Blobs go when nobody uses them any more. They are locked first: whoever uses them at this moment is seen by the next statement. */
  async #releaseBlobs(run: Run, { tenant, thread }: ThreadKey): Promise<void> {
    const { rows } = await run(this.#sql.lockUsed, [tenant, thread])
    await run(this.#sql.releaseAll, [tenant, thread])
    const hashes = rows.map((row) => row.hash)
    if (hashes.length > 0) await run(this.#sql.dropUnused, [tenant, hashes])
  }
}

/** Answers an append that comes too late, if what this process itself wrote is enough to tell. */
function answerLocally(
  { version, recent, salt }: Known,
  { key, entries, expected }: AppendInput,
): AppendResult | undefined {
  const last = expected + entries.length
  const first = version - recent.length
  if (entries.length === 0 || expected >= version || expected < first) return undefined
  const isThere =
    last <= version &&
    entries.every(
      ({ text }, index) => recent[expected - first + index]?.content === contentHash(salt, text),
    )
  if (!isThere) throw versionConflict(key, { expected, actual: version })
  return { version: last, head: recent[last - 1 - first]?.header ?? '' }
}

export type Outcome = PromiseSettledResult<AppendResult>

async function settle(work: () => Promise<AppendResult>): Promise<Outcome> {
  const [outcome] = await Promise.allSettled([work()])
  return outcome
}

/** One name for one key, whatever characters its parts hold. */
function nameOf({ tenant, thread }: ThreadKey): string {
  return JSON.stringify([tenant, thread])
}
