// Rows in the memory of the process.

import type {
  AppendBatch,
  BlobRow,
  Erasure,
  FoundSnapshot,
  IndexProgress,
  LogBackend,
  LogPage,
  LogRow,
  SearchIndex,
  SearchScope,
  SnapshotRow,
  ThreadHead,
  ThreadQuery,
  ThreadRow,
  ValueKey,
  ValueRow,
} from '../backend.ts'
import { MemoryIndex } from '../search/memory-index.ts'
import type { ThreadKey, ThreadPosition } from '../store.ts'

interface Log {
  thread: ThreadRow
  rows: LogRow[]
  snapshot?: SnapshotRow
}

interface Blob {
  readonly content: Uint8Array
  /** The threads that use it. */
  readonly threads: Set<string>
  /** Put, and not yet named by an entry: kept, since the entry may be on its way. */
  isWaiting: boolean
}

/** What one tenant has. */
interface Tenant {
  readonly logs: Map<string, Log>
  readonly blobs: Map<string, Blob>
  /** Values by space and name. */
  readonly values: Map<string, Map<string, string>>
  readonly index: MemoryIndex
}

/** A page is bounded, so that a reader notices when its thread is erased. */
const pageRows = 256

export class MemoryBackend implements LogBackend {
  readonly name = 'memory'
  readonly keepsWhole = true
  readonly #tenants = new Map<string, Tenant>()
  readonly search: SearchIndex = {
    index: async (batch) => {
      const { key, from } = batch
      const { index } = this.#tenant(key.tenant)
      const isAsBefore = index.progress(key.thread).indexed === from
      if (!isAsBefore || this.#log(key)?.thread.salt === undefined) return false
      index.add(batch)
      return true
    },
    unindexed: async (scope, limit) => this.#unindexed(scope, limit),
    count: async (scope) => this.#tenants.get(scope.tenant)?.index.count(scope) ?? 0,
    find: async (scope, terms, limit) => {
      const index = this.#tenants.get(scope.tenant)?.index
      return terms.map((tokens) => index?.find(scope, tokens, limit) ?? [])
    },
    passages: async (tenant, ids) => this.#tenants.get(tenant)?.index.passages(ids) ?? [],
  }

  async append(batch: AppendBatch): Promise<boolean> {
    const { key, before, after, salt, rows, bytes, now } = batch
    const tenant = this.#tenant(key.tenant)
    const log = tenant.logs.get(key.thread)
    if (!isAt(log, before)) return false
    const old = log?.thread ?? { ...key, salt, bytes: 0, createdAt: now, updatedAt: now }
    const updatedAt = Math.max(old.updatedAt, now)
    const thread = { ...old, ...after, bytes: old.bytes + bytes, updatedAt }
    if (log === undefined) tenant.logs.set(key.thread, { thread, rows: [...rows] })
    else {
      log.rows.push(...rows)
      log.thread = thread
    }
    this.#useBlobs(tenant, batch)
    return true
  }

  async erase({ key, before, row, now }: Erasure): Promise<boolean> {
    const tenant = this.#tenant(key.tenant)
    const log = tenant.logs.get(key.thread)
    if (log === undefined || !isAt(log, before)) return false
    const { salt: _, ...thread } = log.thread
    const updatedAt = Math.max(thread.updatedAt, now)
    const erased = { ...thread, version: row.seq, head: row.header, bytes: 0, updatedAt }
    tenant.logs.set(key.thread, { thread: erased, rows: [...log.rows.map(withoutContent), row] })
    tenant.index.erase(key.thread)
    for (const [hash, blob] of tenant.blobs) {
      const isUnused = blob.threads.delete(key.thread) && blob.threads.size === 0
      if (isUnused && !blob.isWaiting) tenant.blobs.delete(hash)
    }
    return true
  }

  async eraseTenant(name: string): Promise<void> {
    const tenant = this.#tenants.get(name)
    tenant?.values.clear()
    for (const [hash, blob] of tenant?.blobs ?? []) {
      blob.isWaiting = false
      if (blob.threads.size === 0) tenant?.blobs.delete(hash)
    }
  }

  async thread(key: ThreadKey): Promise<ThreadRow | undefined> {
    return this.#log(key)?.thread
  }

  async page(key: ThreadKey, from: number, to: number): Promise<LogPage | undefined> {
    const log = this.#log(key)
    if (log === undefined) return undefined
    const rows = log.rows.slice(from - 1, Math.min(to, from - 1 + pageRows))
    const previous = log.rows[from - 2]?.header
    const blobs = new Map<string, Uint8Array>()
    for (const [, hash] of rows.flatMap(({ cuts }) => cuts ?? [])) {
      const content = this.#tenants.get(key.tenant)?.blobs.get(hash)?.content
      if (content !== undefined) blobs.set(hash, content)
    }
    const page = { thread: log.thread, rows, blobs }
    return previous === undefined ? page : { ...page, previous }
  }

  async findExternal(key: ThreadKey, external: Uint8Array): Promise<readonly number[]> {
    const rows = this.#log(key)?.rows ?? []
    const found = rows.filter((row) => row.external && Buffer.compare(row.external, external) === 0)
    return found.map(({ seq }) => seq)
  }

  async threads(query: ThreadQuery): Promise<readonly ThreadRow[]> {
    if (query.by === 'any') return this.#after(query.after).slice(0, query.limit)
    const logs = [...(this.#tenants.get(query.tenant)?.logs.values() ?? [])]
    const living = logs.map(({ thread }) => thread).filter(({ salt }) => salt !== undefined)
    const compare =
      query.by === 'age'
        ? compareAges
        : (a: ThreadRow, b: ThreadRow) => compareNames(a.thread, b.thread)
    const isAfter = (row: ThreadRow): boolean =>
      query.by === 'age'
        ? compareAges(row, query.after) > 0
        : compareNames(row.thread, query.after) > 0
    return living.filter(isAfter).sort(compare).slice(0, query.limit)
  }

  async tenants({ after, limit }: { after: string; limit: number }): Promise<readonly string[]> {
    const names = [...this.#tenants].filter(([, { logs }]) => logs.size > 0).map(([name]) => name)
    const later = names.filter((name) => compareNames(name, after) > 0)
    return later.sort(compareNames).slice(0, limit)
  }

  async saveSnapshot(key: ThreadKey, snapshot: SnapshotRow): Promise<boolean> {
    const log = this.#log(key)
    if (log?.thread.salt === undefined || snapshot.version > log.thread.version) return false
    if (snapshot.version < (log.snapshot?.version ?? 0)) return false
    log.snapshot = snapshot
    return true
  }

  async loadSnapshot(key: ThreadKey): Promise<FoundSnapshot | undefined> {
    const log = this.#log(key)
    if (log?.snapshot === undefined) return undefined
    const header = log.rows[log.snapshot.version - 1]?.header
    const found = { thread: log.thread, snapshot: log.snapshot }
    return header === undefined ? found : { ...found, header }
  }

  async putBlob(tenant: string, { hash, content }: BlobRow): Promise<void> {
    const { blobs } = this.#tenant(tenant)
    const known = blobs.get(hash)
    if (known === undefined) blobs.set(hash, { content, threads: new Set(), isWaiting: true })
    else known.isWaiting = true
  }

  async readBlob(tenant: string, hash: string): Promise<Uint8Array | undefined> {
    const content = this.#tenants.get(tenant)?.blobs.get(hash)?.content
    return content === undefined ? undefined : Uint8Array.from(content)
  }

  async putValue(
    { tenant, space, name }: ValueKey,
    text: string | undefined,
    before?: { readonly text: string | undefined },
  ): Promise<boolean> {
    const { values } = this.#tenant(tenant)
    const own = values.get(space) ?? new Map<string, string>()
    if (before !== undefined && own.get(name) !== before.text) return false
    if (text === undefined) own.delete(name)
    else own.set(name, text)
    values.set(space, own)
    return true
  }

  async readValue({ tenant, space, name }: ValueKey): Promise<string | undefined> {
    return this.#tenants.get(tenant)?.values.get(space)?.get(name)
  }

  async listValues(
    { tenant, space }: Omit<ValueKey, 'name'>,
    { after, limit }: { after: string; limit: number },
  ): Promise<readonly ValueRow[]> {
    const values = [...(this.#tenants.get(tenant)?.values.get(space) ?? [])]
    return values
      .filter(([name]) => compareNames(name, after) > 0)
      .sort(([a], [b]) => compareNames(a, b))
      .slice(0, limit)
      .map(([name, text]) => ({ name, text }))
  }

  async close(): Promise<void> {
    this.#tenants.clear()
  }

  #tenant(name: string): Tenant {
    const known = this.#tenants.get(name)
    if (known !== undefined) return known
    const tenant = {
      logs: new Map(),
      blobs: new Map(),
      values: new Map(),
      index: new MemoryIndex(),
    }
    this.#tenants.set(name, tenant)
    return tenant
  }

  #log({ tenant, thread }: ThreadKey): Log | undefined {
    return this.#tenants.get(tenant)?.logs.get(thread)
  }

  #unindexed({ tenant: name, thread }: SearchScope, limit: number): readonly IndexProgress[] {
    const tenant = this.#tenants.get(name)
    const own = thread === undefined ? tenant?.logs.values() : [tenant?.logs.get(thread)]
    const behind: (IndexProgress & { readonly updatedAt: number })[] = []
    for (const log of own ?? []) {
      if (log?.thread.salt === undefined) continue
      const { thread: id, version, updatedAt } = log.thread
      const progress = tenant?.index.progress(id) ?? { indexed: 0, messages: 0 }
      if (progress.indexed < version) behind.push({ thread: id, version, updatedAt, ...progress })
    }
    return behind.sort((a, b) => b.updatedAt - a.updatedAt).slice(0, limit)
  }

  /** All threads in the order in which they were begun, after one of them. */
  #after(row: ThreadRow | undefined): readonly ThreadRow[] {
    const all = [...this.#tenants.values()].flatMap(({ logs }) => [...logs.values()])
    const threads = all.map(({ thread }) => thread)
    if (row === undefined) return threads
    const isRow = (one: ThreadRow): boolean =>
      one.tenant === row.tenant && one.thread === row.thread
    return threads.slice(threads.findIndex(isRow) + 1)
  }

  #useBlobs({ blobs }: Tenant, { key, blobs: kept, names }: AppendBatch): void {
    for (const { hash, content } of kept) {
      const blob = blobs.get(hash) ?? { content, threads: new Set(), isWaiting: false }
      blob.threads.add(key.thread)
      blobs.set(hash, blob)
    }
    for (const hash of names) {
      const blob = blobs.get(hash)
      if (blob === undefined) continue
      blob.threads.add(key.thread)
      blob.isWaiting = false
    }
  }
}

function isAt(log: Log | undefined, before: ThreadHead | undefined): boolean {
  if (before === undefined) return log === undefined
  const { thread } = log ?? {}
  const isLiving = thread?.salt !== undefined
  return isLiving && thread.version === before.version && thread.head === before.head
}

function withoutContent({ seq, form, type, content, header }: LogRow): LogRow {
  return { seq, form, type, content, header }
}

/** The newest first. */
function compareAges(a: ThreadPosition, b: ThreadPosition): number {
  return b.updatedAt - a.updatedAt || compareNames(a.thread, b.thread)
}

/** The order of UTF-8 bytes, as databases sort: JavaScript's own order differs outside the basic plane. */
function compareNames(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}
