// Erasing on a person's request, and by age: the one exception to a log that never changes.

import { OrielError } from '../core/errors.ts'
import { isObject } from '../core/json.ts'
import { settingsTenant } from '../stores/agent-settings.ts'
import type { Store, ThreadKey } from '../stores/store.ts'

/** Threads that are listed at once. */
const pageSize = 500

export interface EraseThreadOptions {
  readonly store: Store
  /** @default 'default' */
  readonly tenant?: string
  readonly id: string
  /** Also the threads that this one was forked from, and their other forks. @default false */
  readonly family?: boolean
  /**
   * Also copies that a process left behind when it died while forking. Reads the first entry of every thread of the tenant.
   * @default false
   */
  readonly scan?: boolean
}

export interface Erased {
  /** The threads that were erased. */
  readonly threads: readonly string[]
}

/**
 * Erases a thread and every fork of it: messages, edits, summaries, snapshots, ids, salts, and large content that no other thread uses.
 * - What is left is a chain of hashes without salt, which ends with an entry `erased`; the id is not used again.
 * - A foreign or absent id erases nothing and looks the same.
 * - May be repeated: what was erased stays erased, and what is left is erased.
 */
export async function eraseThread(options: EraseThreadOptions): Promise<Erased> {
  const { store, tenant = 'default', id, family = false, scan = false } = options
  const start: ThreadKey = { tenant, thread: id }
  const salt = scan ? await saltOf(store, start) : undefined
  const found = await relatives(store, start, family)
  if (salt !== undefined)
    for (const thread of await copiesOf(store, tenant, salt)) found.add(thread)
  // Forks first: if this is interrupted, the notes that lead to them are still there.
  const order = [...found].reverse()
  for (const thread of order) await store.erase({ tenant, thread })
  return { threads: order }
}

export interface EraseTenantOptions {
  readonly store: Store
  readonly tenant: string
}

/** Erases all threads of a tenant, all its large content and the settings of its agents. */
export async function eraseTenant({ store, tenant }: EraseTenantOptions): Promise<void> {
  await store.eraseTenant(tenant)
  await store.eraseTenant(settingsTenant(tenant))
}

export interface EraseOlderThanOptions {
  readonly store: Store
  /** Threads to which nothing was appended for this long are erased. */
  readonly maxAgeMs: number
  /** One tenant only. @default all tenants */
  readonly tenant?: string
  /** The clock. @default Date.now */
  readonly now?: () => number
  /** Say what would be erased, and erase nothing. @default false */
  readonly dryRun?: boolean
}

/**
 * Retention by age. Each thread counts for itself: a fork that is still used stays when its parent goes. What stands beside the threads does
 * not grow old: settings, and a gateway's lists of what it knows.
 */
export async function eraseOlderThan(
  options: EraseOlderThanOptions,
): Promise<{ readonly threads: readonly ThreadKey[] }> {
  const { store, maxAgeMs, tenant, now = Date.now, dryRun = false } = options
  if (!Number.isFinite(maxAgeMs) || maxAgeMs < 0) {
    const message = `maxAgeMs must be a number of milliseconds, at least 0; got ${String(maxAgeMs)}.`
    throw new OrielError('invalid-option', message, { path: 'maxAgeMs' })
  }
  const before = now() - maxAgeMs
  const threads: ThreadKey[] = []
  for await (const own of tenant === undefined ? tenantsOf(store) : [tenant]) {
    if (tenant === undefined && isBeside(own)) continue
    for await (const { thread, updatedAt } of threadsOf(store, own)) {
      if (updatedAt >= before) continue
      const key = { tenant: own, thread }
      if (!dryRun) await store.erase(key)
      threads.push(key)
    }
  }
  return { threads }
}

/** Whether a tenant holds no conversations, but what is kept beside them: settings of agents (`settings:`), lists of a gateway (`index:`). */
function isBeside(tenant: string): boolean {
  return /^(?:settings|index):/.test(tenant)
}

/** The thread and its forks; with `family`, everything that is related. Parents stand before their forks. */
async function relatives(store: Store, start: ThreadKey, family: boolean): Promise<Set<string>> {
  const found = new Set<string>()
  const waiting = [start.thread]
  for (;;) {
    const thread = waiting.shift()
    if (thread === undefined) return found
    if (found.has(thread)) continue
    const key = { ...start, thread }
    if ((await store.info(key)) === undefined) continue
    found.add(thread)
    const { forks, parents } = await notesOf(store, key)
    waiting.push(...forks, ...(family ? parents : []))
  }
}

/** What a log says about where it came from and what was made of it. */
async function notesOf(
  store: Store,
  key: ThreadKey,
): Promise<{ readonly forks: readonly string[]; readonly parents: readonly string[] }> {
  let forks: string[] = []
  const parents: string[] = []
  for await (const entry of store.read(key)) {
    if (entry.type !== 'setting') continue
    if (entry.name.startsWith('fork/')) forks.push(entry.name.slice('fork/'.length))
    if (entry.name !== 'forked-from' || !isObject(entry.value)) continue
    // What stands before is a copy of the parent's log: its other forks are not forks of this one.
    forks = []
    const { thread } = entry.value
    if (typeof thread === 'string') parents.push(thread)
  }
  return { forks, parents }
}

/** Threads that begin with the same header: a fork copies it before anything else. */
async function copiesOf(store: Store, tenant: string, salt: string): Promise<readonly string[]> {
  const copies: string[] = []
  for await (const { thread } of threadsOf(store, tenant)) {
    if ((await saltOf(store, { tenant, thread })) === salt) copies.push(thread)
  }
  return copies
}

async function saltOf(store: Store, key: ThreadKey): Promise<string | undefined> {
  for await (const entry of store.read(key, { from: 1, to: 1 })) {
    if (entry.type !== 'setting' || !isObject(entry.value)) return undefined
    const { salt } = entry.value
    return typeof salt === 'string' ? salt : undefined
  }
  return undefined
}

async function* threadsOf(
  store: Store,
  tenant: string,
): AsyncGenerator<{ readonly thread: string; readonly updatedAt: number }> {
  for (let after = ''; ; ) {
    const page = await store.list(
      tenant,
      after === '' ? { limit: pageSize } : { after, limit: pageSize },
    )
    yield* page
    const last = page.at(-1)
    if (last === undefined) return
    after = last.thread
  }
}

async function* tenantsOf(store: Store): AsyncGenerator<string> {
  if (store.tenants === undefined) {
    const message = 'This store does not list its tenants. Name one.'
    throw new OrielError('invalid-option', message, { path: 'tenant' })
  }
  for (let after = ''; ; ) {
    const page = await store.tenants(after === '' ? {} : { after })
    yield* page
    const last = page.at(-1)
    if (last === undefined) return
    after = last
  }
}
