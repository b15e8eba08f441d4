// Lasting instructions: what a user said is to hold in all conversations of a scope. The store has where each was said, so that it goes with
// its thread; an edited one has its own words.

import type { MessageEntry } from '../../core/log/entry.ts'
import { OrielError, wrongOption } from '../../core/log/errors.ts'
import { isObject, type Json } from '../../core/log/json.ts'
import { checkScope, type Scope, scopeParts } from '../../core/log/scope.ts'
import { absolute, everywhere } from '../../core/text/directive-cues.ts'
import { directivesIn } from '../../core/text/directives.ts'
import { readableIn, readableMessage } from '../../core/text/readable.ts'
import { sha256 } from '../../sha256.ts'
import type { Store } from '../../stores/store.ts'
import { type JournalOf, journalsOf } from '../search/search.ts'

/** An instruction that holds in all threads of a scope. */
export interface LastingDirective {
  readonly id: string
  /** The user's exact words, or those that a person put in their place. */
  readonly text: string
  /** Where it was said. */
  readonly thread: string
  readonly seq: number
  readonly isEdited: boolean
}

/** The lasting instructions of one scope. */
export interface ScopeMemory {
  /** Those that hold now, oldest first. What was said in a thread that is erased, or in a message that was excluded, is not among them. */
  list(): Promise<readonly LastingDirective[]>
  /** Puts other words in the place of the user's. Rejects with 'not-found' for an unknown id. */
  edit(id: string, text: string): Promise<void>
  /** Takes one out for good: the same words in the same message are not taken in again. */
  erase(id: string): Promise<void>
}

/** Of a very long list the newest are offered. */
const maxListed = 100
const maxText = 1000

/** The memory of a scope under a tenant. */
export function scopeMemory(store: Store, tenant: string, scope: Scope): ScopeMemory {
  const space = spaceOf(checkScope(scope))
  const values = valuesOf(store)
  const rowAt = async (id: string): Promise<Row> => {
    const row = rowIn(await values.get({ tenant, space, name: id }))
    if (row !== undefined && row.isErased !== true) return row
    throw new OrielError(
      'not-found',
      `No lasting instruction of this scope has the id ${id.slice(0, 60)}.`,
    )
  }
  return {
    list: () => listIn({ store, tenant, space, journalOf: journalsOf(store, tenant) }),
    async edit(id, text) {
      if (typeof text !== 'string' || text.trim() === '' || text.length > maxText)
        throw wrongOption('text', `a text of 1 to ${maxText} characters`)
      const row = await rowAt(id)
      await values.put({ tenant, space, name: id }, { ...row, text: text.trim() })
    },
    async erase(id) {
      const { thread, seq } = await rowAt(id)
      await values.put({ tenant, space, name: id }, { thread, seq, isErased: true })
    },
  }
}

/** Takes in what a message says is to hold everywhere. */
export async function keepLasting(
  {
    store,
    tenant,
    thread,
    scope,
  }: {
    readonly store: Store
    readonly tenant: string
    readonly thread: string
    readonly scope: Scope
  },
  entries: readonly MessageEntry[],
): Promise<void> {
  if (store.values === undefined) return
  for (const entry of entries) {
    for (const text of lastingIn(entry)) {
      const name = idOf(thread, entry.seq, text)
      const row = { thread, seq: entry.seq }
      const key = { tenant, space: spaceOf(scope), name }
      await store.values.update(key, (before) => before ?? row)
    }
  }
}

/** The user's words in a message that are to hold everywhere. */
function lastingIn(entry: MessageEntry): readonly string[] {
  if (entry.role !== 'user' || entry.origin !== 'user') return []
  const texts = entry.blocks.flatMap((block) => (block.type === 'text' ? [block.text] : []))
  return texts
    .flatMap((text) => directivesIn(text))
    .filter(
      ({ text, firmness }) => everywhere.test(text) || (firmness !== 'ask' && absolute.test(text)),
    )
    .map(({ text }) => text.slice(0, maxText))
}

interface Listing {
  readonly store: Store
  readonly tenant: string
  readonly space: string
  readonly journalOf: JournalOf
}

async function listIn({
  store,
  tenant,
  space,
  journalOf,
}: Listing): Promise<readonly LastingDirective[]> {
  const found: (LastingDirective & { readonly at: number })[] = []
  for (const { name, value } of await valuesOf(store).list({ tenant, space }, { limit: 1000 })) {
    const row = rowIn(value)
    if (row === undefined || row.isErased === true) continue
    const { thread, seq, text } = row
    const source = await journalOf(thread)
    const entry = await source?.message(seq)
    const shown = source && entry && readableMessage(readableIn(source.state), entry)
    const said = shown && lastingIn(shown).find((one) => idOf(thread, seq, one) === name)
    if (said === undefined || entry === undefined) continue
    const own = { id: name, text: text ?? said, thread, seq, isEdited: text !== undefined }
    found.push({ ...own, at: entry.at })
  }
  return found
    .sort((a, b) => a.at - b.at || a.seq - b.seq)
    .slice(-maxListed)
    .map(({ at: _, ...own }) => own)
}

const heading =
  '[Standing instructions that the user gave in other conversations, to hold in all of them; what the user says here wins:]'

/** The instructions of a scope that a thread is reminded of: those said elsewhere, the newest where there is not room for all. */
export async function lastingIds(
  store: Store,
  {
    tenant,
    thread,
    scope,
  }: { readonly tenant: string; readonly thread: string; readonly scope: Scope },
): Promise<readonly string[]> {
  if (store.values === undefined) return []
  const all = await listIn({
    store,
    tenant,
    space: spaceOf(scope),
    journalOf: journalsOf(store, tenant),
  })
  return all.filter((one) => one.thread !== thread).map(({ id }) => id)
}

/** Their words as they are shown now; empty where none is left. */
export async function lastingText(
  store: Store,
  { tenant, scope }: { readonly tenant: string; readonly scope: Scope },
  ids: readonly string[],
): Promise<string> {
  if (ids.length === 0 || store.values === undefined) return ''
  const all = await listIn({
    store,
    tenant,
    space: spaceOf(scope),
    journalOf: journalsOf(store, tenant),
  })
  const texts = all.filter(({ id }) => ids.includes(id)).map(({ text }) => text)
  const lines: string[] = []
  let room = maxCharacters
  for (const text of [...new Set(texts)].reverse()) {
    room -= text.length
    if (room < 0) break
    lines.unshift(`- ${text}`)
  }
  return lines.length === 0 ? '' : [heading, ...lines].join('\n')
}

/** About a thousand tokens. */
const maxCharacters = 4000

interface Row {
  readonly thread: string
  readonly seq: number
  /** A person's words in place of the user's. */
  readonly text?: string
  readonly isErased?: boolean
}

function rowIn(value: Json | undefined): Row | undefined {
  if (!isObject(value)) return undefined
  const { thread, seq, text, isErased } = value
  if (typeof thread !== 'string' || typeof seq !== 'number') return undefined
  return {
    ...{ thread, seq },
    ...(typeof text === 'string' ? { text } : {}),
    ...(isErased === true ? { isErased } : {}),
  }
}

function idOf(thread: string, seq: number, text: string): string {
  return `l${sha256(JSON.stringify([thread, seq, text])).slice(0, 20)}`
}

function spaceOf(scope: Scope): string {
  return `lasting-${sha256(JSON.stringify(scopeParts(scope))).slice(0, 32)}`
}

function valuesOf(store: Store): NonNullable<Store['values']> {
  if (store.values !== undefined) return store.values
  throw new OrielError(
    'invalid-option',
    `The store ${store.name} keeps no values, and so no lasting instructions.`,
  )
}
