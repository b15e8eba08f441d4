// MCP tools for models: expand, search and read, in the caller's threads. Results are bounded, so
// that reading cannot refill a context that was just reduced.

import { type CallToolResult, McpServer } from '@modelcontextprotocol/server'
import type { ExpandOptions, ReadMessage, Thread, ThreadKey } from 'oriel'
import { z } from 'zod'
import type { ThreadApi } from '../api/thread-api.ts'
import type { Caller } from '../http/auth.ts'
import { refusalOf } from '../http/errors.ts'
import { damageOf } from '../threads/damage.ts'
import { version } from '../version.ts'

export interface ThreadToolsOptions {
  readonly api: ThreadApi
  /** Reports the code of an internal failure. */
  readonly failed: (code: string) => void
}

/**
 * Maximum characters of one result: about ten thousand tokens, where clients start to warn or
 * truncate.
 */
const maxAnswer = 40_000
/** Maximum characters per message when several are read; the rest can be expanded by id. */
const maxMessage = 4000
const maxMessages = 50
const maxMatches = 50
const defaultMatches = 10
/** Characters of context around a match. */
const around = 120
/** Time budget of one search; after it, the result says where to continue. */
const searchMs = 3000
/** Maximum threads per search. */
const maxThreads = 20

const moreThreads =
  'There may be more: name a thread to search all of it, or search again with `after` for older threads.'

const thread = z.string().min(1).max(200)
const position = z.number().int().min(1).max(Number.MAX_SAFE_INTEGER)
const range = z.tuple([z.number().int().min(0), z.number().int().min(0)])

const expandInput = z.strictObject({
  thread: thread.describe('The id of the thread.'),
  id: z
    .string()
    .min(1)
    .max(200)
    .describe('The id that the placeholder names, for example e7k2, or a range: e1ab to e9cd.'),
  lines: range.optional().describe('First and last line, 0-based, inclusive.'),
  chars: range.optional().describe('First and last character, 0-based, inclusive.'),
  items: range.optional().describe('First and last item of a JSON array, 0-based, inclusive.'),
  query: z.string().min(1).max(1000).optional().describe('Only lines that contain this text.'),
  reason: z.string().max(1000).optional().describe('Why it is needed; kept for people.'),
})

const searchInput = z.strictObject({
  query: z.string().min(1).max(200).describe('The text to find, whatever its case.'),
  thread: thread.optional().describe('Only this thread. Without it, the most recent threads.'),
  from: position.optional().describe('With a thread: the position (seq) to begin at.'),
  after: z
    .string()
    .min(1)
    .max(4000)
    .optional()
    .describe('Without a thread: `after` of the last answer, to go on with older threads.'),
  limit: z.number().int().min(1).max(maxMatches).optional().describe('Matches, at most. 10.'),
})

const readInput = z.strictObject({
  thread: thread.describe('The id of the thread.'),
  from: position.optional().describe('The first position (seq). 1 unless given.'),
  to: position.optional().describe('The last position (seq).'),
  limit: z.number().int().min(1).max(maxMessages).optional().describe('Messages, at most. 50.'),
})

const annotations = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
}

const instructions =
  'Threads are conversations whose older messages are shortened to save tokens. Nothing is lost: a placeholder such as [Omitted: ...] names an id (e7k2), and expand_message shows the original. Where you do not know the id, find it with search_thread. Use read_thread to read messages in order. The id of a thread is in the header x-oriel-thread of every answer of the gateway, and in the matches of search_thread.'

/** An MCP server for one caller. It sees exactly the threads that the caller may see. */
export function createThreadTools(options: ThreadToolsOptions, caller: Caller): McpServer {
  const { api } = options
  const server = new McpServer({ name: 'oriel', version }, { instructions })
  const answer = async (work: () => Promise<CallToolResult>): Promise<CallToolResult> => {
    try {
      return await work()
    } catch (error) {
      return refused(error, options)
    }
  }
  server.registerTool(
    'expand_message',
    {
      title: 'Expand a shortened message',
      description:
        'Shows the original of a message or tool result that was shortened in a thread, by the id that its placeholder names. Ask for a part where you can: lines, items of a JSON array, or only the lines that contain a query.',
      inputSchema: expandInput,
      annotations,
    },
    (input) => answer(() => expand(api, caller, input)),
  )
  server.registerTool(
    'search_thread',
    {
      title: 'Search threads',
      description:
        'Finds messages that contain a text, in one thread or in the most recent ones, also where they are shortened or left out now. Answers with the id and position of each match and the words around it; read more with expand_message.',
      inputSchema: searchInput,
      annotations,
    },
    (input) => answer(() => search(api, caller, input)),
  )
  server.registerTool(
    'read_thread',
    {
      title: 'Read a thread',
      description:
        'Reads the messages of a thread in order, in their original words. Long messages are cut; expand_message shows them whole. Where there is more, `next` is the position to go on from.',
      inputSchema: readInput,
      annotations,
    },
    (input) => answer(() => read(api, caller, input)),
  )
  return server
}

async function expand(
  api: ThreadApi,
  caller: Caller,
  { thread: name, id, ...rest }: z.infer<typeof expandInput>,
): Promise<CallToolResult> {
  const { key } = await api.locate(caller, name)
  const given = Object.entries(rest).filter(([, value]) => value !== undefined)
  // The schema has the same fields.
  const options = Object.fromEntries(given) as ExpandOptions
  const found = await api.open(key, (own) => own.expand(id, options))
  return found.ok ? text(cut(found.text, maxAnswer)) : failure(found.reason)
}

interface Match {
  readonly thread: string
  readonly id: string
  readonly seq: number
  readonly turn: number
  readonly role: string
  readonly tool?: string
  readonly text: string
}

async function search(
  api: ThreadApi,
  caller: Caller,
  input: z.infer<typeof searchInput>,
): Promise<CallToolResult> {
  const { query, thread: name, from = 1, limit = defaultMatches } = input
  const matches: Match[] = []
  if (name !== undefined) {
    const deadline = performance.now() + searchMs
    const { key } = await api.locate(caller, name)
    const next = await find(api, key, { query, from, limit, deadline, matches })
    return structured({ matches, ...(next === undefined ? {} : { next }) })
  }
  const { threads, cursor } = await api.threads(caller, {
    limit: maxThreads,
    search: query,
    after: input.after ?? null,
  })
  // Listing the threads may take long, so reading has its own time budget.
  const end = performance.now() + searchMs
  const cut: { readonly thread: string; readonly next: number }[] = []
  let after: string | undefined
  for (const { key, cursor: own } of threads) {
    if (matches.length >= limit || performance.now() > end) break
    const asked = { query, from: 1, limit, deadline: end, matches }
    const next = await find(api, key, asked).catch(unlessDamaged)
    if (next !== undefined) cut.push({ thread: key.thread, next })
    after = own
  }
  const isAll = after === threads.at(-1)?.cursor
  const more = isAll ? cursor : after
  return structured({
    matches,
    ...(cut.length === 0 ? {} : { unfinished: cut }),
    ...(cut.length === 0 && more === undefined ? {} : { more: moreThreads }),
    ...(more === undefined ? {} : { after: more }),
  })
}

interface Find {
  readonly query: string
  readonly from: number
  readonly limit: number
  readonly deadline: number
  /** Collects the matches. */
  readonly matches: Match[]
}

/** Searches one thread. Returns where to continue, if it did not reach the end. */
function find(
  api: ThreadApi,
  key: ThreadKey,
  { query, from, limit, deadline, matches }: Find,
): Promise<number | undefined> {
  const wanted = query.toLowerCase()
  const search = async (own: Thread): Promise<number | undefined> => {
    for await (const message of own.read({ from })) {
      if (matches.length >= limit || performance.now() > deadline) return message.seq
      const at = message.text?.toLowerCase().indexOf(wanted) ?? -1
      if (at < 0) continue
      const { id, seq, turn, role, tool } = message
      matches.push({
        thread: key.thread,
        id,
        seq,
        turn,
        role,
        ...(tool === undefined ? {} : { tool }),
        text: snippet(message.text ?? '', at, wanted.length),
      })
    }
    return undefined
  }
  return api.open(key, search, { isLong: true })
}

/** Treats a damaged thread as having no more matches. */
function unlessDamaged(error: unknown): undefined {
  if (damageOf(error) === undefined) throw error
}

function snippet(whole: string, at: number, length: number): string {
  const start = Math.max(0, at - around)
  const end = Math.min(whole.length, at + length + around)
  const part = whole.slice(start, end).toWellFormed()
  return `${start > 0 ? '...' : ''}${part}${end < whole.length ? '...' : ''}`
}

async function read(
  api: ThreadApi,
  caller: Caller,
  { thread: name, from = 1, to, limit = maxMessages }: z.infer<typeof readInput>,
): Promise<CallToolResult> {
  const { key, info } = await api.locate(caller, name)
  const last = Math.min(to ?? info.version, info.version)
  const readOn = (own: Thread): Promise<Page> => readPage(own, { from, to: last, limit })
  const page = await api.open(key, readOn, { isLong: true })
  return structured({ thread: key.thread, ...page, last })
}

interface Page {
  readonly messages: readonly object[]
  /** Where to continue; absent at the end. */
  readonly next?: number
}

async function readPage(
  own: Thread,
  { from, to, limit }: { readonly from: number; readonly to: number; readonly limit: number },
): Promise<Page> {
  const messages: object[] = []
  let size = 0
  if (from > to) return { messages }
  for await (const message of own.read({ from, to })) {
    const shown = shownOf(message)
    const length = JSON.stringify(shown).length
    if (messages.length > 0 && (messages.length >= limit || size + length > maxAnswer)) {
      return { messages, next: message.seq }
    }
    messages.push(shown)
    size += length
  }
  return { messages }
}

function shownOf({ id, seq, turn, role, kind, tool, text: whole }: ReadMessage): object {
  return {
    id,
    seq,
    turn,
    role,
    ...(kind === undefined ? {} : { kind }),
    ...(tool === undefined ? {} : { tool }),
    text: whole === undefined ? '[not preserved]' : cut(whole, maxMessage),
  }
}

function cut(whole: string, most: number): string {
  if (whole.length <= most) return whole
  const left = whole.length - most
  return `${whole.slice(0, most).toWellFormed()}\n[... ${left} more characters; ask for a part with lines, chars or query ...]`
}

function text(value: string): CallToolResult {
  return { content: [{ type: 'text', text: value.toWellFormed() }] }
}

function structured(value: object): CallToolResult {
  return text(JSON.stringify(value))
}

function failure(reason: string): CallToolResult {
  return { ...text(reason), isError: true }
}

/** An error message for the model. Messages from other systems are not shown. */
function refused(error: unknown, { failed }: ThreadToolsOptions): CallToolResult {
  const { status, code, message } = refusalOf(error)
  if (status >= 500) failed(code)
  return failure(message)
}
