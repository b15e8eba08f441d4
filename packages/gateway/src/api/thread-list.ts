// Thread list of several tenants, most recently used first, with cursor pagination.

import type { Store, ThreadInfo, ThreadKey, ThreadPosition } from 'oriel'
import { refuse } from '../http/errors.ts'

export interface AgedThread {
  readonly key: ThreadKey
  readonly info: ThreadInfo
}

/** A list position. It stays valid when its thread grows or is erased. */
interface Cursor extends ThreadPosition {
  readonly tenant: string
}

/** Page size for one tenant, and for each of several. */
const pageSize = 100
const sharedPageSize = 20
/** Tenants queried concurrently. */
const tenantsAtOnce = 16

/**
 * K-way merge of the tenants' lists, after an optional cursor. Ties are ordered by tenant, then by
 * name. Reads lazily from the store.
 */
export async function* threadsByAge(
  store: Store,
  { tenants, after }: { readonly tenants: readonly string[]; readonly after: string | null },
): AsyncGenerator<AgedThread> {
  const cursor = after === null ? undefined : readCursor(after)
  const limit = tenants.length > 1 ? sharedPageSize : pageSize
  const lists = tenants
    .toSorted((a, b) => (a < b ? -1 : 1))
    .map((tenant) => new TenantList(store, { tenant, limit, cursor }))
  for (let from = 0; from < lists.length; from += tenantsAtOnce)
    await Promise.all(lists.slice(from, from + tenantsAtOnce).map((list) => list.load()))
  for (;;) {
    let next: TenantList | undefined
    for (const list of lists) {
      // Tenants are sorted, so the first one wins a tie.
      if (list.age !== undefined && (next?.age === undefined || list.age > next.age)) next = list
    }
    if (next === undefined) return
    yield await next.take()
  }
}

/** Paged list of one tenant's threads. */
class TenantList {
  readonly #store: Store
  readonly #tenant: string
  readonly #limit: number
  #after: ThreadPosition | undefined
  #page: readonly ThreadInfo[] = []

  constructor(
    store: Store,
    options: {
      readonly tenant: string
      readonly limit: number
      readonly cursor: Cursor | undefined
    },
  ) {
    const { tenant, limit, cursor } = options
    this.#store = store
    this.#tenant = tenant
    this.#limit = limit
    this.#after = cursor === undefined ? undefined : positionIn(tenant, cursor)
  }

  /** Time of the next thread; undefined at the end. */
  get age(): number | undefined {
    return this.#page[0]?.updatedAt
  }

  async load(): Promise<void> {
    const position = this.#after === undefined ? {} : { after: this.#after }
    const options = { limit: this.#limit, ...position }
    this.#page =
      (await this.#store.newest?.(this.#tenant, options)) ??
      (await sortedByAge(this.#store, this.#tenant, options))
  }

  async take(): Promise<AgedThread> {
    const [info, ...rest] = this.#page as [ThreadInfo, ...ThreadInfo[]]
    this.#after = info
    this.#page = rest
    if (rest.length === 0) await this.load()
    return { key: { tenant: this.#tenant, thread: info.thread }, info }
  }
}

/** Fallback for a store that cannot sort by age: reads all threads for every page. */
async function sortedByAge(
  store: Store,
  tenant: string,
  { after, limit }: { readonly after?: ThreadPosition; readonly limit: number },
): Promise<readonly ThreadInfo[]> {
  const all: ThreadInfo[] = []
  for (let name: string | undefined; ; name = all.at(-1)?.thread) {
    const page = await store.list(tenant, {
      limit: 500,
      ...(name === undefined ? {} : { after: name }),
    })
    all.push(...page)
    if (page.length === 0) break
  }
  const later = after === undefined ? all : all.filter((info) => compareAges(info, after) > 0)
  return later.toSorted(compareAges).slice(0, limit)
}

function compareAges(a: ThreadPosition, b: ThreadPosition): number {
  return b.updatedAt - a.updatedAt || Buffer.compare(Buffer.from(a.thread), Buffer.from(b.thread))
}

/** Where a tenant's own list continues after a cursor in the merged list. */
function positionIn(tenant: string, { updatedAt, tenant: other, thread }: Cursor): ThreadPosition {
  if (tenant === other) return { updatedAt, thread }
  // Tenants are sorted by name: one before the cursor's has shown all its threads of that time.
  return { updatedAt: tenant < other ? updatedAt - 1 : updatedAt, thread: '' }
}

export function cursorOf({ key, info }: AgedThread): string {
  return Buffer.from(JSON.stringify([info.updatedAt, key.tenant, key.thread])).toString('base64url')
}

function readCursor(text: string): Cursor {
  try {
    const [updatedAt, tenant, thread, ...rest] = JSON.parse(
      Buffer.from(text, 'base64url').toString(),
    ) as unknown[]
    const isCursor =
      Number.isSafeInteger(updatedAt) &&
      typeof tenant === 'string' &&
      isName(thread) &&
      rest.length === 0
    if (isCursor) return { updatedAt: Number(updatedAt), tenant, thread }
  } catch {
    // Invalid JSON: rejected below.
  }
  throw refuse(400, 'invalid-input', 'The cursor is invalid. Start again without one.')
}

function isName(value: unknown): value is string {
  const isText = typeof value === 'string' && value.isWellFormed() && !value.includes('\0')
  return isText && value.length > 0 && value.length <= 512
}
