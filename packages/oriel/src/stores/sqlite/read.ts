// Every read of the tables, in bounded pages. What comes back was asked for by tenant and thread, and is checked again.

import { hash } from 'node:crypto'
import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite'
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
import { closeDatabase } from './database.ts'

/** A thread as the store knows it. */
export interface ThreadState extends ThreadInfo {
  readonly id: number
  readonly key: ThreadKey
  /** Absent when the thread was erased. */
  readonly salt?: string
}

/** A page ends after this many entries or characters: the event loop is held for a few milliseconds at most. */
const pageEntries = 256
const pageCharacters = 1024 * 1024

const threadColumns =
  'id, tenant, thread, version, head, salt, bytes, created_at as createdAt, updated_at as updatedAt'

const sql = {
  thread: `select ${threadColumns} from threads where tenant = ? and thread = ?`,
  list: `select ${threadColumns} from threads where tenant = ? and thread > ? and salt is not null
    order by thread limit ?`,
  newest: `select ${threadColumns} from threads where tenant = ?1 and salt is not null and updated_at <= ?2
    and (updated_at < ?2 or thread > ?3) order by updated_at desc, thread limit ?4`,
  tenants: 'select distinct tenant from threads where tenant > ? order by tenant limit ?',
  after: `select ${threadColumns} from threads where id > ? order by id limit 100`,
  names: 'select tenant, thread from threads order by tenant, thread',
  entries: `select seq, form, type, content, header, cuts, body from entries
    where thread = ? and seq between ? and ? order by seq`,
  header: 'select header from entries where thread = ? and seq = ?',
  external: 'select seq from entries where thread = ? and external = ? order by seq',
  snapshot: 'select version, format, head, hash, value from snapshots where thread = ?',
  blob: 'select tenant, hash, content from blobs where tenant = ? and hash = ?',
  part: 'select tenant, content from blobs where id = ?',
} as const

type Row = Record<string, SQLOutputValue>

export class SqliteReader {
  readonly #database: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()

  constructor(database: DatabaseSync) {
    this.#database = database
  }

  /** The thread, erased or not; undefined when this tenant never had it. */
  thread(key: ThreadKey): ThreadState | undefined {
    const row = this.#get('thread', key.tenant, key.thread)
    if (row === undefined) return undefined
    const state = threadState(row)
    if (state.key.tenant !== key.tenant || state.key.thread !== key.thread) throw isolation()
    return state
  }

  list(tenant: string, { after, limit }: { after: string; limit: number }): readonly ThreadInfo[] {
    const rows = this.#statement('list').all(tenant, after, limit)
    return rows.map((row) => ownInfo(tenant, row))
  }

  /** As `list`, the most recently used first. */
  newest(
    tenant: string,
    { after, limit }: { after: ThreadPosition; limit: number },
  ): readonly ThreadInfo[] {
    const rows = this.#statement('newest').all(tenant, after.updatedAt, after.thread, limit)
    return rows.map((row) => ownInfo(tenant, row))
  }

  tenants({ after, limit }: { after: string; limit: number }): readonly string[] {
    return this.#statement('tenants')
      .all(after, limit)
      .map(({ tenant }) => String(tenant))
  }

  /** The next threads of all tenants, by the table's own id: for checking the whole store. */
  threadsAfter(id: number): readonly ThreadState[] {
    return this.#statement('after').all(id).map(threadState)
  }

  /** The names of all threads, read from an index alone: it may be whole where the table itself is damaged. */
  *names(): Generator<ThreadKey> {
    for (const { tenant, thread } of this.#statement('names').iterate())
      yield { tenant: String(tenant), thread: String(thread) }
  }

  /** The next page of entries, each checked against its hash. Throws when one is missing or damaged. */
  entries(state: ThreadState, from: number, to: number): readonly Entry[] {
    const { key, salt } = state
    if (salt === undefined) throw threadNotFound(key)
    let previous = this.headerAt(state, from - 1)
    const links = this.links(state, from, to)
    if (links.length === 0) throw truncated(key, from)
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

  /** The next page of the log as it is stored, unchecked. */
  links(state: ThreadState, from: number, to: number): readonly Link[] {
    const links: Link[] = []
    let characters = 0
    for (const row of this.#statement('entries').iterate(state.id, from, to)) {
      const link = this.#link(state.key, row)
      links.push(link)
      characters += link.text?.length ?? 0
      if (links.length >= pageEntries || characters >= pageCharacters) break
    }
    return links
  }

  /** Hash of the header at a position, `genesis` before the first. */
  headerAt(state: ThreadState, seq: number): string {
    if (seq === 0) return genesis
    const row = this.#get('header', state.id, seq)
    if (row === undefined) throw truncated(state.key, seq)
    return toHex(row.header)
  }

  findExternalId(state: ThreadState, externalId: string): number | undefined {
    const { id, salt } = state
    if (salt === undefined) return undefined
    // Eight bytes can be shared by two ids: only the entry itself says which one it is.
    for (const { seq } of this.#statement('external').all(id, externalKey(salt, externalId))) {
      const [entry] = this.entries(state, Number(seq), Number(seq))
      if (entry !== undefined && 'externalId' in entry && entry.externalId === externalId) {
        return Number(seq)
      }
    }
    return undefined
  }

  /** The snapshot, unless it is damaged or stands for another history: then it is as good as none. */
  snapshot(state: ThreadState): Snapshot | undefined {
    const row = this.#get('snapshot', state.id)
    if (row === undefined || state.salt === undefined) return undefined
    const version = Number(row.version)
    const value = String(row.value)
    const isWhole =
      version <= state.version &&
      hash('sha256', value) === toHex(row.hash) &&
      this.headerAt(state, version) === toHex(row.head)
    if (!isWhole) return undefined
    return { version, format: Number(row.format), value: JSON.parse(value) as JsonObject }
  }

  blob(tenant: string, name: string): Uint8Array | undefined {
    if (!/^[0-9a-f]{64}$/.test(name)) return undefined
    const row = this.#get('blob', tenant, fromHex(name))
    if (row === undefined) return undefined
    if (row.tenant !== tenant || toHex(row.hash) !== name) throw isolation()
    const content = row.content as Uint8Array
    if (blobHash(content) !== name) throw corruptBlob(name)
    return content
  }

  close(): void {
    this.#statements.clear()
    if (this.#database.isOpen) closeDatabase(this.#database)
  }

  #link(key: ThreadKey, row: Row): Link {
    if (Number(row.form) > storedForm)
      throw unknownForm(key, { found: Number(row.form), supported: storedForm })
    const link = {
      seq: Number(row.seq),
      type: String(row.type),
      content: toHex(row.content),
      header: toHex(row.header),
    }
    if (typeof row.body !== 'string') return link
    if (typeof row.cuts !== 'string') return { ...link, text: row.body }
    const text = this.#join(key, row.body, row.cuts)
    return text === undefined ? { ...link, isIncomplete: true } : { ...link, text }
  }

  /** Puts the large strings back; undefined when one is missing. */
  #join(key: ThreadKey, body: string, cutColumn: string): string | undefined {
    const cuts: { offset: number; literal: string }[] = []
    for (const [offset, id] of parseCuts(cutColumn)) {
      const row = this.#get('part', id)
      if (row === undefined) return undefined
      if (row.tenant !== key.tenant) throw isolation()
      cuts.push({ offset, literal: Buffer.from(row.content as Uint8Array).toString('utf8') })
    }
    return joinText({ body, cuts })
  }

  #get(name: keyof typeof sql, ...values: SQLInputValue[]): Row | undefined {
    return this.#statement(name).get(...values)
  }

  #statement(name: keyof typeof sql): StatementSync {
    const known = this.#statements.get(name)
    if (known !== undefined) return known
    const statement = this.#database.prepare(sql[name])
    this.#statements.set(name, statement)
    return statement
  }
}

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

function threadState(row: Row): ThreadState {
  const thread = String(row.thread)
  const state = {
    id: Number(row.id),
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

/** Damaged text gives no cuts: the entry then fails its hash, which is the error the reader should see. */
function parseCuts(text: string): [offset: number, blob: number][] {
  try {
    return JSON.parse(text) as [number, number][]
  } catch {
    return []
  }
}
