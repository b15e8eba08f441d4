// Rows in the tables of a PostgreSQL server. Each write is one statement or one transaction, and may be repeated: what is already there
// stays as it is.

import { randomUUID } from 'node:crypto'
import { hints } from '../../core/search/hint.ts'
import type { Speaker } from '../../core/search/passages.ts'
import type { IndexedPassage } from '../../core/search/rank.ts'
import type {
  AppendBatch,
  BlobRow,
  ChangeFeed,
  Cut,
  Erasure,
  FoundSnapshot,
  IndexBatch,
  IndexProgress,
  LogBackend,
  LogPage,
  LogRow,
  SearchIndex,
  SearchScope,
  SnapshotRow,
  ThreadQuery,
  ThreadRow,
  ValueKey,
  ValueRow,
} from '../backend.ts'
import { scopeToken, scopeTokens } from '../search/scope-tokens.ts'
import type { Lease, LeaseOptions, ThreadKey } from '../store.ts'
import { fromHex, toHex } from '../stored/entry-form.ts'
import { isolation } from '../stored/errors.ts'
import { appendStatement } from './append.ts'
import { type ConnectionSettings, PostgresConnections, type Run } from './connections.ts'
import type { PostgresResult, Row } from './driver.ts'
import { PostgresChannel } from './notify.ts'
import { prepareSchema } from './schema.ts'
import { createSql, findPassages, type PostgresSql } from './sql.ts'

export interface BackendSettings extends ConnectionSettings {
  readonly schema: string
  readonly partitions: number
  readonly isNotifying: boolean
  /** Where LISTEN connects, if not to the same. */
  readonly listenUrl: string | undefined
}

/** Most entries are below 4 KB: a page is below 2 MB. */
const pageRows = 500

/** Positions are 32-bit in the tables; no log is longer. */
const maxSeq = 2 ** 31 - 1

/** The thread in `uses` that stands for a blob which no entry names yet. */
const waiting = ''

export class PostgresBackend implements LogBackend {
  readonly name = 'postgres'
  readonly changes: ChangeFeed
  readonly search: SearchIndex = {
    index: (batch) => this.#index(batch),
    unindexed: (scope, limit) => this.#unindexed(scope, limit),
    count: (scope) => this.#countPassages(scope),
    find: (scope, terms, limit) => this.#findPassages(scope, terms, limit),
    passages: (tenant, ids) => this.#passages(tenant, ids),
  }
  readonly #settings: BackendSettings
  readonly #connections: PostgresConnections
  readonly #direct: PostgresConnections
  readonly #channel: PostgresChannel
  readonly #sql: PostgresSql
  #ready: Promise<void> | undefined
  /** Leases that were taken and not given back. */
  readonly #leases = new Set<Lease>()

  constructor(settings: BackendSettings) {
    const { schema, listenUrl } = settings
    this.#settings = settings
    this.#sql = createSql(schema)
    this.#connections = new PostgresConnections(settings)
    this.#direct =
      listenUrl === undefined
        ? this.#connections
        : new PostgresConnections({ ...settings, source: listenUrl, maxConnections: 1 })
    const channel = { schema, sql: this.#sql, connections: this.#connections, direct: this.#direct }
    this.#channel = new PostgresChannel(channel)
    this.changes = {
      watch: async (listener) => {
        await this.#prepared()
        return this.#channel.watch(listener)
      },
      publish: (key, version) => {
        if (settings.isNotifying) this.#channel.tell(key, version)
      },
    }
  }

  async append(batch: AppendBatch): Promise<boolean> {
    await this.#prepared()
    const { statement, values } = appendStatement(this.#settings.schema, batch)
    const { rowCount } = await this.#connections.query(statement, values, batch.bytes)
    return rowCount !== 0
  }

  async erase({ key, before, row, now }: Erasure): Promise<boolean> {
    await this.#prepared()
    const names = [key.tenant, key.thread]
    return this.#connections.transaction(async (run) => {
      const { rows } = await run(this.#sql.lockThread, [...names])
      const thread = rows[0] === undefined ? undefined : threadRow(rows[0])
      const isAsBefore = thread?.version === before.version && thread.head === before.head
      if (thread?.salt === undefined || !isAsBefore) return false
      await this.#releaseBlobs(run, key)
      await run(this.#sql.eraseEntries, [...names])
      await run(this.#sql.eraseSnapshot, [...names])
      await run(this.#sql.eraseIndexed, [...names])
      await run(this.#sql.erasePassages, [...names])
      await run(this.#sql.eraseLeases, [...names])
      const { seq, form, type, body } = row
      const header = fromHex(row.header)
      const columns = [seq, form, type, fromHex(row.content), header, body]
      await run(this.#sql.addErased, [...names, ...columns])
      await run(this.#sql.eraseThread, [...names, seq, header, now])
      return true
    })
  }

  async eraseTenant(tenant: string): Promise<void> {
    await this.#prepared()
    await this.#connections.transaction(async (run) => {
      await this.#releaseBlobs(run, { tenant, thread: waiting })
      await run(this.#sql.dropValues, [tenant])
    })
  }

  async thread(key: ThreadKey): Promise<ThreadRow | undefined> {
    const [row] = await this.#rows('thread', [key.tenant, key.thread])
    return row === undefined ? undefined : threadRow(row)
  }

  async page(key: ThreadKey, from: number, to: number): Promise<LogPage | undefined> {
    const last = Math.min(to, from + pageRows - 1)
    const bounds = [Math.min(from, maxSeq), Math.min(last, maxSeq), pageRows + 1]
    const all = await this.#rows('page', [key.tenant, key.thread, ...bounds])
    const [first] = all
    if (first === undefined) return undefined
    const found = all.filter((row) => row.seq !== null)
    const before = found.find((row) => Number(row.seq) === from - 1)
    const rows = found.filter((row) => Number(row.seq) >= from).map(logRow)
    const page = { thread: threadRow(first), rows, blobs: await this.#blobs(key.tenant, rows) }
    return before === undefined ? page : { ...page, previous: toHex(before.header) }
  }

  async findExternal(key: ThreadKey, external: Uint8Array): Promise<readonly number[]> {
    const rows = await this.#rows('external', [key.tenant, key.thread, external])
    return rows.map(({ seq }) => Number(seq))
  }

  async threads(query: ThreadQuery): Promise<readonly ThreadRow[]> {
    const { limit } = query
    if (query.by === 'any') {
      const { tenant = '', thread = '' } = query.after ?? {}
      return (await this.#rows('after', [tenant, thread, limit])).map(threadRow)
    }
    const { tenant, after } = query
    const rows =
      query.by === 'name'
        ? await this.#rows('list', [tenant, after, limit])
        : await this.#rows('newest', [tenant, query.after.updatedAt, query.after.thread, limit])
    return rows.map(threadRow)
  }

  async tenants({ after, limit }: { after: string; limit: number }): Promise<readonly string[]> {
    return (await this.#rows('tenants', [after, limit])).map((row) => String(row.tenant))
  }

  async saveSnapshot(key: ThreadKey, snapshot: SnapshotRow): Promise<boolean> {
    const { version, format, head, hash, text } = snapshot
    const values = [key.tenant, key.thread, version, format, fromHex(head), fromHex(hash), text]
    return (await this.#query('saveSnapshot', values, text.length)).rowCount === 1
  }

  async loadSnapshot(key: ThreadKey): Promise<FoundSnapshot | undefined> {
    const [row] = await this.#rows('snapshot', [key.tenant, key.thread])
    if (row === undefined) return undefined
    const snapshot = {
      version: Number(row.ownVersion),
      format: Number(row.format),
      head: toHex(row.ownHead),
      hash: toHex(row.hash),
      text: String(row.value),
    }
    const found = { thread: threadRow(row), snapshot }
    return row.header === null ? found : { ...found, header: toHex(row.header) }
  }

  async putBlob(tenant: string, { hash, content }: BlobRow): Promise<void> {
    await this.#query('putBlob', [tenant, fromHex(hash), Buffer.from(content)], content.length)
  }

  async readBlob(tenant: string, hash: string): Promise<Uint8Array | undefined> {
    const [row] = await this.#rows('parts', [tenant, [fromHex(hash)]])
    if (row === undefined) return undefined
    if (row.tenant !== tenant || toHex(row.hash) !== hash) throw isolation()
    return Uint8Array.from(row.content as Uint8Array)
  }

  async putValue(
    { tenant, space, name }: ValueKey,
    text: string | undefined,
    before?: { readonly text: string | undefined },
  ): Promise<boolean> {
    const key = [tenant, space, name]
    const bytes = text?.length ?? 0
    if (before === undefined) {
      if (text === undefined) await this.#query('dropValue', key)
      else await this.#query('putValue', [...key, text], bytes)
      return true
    }
    if (text === undefined && before.text === undefined)
      return (await this.readValue({ tenant, space, name })) === undefined
    const known = before.text
    const done =
      known === undefined
        ? await this.#query('addValue', [...key, text], bytes)
        : text === undefined
          ? await this.#query('dropKnownValue', [...key, known])
          : await this.#query('changeValue', [...key, text, known], bytes)
    return done.rowCount === 1
  }

  async readValue({ tenant, space, name }: ValueKey): Promise<string | undefined> {
    const [row] = await this.#rows('value', [tenant, space, name])
    return row === undefined ? undefined : String(row.value)
  }

  async listValues(
    { tenant, space }: Omit<ValueKey, 'name'>,
    { after, limit }: { after: string; limit: number },
  ): Promise<readonly ValueRow[]> {
    const rows = await this.#rows('values', [tenant, space, after, limit])
    return rows.map((row) => ({ name: String(row.name), text: String(row.value) }))
  }

  async lease(key: ThreadKey, { name, ttlMs }: LeaseOptions): Promise<Lease | undefined> {
    const holder = randomUUID()
    const values = [key.tenant, key.thread, name, holder, ttlMs]
    const taken = await this.#query('lease', values)
    if (taken.rowCount !== 1) return undefined
    const lease: Lease = {
      renew: async () => (await this.#query('renew', values)).rowCount === 1,
      release: async () => {
        this.#leases.delete(lease)
        await this.#query('release', values.slice(0, 4))
      },
    }
    this.#leases.add(lease)
    return lease
  }

  async close(): Promise<void> {
    // Given back, so that nobody waits for a process that is gone.
    await Promise.allSettled([...this.#leases].map((lease) => lease.release()))
    await this.#channel.close()
    await this.#connections.close()
    if (this.#direct !== this.#connections) await this.#direct.close()
  }

  async #index({ key, from, to, messages, passages }: IndexBatch): Promise<boolean> {
    const bytes = passages.reduce((sum, { tokens }) => sum + tokens.length, 0)
    const columns = [
      passages.map(({ seq }) => seq),
      passages.map(({ block }) => block),
      passages.map(({ inner }) => inner ?? null),
      passages.map((passage) => passage.from),
      passages.map((passage) => passage.to),
      passages.map(({ isOpen }) => isOpen),
      passages.map(({ speaker }) => speaker),
      passages.map(({ tokens }) => tokens),
      messages,
      passages.map(({ index }) => index),
      passages.map(({ hint }) => hint),
    ]
    const head = [key.tenant, key.thread, from, to, passages.length, scopeTokens(key)]
    return (await this.#query('index', [...head, ...columns], bytes)).rows.length === 1
  }

  async #unindexed(scope: SearchScope, limit: number): Promise<readonly IndexProgress[]> {
    const { tenant, thread } = scope
    const rows =
      thread === undefined
        ? await this.#rows('unindexed', [tenant, limit])
        : await this.#rows('unindexedThread', [tenant, thread])
    return rows.map((row) => ({
      thread: String(row.thread),
      version: Number(row.version),
      indexed: Number(row.indexed),
      messages: Number(row.messages),
    }))
  }

  async #countPassages({ tenant, thread }: SearchScope): Promise<number> {
    const [row] =
      thread === undefined
        ? await this.#rows('countPassages', [tenant])
        : await this.#rows('countThread', [tenant, thread])
    return Number(row?.count ?? 0)
  }

  async #findPassages(
    scope: SearchScope,
    terms: readonly (readonly string[])[],
    limit: number,
  ): Promise<readonly (readonly number[])[]> {
    const within = [scopeToken(scope), ...(scope.groups ?? [])].map((one) => `'${one}'`)
    const queries = terms.map((tokens) => {
      const any = tokens.map((one) => `'${one.replaceAll(/['\\]/g, '')}'`).join(' | ')
      return [...within, `(${any})`].join(' & ')
    })
    if (queries.length === 0) return []
    await this.#prepared()
    const statement = findPassages(this.#settings.schema, queries.length)
    const { rows } = await this.#connections.query(statement, [limit, ...queries], 0)
    return rows.map(({ ids }) => (typeof ids === 'string' ? ids.split(' ').map(Number) : []))
  }

  async #passages(tenant: string, ids: readonly number[]): Promise<readonly IndexedPassage[]> {
    const rows = await this.#rows('passages', [tenant, ids])
    const byId = new Map(rows.map((row) => [Number(row.id), row]))
    return ids.flatMap((id) => {
      const row = byId.get(id)
      if (row === undefined) return []
      if (row.tenant !== tenant) throw isolation()
      return [indexedPassage(row)]
    })
  }

  /** The blobs that rows need, by hash. */
  async #blobs(tenant: string, rows: readonly LogRow[]): Promise<ReadonlyMap<string, Uint8Array>> {
    const wanted = new Set(rows.flatMap(({ cuts = [] }) => cuts.map(([, hash]) => hash)))
    if (wanted.size === 0) return new Map()
    const found = await this.#rows('parts', [tenant, [...wanted].map(fromHex)])
    return new Map(
      found.map((row) => {
        if (row.tenant !== tenant) throw isolation()
        return [toHex(row.hash), row.content as Uint8Array]
      }),
    )
  }

  /** Blobs go when nobody uses them any more. They are locked first: whoever uses them at this moment is seen by the next statement. */
  async #releaseBlobs(run: Run, { tenant, thread }: ThreadKey): Promise<void> {
    const { rows } = await run(this.#sql.lockUsed, [tenant, thread])
    await run(this.#sql.releaseAll, [tenant, thread])
    const hashes = rows.map((row) => row.hash)
    if (hashes.length > 0) await run(this.#sql.dropUnused, [tenant, hashes])
  }

  async #rows(name: keyof PostgresSql, values: unknown[]): Promise<readonly Row[]> {
    return (await this.#query(name, values)).rows
  }

  /** Runs a statement once the tables are there. `bytes` of content give it more time. */
  async #query(name: keyof PostgresSql, values: unknown[], bytes = 0): Promise<PostgresResult> {
    await this.#prepared()
    return this.#connections.query(this.#sql[name], values, bytes)
  }

  #prepared(): Promise<void> {
    this.#ready ??= prepareSchema(this.#connections, this.#settings).catch((error: unknown) => {
      // The server may be there the next time.
      this.#ready = undefined
      throw error
    })
    return this.#ready
  }
}

function threadRow(row: Row): ThreadRow {
  const thread = {
    tenant: String(row.tenant),
    thread: String(row.thread),
    version: Number(row.version),
    head: toHex(row.head),
    bytes: Number(row.bytes),
    createdAt: Number(row.createdAt),
    updatedAt: Number(row.updatedAt),
  }
  return typeof row.salt === 'string' ? { ...thread, salt: row.salt } : thread
}

function indexedPassage(row: Row): IndexedPassage {
  const passage = {
    id: Number(row.id),
    thread: String(row.thread),
    seq: Number(row.seq),
    index: Number(row.position),
    block: Number(row.block),
    from: Number(row.start),
    to: Number(row.stop),
    isOpen: row.open === true,
    speaker: String(row.speaker) as Speaker,
    tokens: String(row.words),
    hint: Number(row.id) % hints,
  }
  return row.inner === null ? passage : { ...passage, inner: Number(row.inner) }
}

function logRow(row: Row): LogRow {
  return {
    seq: Number(row.seq),
    form: Number(row.form),
    type: String(row.type),
    content: toHex(row.content),
    header: toHex(row.header),
    ...(typeof row.body === 'string' ? { body: row.body } : {}),
    ...(typeof row.cuts === 'string' ? { cuts: parseCuts(row.cuts) } : {}),
  }
}

/** Damaged text gives no cuts: the entry then fails its hash, which is the error the reader should see. */
function parseCuts(text: string): readonly Cut[] {
  try {
    return JSON.parse(text) as Cut[]
  } catch {
    return []
  }
}
