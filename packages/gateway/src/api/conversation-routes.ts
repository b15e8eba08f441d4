// Routes for conversations with a name, in the provider's own words. Those that were made here are threads of the gateway; any other id is
// the upstream's.

import { randomUUID } from 'node:crypto'
import { type JsonObject, type MessageEntry, OrielError, type Thread } from 'oriel'
import { searchToolBeside } from 'oriel/internal'
import { type NamedConversations, type Provider, providers } from 'oriel/providers'
import { z } from 'zod'
import type { Calls } from '../call/calls.ts'
import { isObject } from '../call/rewrite.ts'
import { refuse } from '../http/errors.ts'
import type { HttpReply } from '../http/response.ts'
import { json, type Route, type RouteContext } from '../http/router.ts'
import type { Limits } from '../options.ts'
import {
  type Conversations,
  type NamedConversation,
  noConversation,
} from '../threads/conversations.ts'
import type { OpenThreads } from '../threads/open-threads.ts'
import type { ChainLink } from '../threads/response-chain.ts'
import type { Tenants } from '../threads/tenants.ts'
import { readCount, readJson } from './parameters.ts'

export interface ConversationRoutesOptions {
  readonly calls: Calls
  readonly conversations: Conversations
  readonly threads: OpenThreads
  readonly tenants: Tenants
  readonly limits: Limits
  readonly now: () => number
  /** Told after each write to a thread. */
  readonly changed: (tenant: string, thread: string) => void
}

/** The provider's own limits: items of one call and of one page, and pairs of metadata. */
const maxItems = 20
const maxPage = 100
const maxPairs = 16

const metadata = z
  .record(z.string().max(64), z.string().max(512))
  .refine((pairs) => Object.keys(pairs).length <= maxPairs, `has at most ${maxPairs} pairs`)
const items = z.array(z.looseObject({})).max(maxItems)
const createBody = z.object({ items: items.nullish(), metadata: metadata.nullish() })
const updateBody = z.object({ metadata: metadata.nullable() })
const addBody = z.object({ items })

export function conversationRoutes(options: ConversationRoutesOptions): readonly Route[] {
  return Object.values(providers).flatMap((provider) => {
    const format = provider.request.stored?.conversations
    return format === undefined ? [] : routesFor(options, provider, format)
  })
}

type Handle = (context: RouteContext, found: NamedConversation) => Promise<HttpReply>

function routesFor(
  options: ConversationRoutesOptions,
  provider: Provider,
  format: NamedConversations,
): readonly Route[] {
  const { calls, conversations, limits } = options
  const route = (
    method: Route['method'],
    path: string,
    summary: string,
    handle: Handle,
  ): Route => ({
    ...{ method, path: format.path + path, access: 'key', isCall: true, summary },
    handle: async (context) => {
      const { caller } = context
      const isOwn = calls.isManaging(context)
      const found = isOwn ? await conversations.find(caller.tenant, context.param('id')) : undefined
      return found === undefined ? calls.pass(context) : handle(context, found)
    },
  })
  const page = (found: readonly Item[]): Response => json(pageOf(found, { hasMore: false }))
  return [
    {
      ...{ method: 'POST', path: format.path, access: 'key', isCall: true },
      summary: 'Makes a conversation that calls can name: a thread of this gateway.',
      handle: async (context) => {
        if (!calls.isManaging(context) || !conversations.isKept) return calls.pass(context)
        const body = await readJson(context, createBody, limits)
        const made = conversations.create(format.prefix, body.metadata ?? {})
        const { tenant } = context.caller
        await conversations.put(tenant, made)
        const given = body.items ?? []
        if (given.length > 0) await addItems(options, { provider, tenant, found: made, given })
        return json(shown(made))
      },
    },
    route('GET', '/:id', 'A conversation.', async (_, found) => json(shown(found))),
    route('POST', '/:id', 'Changes the metadata of a conversation.', async (context, found) => {
      const body = await readJson(context, updateBody, limits)
      const { tenant } = context.caller
      const changed = { metadata: body.metadata ?? {} }
      const after = await conversations.change(tenant, found.id, changed)
      if (after === undefined) throw noConversation(found.id)
      return json(shown(after))
    }),
    route(
      'DELETE',
      '/:id',
      'Deletes a conversation; its thread stays.',
      async (context, { id }) => {
        await conversations.delete(context.caller.tenant, id)
        return json({ id, object: 'conversation.deleted', deleted: true })
      },
    ),
    route('POST', '/:id/items', 'Adds items to a conversation.', async (context, found) => {
      const { items: given } = await readJson(context, addBody, limits)
      const { tenant } = context.caller
      return page(await addItems(options, { provider, tenant, found, given }))
    }),
    route('GET', '/:id/items', 'The items of a conversation.', async (context, found) => {
      const all = await itemsOf(options, { provider, tenant: context.caller.tenant, found })
      return json(pageAt(all, context.url))
    }),
    route('GET', '/:id/items/:item', 'An item of a conversation.', async (context, found) => {
      const all = await itemsOf(options, { provider, tenant: context.caller.tenant, found })
      return json(itemNamed(all, context.param('item')).value)
    }),
    route('DELETE', '/:id/items/:item', 'Removes an item.', async (context, found) => {
      const { tenant } = context.caller
      await removeItem(options, { provider, tenant, found, item: context.param('item') })
      return json(shown(found))
    }),
  ]
}

function shown({ id, createdAt, metadata: pairs }: NamedConversation): JsonObject {
  return { id, object: 'conversation', created_at: createdAt, metadata: pairs }
}

interface Item {
  readonly id: string
  readonly value: JsonObject
  /** The message that it is of, and whether it is all of it. */
  readonly entry: string
  readonly isAlone: boolean
}

interface Place {
  readonly provider: Provider
  readonly tenant: string
  readonly found: NamedConversation
}

/** Adds items behind the newest answer; where something else stands there that got none, in a fork. */
async function addItems(
  options: ConversationRoutesOptions,
  { provider, tenant, found, given }: Place & { readonly given: readonly object[] },
): Promise<readonly Item[]> {
  const { threads, conversations, tenants, now, changed } = options
  const { link } = found
  if (given.length === 0) return []
  const add = async (thread: Thread): Promise<{ link: ChainLink; added: readonly Item[] }> => {
    if (link !== undefined && thread.isEmpty) throw noConversation(found.id)
    const expected = link?.messages ?? 0
    const entries = await thread.append(given, { format: provider.name, expected })
    const seq = entries.at(-1)?.seq ?? 0
    const messages = expected + entries.length
    const added = itemsIn(entries, provider, [])
    return { link: { thread: thread.id, seq, messages }, added }
  }
  const id = link?.thread ?? found.thread
  const done = await threads.get(tenant, id).exclusive(async (thread) => {
    const own = (await thread.branch(id)) ?? thread
    // Reads what another process wrote.
    await own.edits()
    try {
      return await add(own)
    } catch (error) {
      if (!OrielError.is(error, 'unexpected-head')) throw error
      return link === undefined ? undefined : add(await own.fork(link.seq))
    }
  })
  const { link: after, added } =
    done ?? (await threads.get(tenant, randomUUID(), { isNew: true }).exclusive(add))
  await conversations.change(tenant, found.id, { link: after })
  tenants.note(tenant, now())
  changed(tenant, after.thread)
  return added
}

/** All items of a conversation, the oldest first. */
async function itemsOf(
  { threads }: ConversationRoutesOptions,
  { provider, tenant, found: { id, link } }: Place,
): Promise<readonly Item[]> {
  if (link === undefined) return []
  return threads.use(tenant, link.thread, async (thread) => {
    if (thread.isEmpty) throw noConversation(id)
    const entries = new Map<number, MessageEntry>()
    for await (const entry of thread.log()) {
      if (entry.seq > link.seq) break
      if (entry.type === 'message' && entry.audience?.now !== false) entries.set(entry.seq, entry)
      if (entry.type === 'mark' && entry.mark === 'exclude') entries.delete(entry.target)
    }
    const { expandTool, shownTools } = thread
    const lookups = expandTool === undefined ? [] : [expandTool, searchToolBeside(expandTool)]
    return itemsIn([...entries.values()], provider, [...lookups, shownTools?.find ?? ''])
  })
}

/** Messages as items of the provider, without calls to our own tools. */
function itemsIn(
  entries: readonly MessageEntry[],
  provider: Provider,
  ownTools: readonly string[],
): readonly Item[] {
  const view = entries.map((entry) => {
    const { role, origin, blocks } = entry
    return { role, origin, blocks, entry }
  })
  const { messages, origins } = provider.encode(view)
  const seen = messages.filter(isObject)
  const ownCalls = new Set(
    seen.filter(({ name }) => ownTools.includes(String(name))).map((item) => item.call_id),
  )
  const counts = Map.groupBy(origins, (origin) => origin.entries[0])
  const ids = new Map(entries.map((entry) => [entry.seq, entry.id]))
  return messages.flatMap((message, at): readonly Item[] => {
    if (!isObject(message)) return []
    if (message.call_id !== undefined && ownCalls.has(message.call_id)) return []
    const { entries: [seq = 0] = [], part = 0 } = origins[at] ?? {}
    const entry = ids.get(seq) ?? ''
    const value = itemOf(message, `msg_${entry}${part === 0 ? '' : `_${part}`}`)
    return [{ id: String(value.id), value, entry, isAlone: counts.get(seq)?.length === 1 }]
  })
}

/** An item as the provider lists it: with an id, and its content as parts. */
function itemOf(item: JsonObject, id: string): JsonObject {
  const own = { id, status: 'completed', ...item }
  if (item.role === undefined) return own
  const type = item.role === 'assistant' ? 'output_text' : 'input_text'
  const { content } = item
  const parts = typeof content === 'string' ? [{ type, text: content }] : content
  return { type: 'message', ...own, content: parts ?? [] }
}

function itemNamed(all: readonly Item[], id: string): Item {
  const found = all.find((one) => one.id === id)
  if (found === undefined) throw refuse(404, 'not-found', `Item with id '${id}' not found.`)
  return found
}

function pageAt(all: readonly Item[], url: URL): JsonObject {
  const { searchParams: query } = url
  const ordered = query.get('order') === 'asc' ? all : all.toReversed()
  const after = query.get('after')
  const from = after === null ? 0 : ordered.indexOf(itemNamed(all, after)) + 1
  const to = from + readCount(url, 'limit', maxItems, maxPage)
  return pageOf(ordered.slice(from, to), { hasMore: to < ordered.length })
}

function pageOf(found: readonly Item[], { hasMore }: { readonly hasMore: boolean }): JsonObject {
  return {
    object: 'list',
    data: found.map(({ value }) => value),
    first_id: found[0]?.id ?? null,
    last_id: found.at(-1)?.id ?? null,
    has_more: hasMore,
  }
}

/** Leaves an item out of what models see from now on; the log keeps it. */
async function removeItem(
  options: ConversationRoutesOptions,
  { item, ...place }: Place & { readonly item: string },
): Promise<void> {
  const { threads, conversations, changed } = options
  const { tenant, found } = place
  const { entry, isAlone } = itemNamed(await itemsOf(options, place), item)
  const { link } = found
  if (link === undefined) throw noConversation(found.id)
  if (!isAlone) {
    const message = `Item '${item}' is one of several of one model step, which cannot be removed alone.`
    throw refuse(400, 'invalid-input', message)
  }
  const seq = await threads.use(tenant, link.thread, async (thread) => {
    await thread.exclude(entry)
    return (await thread.log()).at(-1)?.seq ?? link.seq
  })
  await conversations.change(tenant, found.id, { link: { ...link, seq } })
  changed(tenant, link.thread)
}
