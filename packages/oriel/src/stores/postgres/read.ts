// Every read of the tables, in bounded pages. What comes back was asked for by tenant and thread, and is checked again.

import { hash } from 'node:crypto'
import type { Entry } from '../../core/log/entry.ts'
import type { JsonObject } from '../../core/log/json.ts'
import type { Snapshot, ThreadInfo, ThreadKey, ThreadPosition } from '../store.ts'
import { joinText } from '../stored/blob-extraction.ts'
import type { Link } from '../stored/chain.ts'
import {
  blobHash,
  externalKey,
  fromHex,
  genesis,
  readEntry,
  storedForm,
  toHex,
} from '../stored/entry-form.ts'
import {
  corruptBlob,
  corruptEntry,
  isolation,
  threadNotFound,
  truncated,
  unknownForm,
} from '../stored/errors.ts'
import type { PostgresConnections } from './connections.ts'
import type { Row } from './driver.ts'
import type { PostgresSql } from './sql.ts'

/** A thread as the store knows it. */
export interface ThreadState extends ThreadInfo {
  readonly key: ThreadKey
  /** Absent when the thread was erased. */
  readonly salt?: string
}

/** A page of the log as it is stored, unchecked, and the thread at the same moment. */
export interface Page {
  readonly state: ThreadState
  /** Hash of the header before the page; undefined when it is missing. */
  readonly previous: string | undefined
  readonly links: readonly Link[]
}

/** Most entries are below 4 KB: a page is below 2 MB. */
const pageEntries = 500

export class PostgresReader {
  readonly #connections: PostgresConnections
  readonly #sql: PostgresSql

  constructor(connections: PostgresConnections, sql: PostgresSql) {
    this.#connections = connections
    this.#sql = sql
  }

  /** The thread, erased or not; undefined when this tenant never had it. */
  async thread(key: ThreadKey): Promise<ThreadState | undefined> {
    const [row] = await this.#rows('thread', [key.tenant, key.thread])
    return row === undefined ? undefined : ownState(key, row)
  }

  async list(
    tenant: string,
    { after, limit }: { after: string; limit: number },
  ): Promise<readonly ThreadInfo[]> {
    const rows = await this.#rows('list', [tenant, after, limit])
    return rows.map((row) => ownInfo(tenant, row))
  }

  /** As `list`, the most recently used first. */
  async newest(
    tenant: string,
    { after, limit }: { after: ThreadPosition; limit: number },
  ): Promise<readonly ThreadInfo[]> {
    const rows = await this.#rows('newest', [tenant, after.updatedAt, after.thread, limit])
    return rows.map((row) => ownInfo(tenant, row))
  }

  async tenants({ after, limit }: { after: string; limit: number }): Promise<readonly string[]> {
    return (await this.#rows('tenants', [after, limit])).map((row) => String(row.tenant))
  }

  /** The next threads of all tenants: for checking the whole store. */
  async threadsAfter({ tenant, thread }: ThreadKey): Promise<readonly ThreadState[]> {
    return (await this.#rows('after', [tenant, thread])).map(threadState)
  }

  /** The entries of a page, each checked against its hash. Throws when one is missing or damaged. */
  checked({ state, previous: before, links }: Page, from: number): readonly Entry[] {
    const { key, salt } = state
    if (salt === undefined) throw threadNotFound(key)
    if (before === undefined) throw truncated(key, from - 1)
    let previous = before
    const entries = links.map((link, index) => {
      const { seq, text } = link
      if (seq !== from + index || text === undefined) throw corruptEntry(key, from + index)
      const entry = readEntry({ key, salt, previous }, { ...link, text })
      previous = link.header
      return entry
    })
    // The next append goes on from the head: from a wrong one it could never be read again.
    if (links.at(-1)?.seq === state.version && previous !== state.head) {
      throw corruptEntry(key, state.version)
    }
    return entries
  }

  /** The next page of a log; undefined when this tenant never had the thread. */
  async page(key: ThreadKey, from: number, to: number): Promise<Page | undefined> {
    const last = Math.min(to, from + pageEntries - 1)
    // Positions are 32-bit in the tables; no log is longer.
    const bounds = [Math.min(from, maxSeq), Math.min(last, maxSeq), pageEntries + 1]
    const rows = await this.#rows('page', [key.tenant, key.thread, ...bounds])
    const [first] = rows
    if (first === undefined) return undefined
    const state = ownState(key, first)
    const found = rows.filter((row) => row.seq !== null)
    const before = found.find((row) => Number(row.seq) === from - 1)
    const own = found.filter((row) => Number(row.seq) >= from)
    const parts = await this.#parts(key, own)
    const previous = from === 1 ? genesis : before && toHex(before.header)
    return { state, previous, links: own.map((row) => link(key, row, parts)) }
  }

  async findExternalId(key: ThreadKey, externalId: string): Promise<number | undefined> {
    const state = await this.thread(key)
    if (state?.salt === undefined) return undefined
    const name = externalKey(state.salt, externalId)
    // Eight bytes can be shared by two ids: only the entry itself says which one it is.
    for (const row of await this.#rows('external', [key.tenant, key.thread, name])) {
      const seq = Number(row.seq)
      const page = await this.page(key, seq, seq)
      if (page?.state.salt === undefined) return undefined
      const [entry] = this.checked(page, seq)
      if (entry !== undefined && 'externalId' in entry && entry.externalId === externalId)
        return seq
    }
    return undefined
  }

  /** The snapshot, unless it is damaged or stands for another history: then it is as good as none. */
  async snapshot(key: ThreadKey): Promise<Snapshot | undefined> {
    const [row] = await this.#rows('snapshot', [key.tenant, key.thread])
    if (row === undefined) return undefined
    if (row.tenant !== key.tenant || row.thread !== key.thread) throw isolation()
    const version = Number(row.version)
    const value = String(row.value)
    const head = version === 0 ? genesis : toHex(row.header)
    const isWhole = hash('sha256', value) === toHex(row.hash) && head === toHex(row.head)
    if (!isWhole) return undefined
    return { version, format: Number(row.format), value: JSON.parse(value) as JsonObject }
  }

  async blob(tenant: string, name: string): Promise<Uint8Array | undefined> {
    if (!/^[0-9a-f]{64}$/.test(name)) return undefined
    const [row] = await this.#rows('parts', [tenant, [fromHex(name)]])
    if (row === undefined) return undefined
    if (row.tenant !== tenant || toHex(row.hash) !== name) throw isolation()
    const content = Uint8Array.from(row.content as Uint8Array)
    if (blobHash(content) !== name) throw corruptBlob(name)
    return content
  }

  /** The large strings that a page needs, by hash. */
  async #parts(key: ThreadKey, rows: readonly Row[]): Promise<ReadonlyMap<string, string>> {
    const wanted = new Set<string>()
    for (const { cuts } of rows) {
      if (typeof cuts === 'string') for (const [, name] of parseCuts(cuts)) wanted.add(name)
    }
    if (wanted.size === 0) return new Map()
    const found = await this.#rows('parts', [key.tenant, [...wanted].map(fromHex)])
    return new Map(
      found.map((row) => {
        if (row.tenant !== key.tenant) throw isolation()
        return [toHex(row.hash), Buffer.from(row.content as Uint8Array).toString('utf8')]
      }),
    )
  }

  async #rows(name: keyof PostgresSql, values: unknown[]): Promise<readonly Row[]> {
    return (await this.#connections.query(this.#sql[name], values)).rows
  }
}

const maxSeq = 2 ** 31 - 1

function ownInfo(tenant: string, row: Row): ThreadInfo {
  const state = threadState(row)
  if (state.key.tenant !== tenant) throw isolation()
  return threadInfo(state)
}

/** What a caller may know of a thread. */
export function threadInfo(state: ThreadState): ThreadInfo {
  const { thread, version, head, createdAt, updatedAt, bytes } = state
  return { thread, version, head, createdAt, updatedAt, bytes }
}

/** A row of `threads`, checked against what was asked for. */
export function ownState(key: ThreadKey, row: Row): ThreadState {
  const state = threadState(row)
  if (state.key.tenant !== key.tenant || state.key.thread !== key.thread) throw isolation()
  return state
}

function threadState(row: Row): ThreadState {
  const thread = String(row.thread)
  const state = {
    key: { tenant: String(row.tenant), thread },
    thread,
    version: Number(row.version),
    head: toHex(row.head),
    bytes: Number(row.bytes),
    createdAt: Number(row.createdAt),
    updatedAt: Number(row.updatedAt),
  }
  return typeof row.salt === 'string' ? { ...state, salt: row.salt } : state
}

function link(key: ThreadKey, row: Row, parts: ReadonlyMap<string, string>): Link {
  const form = Number(row.form)
  if (form > storedForm) throw unknownForm(key, { found: form, supported: storedForm })
  const own = {
    seq: Number(row.seq),
    type: String(row.type),
    content: toHex(row.content),
    header: toHex(row.header),
  }
  if (typeof row.body !== 'string') return own
  if (typeof row.cuts !== 'string') return { ...own, text: row.body }
  const cuts: { offset: number; literal: string }[] = []
  for (const [offset, name] of parseCuts(row.cuts)) {
    const literal = parts.get(name)
    if (literal === undefined) return { ...own, isIncomplete: true }
    cuts.push({ offset, literal })
  }
  return { ...own, text: joinText({ body: row.body, cuts }) }
}

/** Damaged text gives no cuts: the entry then fails its hash, which is the error the reader should see. */
function parseCuts(text: string): readonly [offset: number, hash: string][] {
  try {
    return JSON.parse(text) as [number, string][]
  } catch {
    return []
  }
}
