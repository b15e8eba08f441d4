// Erasing on a person's request, and by age: the one exception to a log that never changes.

import { dirname } from 'node:path'
import type { EditEntry, Entry } from '../core/log/entry.ts'
import { OrielError } from '../core/log/errors.ts'
import { equalJson } from '../core/log/json.ts'
import { assertOptions, type OptionNames } from '../core/log/options.ts'
import { settings } from '../core/log/settings.ts'
import { forgetCountedTexts } from '../core/tokens/tally.ts'
import { settingsTenant } from '../stores/agent-settings.ts'
import type { Store, ThreadInfo, ThreadKey } from '../stores/store.ts'
import { eraseBatch } from '../stores/stored/erase-batch.ts'
import { type OutputFile, removeOutputFile } from './expand/output-files.ts'
import type { Finished } from './summaries/summaries.ts'
import { summariesIn, TenantSummaries } from './summaries/tenant-cache.ts'

/** Threads that are listed at once. */
const pageSize = 500

/** Threads whose first entries are read at once. */
const headersAtOnce = 32

export interface EraseThreadOptions {
  readonly store: Store
  /** @default 'default' */
  readonly tenant?: string
  readonly id: string
  /** Also the threads that this one was forked from, and their other forks. @default false */
  readonly family?: boolean
  /**
   * Also copies that a process left behind when it died while forking. Reads the first entry of every thread of the tenant.
   * @default true
   */
  readonly scan?: boolean
}

const eraseOptions: OptionNames<EraseThreadOptions> = {
  store: true,
  tenant: true,
  id: true,
  family: true,
  scan: true,
}

export interface Erased {
  /** The threads that were erased. */
  readonly threads: readonly string[]
}

/**
 * Erases a thread and every fork of it, noted in its log or not: messages, edits, summaries, snapshots, ids, salts, files with its outputs
 * on this machine, and large content that no other thread uses.
 * - What is left is a chain of hashes without salt, which ends with an entry `erased`; the id is not used again.
 * - A foreign or absent id erases nothing and looks the same.
 * - May be repeated: what was erased stays erased, and what is left is erased.
 */
export async function eraseThread(options: EraseThreadOptions): Promise<Erased> {
  assertOptions(options, eraseOptions, 'eraseThread')
  const { store, tenant = 'default', id, family = false, scan = true } = options
  const start: ThreadKey = { tenant, thread: id }
  const found = await relatives(store, start, family)
  if (scan && found.size > 0) await addCopies(store, start, found)
  // Forks first: if this is interrupted, what leads to them is still there.
  const order = [...found].reverse()
  for (const thread of order) await eraseOne(store, { tenant, thread })
  forgetCountedTexts()
  return { threads: order }
}

/** Files first: what leads to them is in the log. A view may note more of them meanwhile. Shared summaries last: what is shared from now on is noticed by who shares it. */
async function eraseOne(store: Store, key: ThreadKey): Promise<void> {
  let summaries: readonly Finished[] = []
  for (let version = -1; ; ) {
    const info = await store.info(key)
    if (info === undefined || info.version === version) break
    const notes = await readableNotesOf(store, key)
    for (const file of notes.files) await removeOutputFile(file)
    summaries = notes.summaries
    version = info.version
  }
  await store.erase(key)
  await new TenantSummaries(store, key).forget(summaries)
}

export interface EraseTenantOptions {
  readonly store: Store
  readonly tenant: string
}

/** Erases all threads of a tenant, files with their outputs on this machine, all its large content and the settings of its agents. */
export async function eraseTenant(options: EraseTenantOptions): Promise<void> {
  assertOptions(options, { store: true, tenant: true }, 'eraseTenant')
  const { store, tenant } = options
  for await (const page of pagesOf(store, tenant)) {
    for (const { thread } of page) {
      const { files } = await readableNotesOf(store, { tenant, thread })
      for (const file of files) await removeOutputFile(file)
    }
  }
  forgetCountedTexts()
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

const ageOptions: OptionNames<EraseOlderThanOptions> = {
  store: true,
  maxAgeMs: true,
  tenant: true,
  now: true,
  dryRun: true,
}

/**
 * Retention by age. Each thread counts for itself: a fork that is still used stays when its parent goes. What stands beside the threads does
 * not grow old: settings, and a gateway's lists of what it knows.
 */
export async function eraseOlderThan(
  options: EraseOlderThanOptions,
): Promise<{ readonly threads: readonly ThreadKey[] }> {
  assertOptions(options, ageOptions, 'eraseOlderThan')
  const { store, maxAgeMs, tenant, now = Date.now, dryRun = false } = options
  if (!Number.isFinite(maxAgeMs) || maxAgeMs < 0) {
    const message = `maxAgeMs must be a number of milliseconds, at least 0; got ${String(maxAgeMs)}.`
    throw new OrielError('invalid-option', message, { path: 'maxAgeMs' })
  }
  const before = now() - maxAgeMs
  const threads: ThreadKey[] = []
  for await (const own of tenant === undefined ? tenantsOf(store) : [tenant]) {
    if (tenant === undefined && isBeside(own)) continue
    for await (const page of pagesOf(store, own)) {
      const old = page.filter(({ updatedAt }) => updatedAt < before)
      if (!dryRun) await eraseAll(store, own, old)
      threads.push(...old.map(({ thread }) => ({ tenant: own, thread })))
    }
  }
  return { threads }
}

/** Erases in batches: a store commits those of a batch together, and others write between two batches. */
async function eraseAll(
  store: Store,
  tenant: string,
  threads: readonly ThreadInfo[],
): Promise<void> {
  for (let left = threads; left.length > 0; ) {
    const batch = eraseBatch(left)
    await Promise.all(batch.map(({ thread }) => eraseOne(store, { tenant, thread })))
    left = left.slice(batch.length)
  }
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

interface Notes {
  readonly forks: readonly string[]
  readonly parents: readonly string[]
  /** Files that were written for this thread; those of a parent are the parent's. */
  readonly files: readonly OutputFile[]
  /** Summaries by a model that its edits and settings hold, those of a parent included. */
  readonly summaries: readonly Finished[]
}

/** What a log says about where it came from, what was made of it, and what lies beside it. */
async function notesOf(store: Store, key: ThreadKey): Promise<Notes> {
  const notes = new NotesReader()
  for await (const entry of store.read(key)) notes.take(entry)
  return notes
}

/** The notes of a thread that is about to be erased. Behind damage in its log nothing is found: it is erased all the same. */
async function readableNotesOf(store: Store, key: ThreadKey): Promise<Notes> {
  const notes = new NotesReader()
  try {
    for await (const entry of store.read(key)) notes.take(entry)
  } catch (error) {
    const isDamage = OrielError.is(error, 'corrupt-entry') || OrielError.is(error, 'log-truncated')
    if (!isDamage) throw error
  }
  return notes
}

class NotesReader implements Notes {
  forks: string[] = []
  readonly parents: string[] = []
  files: readonly OutputFile[] = []
  readonly summaries: Finished[] = []

  take(entry: Entry): void {
    this.summaries.push(...summariesIn([entry]))
    if (entry.type === 'edit') this.#add(fileNamedIn(entry))
    const fork = settings.fork.keyOf(entry)
    if (fork !== undefined) this.forks.push(fork)
    const file = settings.outputFile.find(entry)
    if (file !== undefined) this.#add({ directory: file.value, sha256: file.key })
    if (!settings.forkedFrom.names(entry)) return
    // What stands before is a copy of the parent's log: its other forks and its files are not of this thread.
    this.forks = []
    this.files = []
    const parent = settings.forkedFrom.find(entry)
    if (parent !== undefined) this.parents.push(parent.thread)
  }

  #add(file: OutputFile | undefined): void {
    if (file !== undefined && /^[0-9a-f]{64}$/.test(file.sha256)) this.files = [...this.files, file]
  }
}

/** The file that a notice of `toolOutput` names: before files were noted as settings, this was the only trace of them. */
function fileNamedIn({ rule, text = '', epoch }: EditEntry): OutputFile | undefined {
  // What a fork inherited is in an epoch of its own: it names the parent's files.
  if (rule !== 'toolOutput' || epoch.startsWith('f')) return undefined
  const pattern = /^\[tool output too large: \d+ chars\]\nSaved to: (.+)\nSHA256: ([0-9a-f]{64})\n/
  const [, path, sha256] = pattern.exec(text) ?? []
  if (path === undefined || sha256 === undefined) return undefined
  return { directory: dirname(path), sha256 }
}

/**
 * Adds what was copied from the threads found and is not noted in their logs: a process died while it forked. All threads of a family
 * begin with the same header. A whole copy names its parent; a part of one ends with an entry of the parent.
 */
async function addCopies(store: Store, start: ThreadKey, found: Set<string>): Promise<void> {
  const { tenant } = start
  const header = await entryAt(store, start, 1)
  const noted = await relatives(store, start, true)
  const family: ThreadInfo[] = []
  for await (const page of pagesOf(store, tenant, headersAtOnce)) {
    const candidates = page.filter(({ thread }) => !noted.has(thread))
    const headers = await Promise.all(
      candidates.map(({ thread }) => entryAt(store, { tenant, thread }, 1)),
    )
    family.push(...candidates.filter((_, index) => isSame(headers[index], header)))
  }
  // A copy may have forks of its own, noted or not.
  for (let isGrowing = true; isGrowing; ) {
    isGrowing = false
    for (const info of family) {
      if (found.has(info.thread) || !(await isCopy(store, { tenant, info, found }))) continue
      for (const thread of await relatives(store, { tenant, thread: info.thread }, false))
        found.add(thread)
      isGrowing = true
    }
  }
}

/** Whether a thread of the family was copied from one of those found. */
async function isCopy(
  store: Store,
  { tenant, info, found }: { tenant: string; info: ThreadInfo; found: ReadonlySet<string> },
): Promise<boolean> {
  const { parents } = await notesOf(store, { tenant, thread: info.thread })
  if (parents.some((parent) => found.has(parent))) return true
  const newest = await entryAt(store, { tenant, thread: info.thread }, info.version)
  for (const thread of found) {
    if (isSame(newest, await entryAt(store, { tenant, thread }, info.version))) return true
  }
  return false
}

async function entryAt(store: Store, key: ThreadKey, seq: number): Promise<Entry | undefined> {
  try {
    for await (const entry of store.read(key, { from: seq, to: seq })) return entry
  } catch (error) {
    // Erased since it was listed, or damaged: a damaged thread must not keep others from being erased.
    if (!OrielError.is(error, 'not-found') && !OrielError.is(error, 'corrupt-entry')) throw error
  }
  return undefined
}

/** A fork keeps the entries of its parent as they are, ids included. */
function isSame(a: Entry | undefined, b: Entry | undefined): boolean {
  return a !== undefined && b !== undefined && equalJson(a as never, b as never)
}

async function* pagesOf(
  store: Store,
  tenant: string,
  limit = pageSize,
): AsyncGenerator<readonly ThreadInfo[]> {
  for (let after = ''; ; ) {
    const page = await store.list(tenant, after === '' ? { limit } : { after, limit })
    yield page
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
