// Every read of the tables, in bounded pages. What comes back was asked for by tenant and thread, and is checked again.

import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite'
import type { Entry } from '../../core/log/entry.ts'
import { analysisVersion } from '../../core/search/analysis.ts'
import { hints } from '../../core/search/hint.ts'
import type { Speaker } from '../../core/search/passages.ts'
import type { IndexedPassage } from '../../core/search/rank.ts'
import type {
  Cut,
  FoundSnapshot,
  IndexProgress,
  LogPage,
  LogRow,
  SearchScope,
  ThreadQuery,
  ThreadRow,
  ValueKey,
  ValueRow,
} from '../backend.ts'
import { scopeToken } from '../search/scope-tokens.ts'
import type { ThreadInfo, ThreadKey } from '../store.ts'
import { fromHex, toHex } from '../stored/entry-form.ts'
import { isolation } from '../stored/errors.ts'
import { unpackBytes, unpackText, unpackTokens } from '../stored/packed-text.ts'
import { entriesOf, ownRow } from '../stored/rows.ts'
import { closeDatabase } from './database.ts'
import { packedRow, packedSql, unpackColumn } from './packed-row.ts'

/** A thread as the store knows it. */
export interface ThreadState extends ThreadInfo, ThreadRow {
  readonly id: number
  readonly key: ThreadKey
}

/** A page ends after this many entries or characters. Whoever reads it also parses, hashes and counts it before others have their turn: some 10 ms. */
const pageEntries = 256
const pageCharacters = 256 * 1024

const threadColumns =
  'id, tenant, thread, version, head, salt, bytes, created_at as createdAt, updated_at as updatedAt'

const sql = {
  thread: `select ${threadColumns} from threads where tenant = ? and thread = ?`,
  list: `select ${threadColumns} from threads where tenant = ? and thread > ? and salt is not null
    order by thread limit ?`,
  newest: `select ${threadColumns} from threads where tenant = ?1 and salt is not null and updated_at <= ?2
    and (updated_at < ?2 or thread > ?3) order by updated_at desc, thread limit ?4`,
  tenants: 'select distinct tenant from threads where tenant > ? order by tenant limit ?',
  after: `select ${threadColumns} from threads where id > ? order by id limit ?`,
  names: 'select tenant, thread from threads order by tenant, thread',
  entries: `select seq, form, type, content, header, cuts, body, packed from entries
    where thread = ? and seq between ? and ? order by seq`,
  packed: packedSql,
  header: 'select header from entries where thread = ? and seq = ?',
  external: 'select seq from entries where thread = ? and external = ? order by seq',
  snapshot: 'select version, format, head, hash, value, packed from snapshots where thread = ?',
  blob: 'select tenant, hash, content, packed from blobs where tenant = ? and hash = ?',
  part: 'select tenant, hash, content, packed from blobs where id = ?',
  value: 'select value from key_values where tenant = ? and space = ? and name = ?',
  values: `select name, value from key_values where tenant = ? and space = ? and name > ?
    order by name limit ?`,
  // By name: the planner would rather walk all threads in the order of their age.
  unindexed: `select thread, version, indexed, messages from threads indexed by threads_unindexed
    where tenant = ? and salt is not null and indexed < version and analysis >= ? order by updated_at desc limit ?`,
  unindexedThread: `select thread, version, indexed, messages from threads
    where tenant = ?1 and thread = ?2 and salt is not null and indexed < version and analysis >= ?3
    union all select thread, version, 0, 0 from threads where tenant = ?1 and thread = ?2 and salt is not null and analysis < ?3`,
  outdated: `select thread, version, 0 as indexed, 0 as messages from threads
    where tenant = ? and analysis < ? and salt is not null limit ?`,
  countPassages: 'select sum(passages) as count from threads where tenant = ?',
  countThread: 'select passages as count from threads where tenant = ? and thread = ?',
  // One statement for all terms, and one text instead of a row for each passage: a common word has a thousand.
  findPassages: `select (select group_concat(id) from
      (select rowid as id from search where search match asked.value order by rowid desc limit ?2)) as ids
    from json_each(?1) asked order by asked.key`,
  // In the order of the index, which costs less: for a scope with few passages.
  findAllPassages: `select (select group_concat(rowid) from search where search match asked.value) as ids
    from json_each(?1) asked order by asked.key`,
  // Tokens that are not packed come as text: a buffer for each of a hundred passages costs more than reading them.
  passages: `select p.id, p.thread, p.seq, p.position, p.block, p.inner, p.start, p.stop, p.open, p.speaker,
      iif(substr(p.tokens, 1, 1) = x'00', cast(substr(p.tokens, 2) as text), p.tokens) as tokens
    from json_each(?) asked join passages p on p.id = asked.value`,
  living: `select t.id, t.tenant, t.thread from json_each(?) asked join threads t on t.id = asked.value
    where t.salt is not null`,
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
    return row === undefined ? undefined : ownRow(key, threadState(row))
  }

  threads(query: ThreadQuery): readonly ThreadState[] {
    const { limit } = query
    if (query.by === 'any') {
      const { id = 0 } = (query.after ?? {}) as Partial<ThreadState>
      return this.#statement('after').all(id, limit).map(threadState)
    }
    const { tenant } = query
    const rows =
      query.by === 'name'
        ? this.#statement('list').all(tenant, query.after, limit)
        : this.#statement('newest').all(tenant, query.after.updatedAt, query.after.thread, limit)
    return rows.map(threadState)
  }

  tenants({ after, limit }: { after: string; limit: number }): readonly string[] {
    return this.#statement('tenants')
      .all(after, limit)
      .map(({ tenant }) => String(tenant))
  }

  /** The next threads of all tenants, by the table's own id: for checking the whole store. */
  threadsAfter(id: number): readonly ThreadState[] {
    return this.#statement('after').all(id, 100).map(threadState)
  }

  /** The names of all threads, read from an index alone: it may be whole where the table itself is damaged. */
  *names(): Generator<ThreadKey> {
    for (const { tenant, thread } of this.#statement('names').iterate())
      yield { tenant: String(tenant), thread: String(thread) }
  }

  /** The next page of entries, each checked against its hash. Throws when one is missing or damaged. */
  entries(state: ThreadState, from: number, to: number): readonly Entry[] {
    return entriesOf(this.#pageOf(state, from, to), from)
  }

  /** The next page of the log as it is stored, unchecked. */
  page(key: ThreadKey, from: number, to: number): LogPage | undefined {
    const state = this.thread(key)
    return state === undefined ? undefined : this.#pageOf(state, from, to)
  }

  #pageOf(state: ThreadState, from: number, to: number): LogPage {
    const rows: LogRow[] = []
    const parts = new Parts(state.tenant, (id) => this.#get('part', id))
    const known: Parameters<typeof unpackColumn>[1]['known'] = new Map()
    const baseAt = (seq: number) => packedRow(this.#statement('packed'), state.id, seq, known)
    let characters = 0
    for (const row of this.#statement('entries').iterate(state.id, from, to)) {
      const unpacked = unpackColumn(row.packed, { seq: Number(row.seq), known, baseAt })
      const next = logRow(row, unpacked?.text, parts)
      rows.push(next)
      characters += next.body?.length ?? 0
      if (rows.length >= pageEntries || characters + parts.bytes >= pageCharacters) break
    }
    const page = { thread: state, rows, blobs: parts.blobs }
    const previous = this.#headerAt(state, from - 1)
    return previous === undefined ? page : { ...page, previous }
  }

  #headerAt(state: ThreadState, seq: number): string | undefined {
    const row = seq === 0 ? undefined : this.#get('header', state.id, seq)
    return row === undefined ? undefined : toHex(row.header)
  }

  findExternal(key: ThreadKey, external: Uint8Array): readonly number[] {
    const state = this.thread(key)
    if (state === undefined) return []
    const rows = this.#statement('external').all(state.id, external)
    return rows.map(({ seq }) => Number(seq))
  }

  snapshot(key: ThreadKey): FoundSnapshot | undefined {
    const thread = this.thread(key)
    const row = thread === undefined ? undefined : this.#get('snapshot', thread.id)
    if (thread === undefined || row === undefined) return undefined
    const snapshot = {
      version: Number(row.version),
      format: Number(row.format),
      head: toHex(row.head),
      hash: toHex(row.hash),
      text: textOf(row.packed) ?? String(row.value),
    }
    const header = this.#headerAt(thread, snapshot.version)
    return header === undefined ? { thread, snapshot } : { thread, snapshot, header }
  }

  blob(tenant: string, hash: string): Uint8Array | undefined {
    const row = this.#get('blob', tenant, fromHex(hash))
    if (row === undefined) return undefined
    if (row.tenant !== tenant || toHex(row.hash) !== hash) throw isolation()
    return contentOf(row)
  }

  value({ tenant, space, name }: ValueKey): string | undefined {
    const row = this.#get('value', tenant, space, name)
    return row === undefined ? undefined : String(row.value)
  }

  values(
    { tenant, space }: Omit<ValueKey, 'name'>,
    { after, limit }: { after: string; limit: number },
  ): readonly ValueRow[] {
    const rows = this.#statement('values').all(tenant, space, after, limit)
    return rows.map((row) => ({ name: String(row.name), text: String(row.value) }))
  }

  unindexed({ tenant, thread }: SearchScope, limit: number): readonly IndexProgress[] {
    const rows =
      thread === undefined
        ? [
            ...this.#statement('unindexed').all(tenant, analysisVersion, limit),
            ...this.#statement('outdated').all(tenant, analysisVersion, limit),
          ].slice(0, limit)
        : this.#statement('unindexedThread').all(tenant, thread, analysisVersion)
    return rows.map((row) => ({
      thread: String(row.thread),
      version: Number(row.version),
      indexed: Number(row.indexed),
      messages: Number(row.messages),
    }))
  }

  countPassages({ tenant, thread }: SearchScope): number {
    const row =
      thread === undefined
        ? this.#get('countPassages', tenant)
        : this.#get('countThread', tenant, thread)
    return Number(row?.count ?? 0)
  }

  findPassages(
    scope: SearchScope,
    terms: readonly (readonly string[])[],
    limit: number,
  ): readonly (readonly number[])[] {
    const within = [scopeToken(scope), ...(scope.groups ?? [])].map((one) => `"${one}"`)
    const queries = terms.map((tokens) => {
      const any = tokens.map((one) => `"${one.replaceAll('"', '')}"`).join(' OR ')
      return [...within, `(${any})`].join(' AND ')
    })
    const asked = JSON.stringify(queries)
    const isWhole = this.countPassages(scope) <= limit
    const rows = isWhole
      ? this.#statement('findAllPassages').all(asked)
      : this.#statement('findPassages').all(asked, limit)
    return rows.map(({ ids }) => {
      const found = typeof ids === 'string' ? (JSON.parse(`[${ids}]`) as number[]) : []
      // FTS5 gives them in ascending order.
      return isWhole ? found.reverse() : found
    })
  }

  passages(tenant: string, ids: readonly number[]): readonly IndexedPassage[] {
    const rows = this.#statement('passages').all(JSON.stringify(ids))
    const threads = new Map<unknown, string>()
    const asked = [...new Set(rows.map(({ thread }) => thread))]
    for (const row of this.#statement('living').all(JSON.stringify(asked))) {
      if (row.tenant !== tenant) throw isolation()
      threads.set(row.id, String(row.thread))
    }
    return rows.flatMap((row) => {
      const thread = threads.get(row.thread)
      return thread === undefined ? [] : [indexedPassage(row, thread)]
    })
  }

  close(): void {
    this.#statements.clear()
    if (this.#database.isOpen) closeDatabase(this.#database)
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

/** The blobs that the rows of a page need, each read once. */
class Parts {
  readonly blobs = new Map<string, Uint8Array>()
  bytes = 0
  readonly #tenant: string
  readonly #read: (id: number) => Row | undefined
  /** Hashes by the ids that stand in the table. */
  readonly #hashes = new Map<number, string>()

  constructor(tenant: string, read: (id: number) => Row | undefined) {
    this.#tenant = tenant
    this.#read = read
  }

  /** The hash of a blob; empty when it is gone. */
  hashOf(id: number): string {
    const known = this.#hashes.get(id)
    if (known !== undefined) return known
    const row = this.#read(id)
    if (row !== undefined && row.tenant !== this.#tenant) throw isolation()
    const hash = toHex(row?.hash)
    const content = row === undefined ? undefined : contentOf(row)
    this.#hashes.set(id, hash)
    if (content !== undefined) this.blobs.set(hash, content)
    this.bytes += content?.length ?? 0
    return hash
  }
}

function logRow(row: Row, unpacked: string | undefined, parts: Parts): LogRow {
  const own = {
    seq: Number(row.seq),
    form: Number(row.form),
    type: String(row.type),
    content: toHex(row.content),
    header: toHex(row.header),
  }
  const body = typeof row.body === 'string' ? row.body : unpacked
  if (body === undefined) return own
  const whole = { ...own, body }
  if (typeof row.cuts !== 'string') return whole
  const cuts = parseCuts(row.cuts).map(([offset, id]): Cut => [offset, parts.hashOf(id)])
  return { ...whole, cuts }
}

/** The text of a packed column; undefined where it is empty or damaged: what it belongs to then fails its hash. */
function textOf(packed: SQLOutputValue | undefined): string | undefined {
  return packed instanceof Uint8Array ? unpackText(packed) : undefined
}

/** The content of a blob; a damaged one as it stands there: it then fails its hash. */
function contentOf(row: Row): Uint8Array {
  const content = row.content as Uint8Array
  const unpacked = row.packed === 1 ? unpackBytes(content) : undefined
  if (unpacked === undefined) return content
  return new Uint8Array(unpacked.buffer, unpacked.byteOffset, unpacked.length)
}

function indexedPassage(row: Row, thread: string): IndexedPassage {
  const passage = {
    id: Number(row.id),
    thread,
    seq: Number(row.seq),
    index: Number(row.position),
    block: Number(row.block),
    from: Number(row.start),
    to: Number(row.stop),
    isOpen: row.open === 1,
    speaker: String(row.speaker) as Speaker,
    tokens: unpackTokens(row.tokens),
    hint: Number(row.id) % hints,
  }
  return row.inner === null ? passage : { ...passage, inner: Number(row.inner) }
}

function threadState(row: Row): ThreadState {
  const tenant = String(row.tenant)
  const thread = String(row.thread)
  const state = {
    id: Number(row.id),
    key: { tenant, thread },
    tenant,
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
