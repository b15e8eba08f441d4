// MCP tools for models: expand, search and read, in the caller's threads. Results are bounded, so
// that reading cannot refill a context that was just reduced.

import { type CallToolResult, McpServer } from '@modelcontextprotocol/server'
import type { ExpandOptions, ReadMessage, Thread } from 'oriel'
import { z } from 'zod'
import type { ThreadApi } from '../api/thread-api.ts'
import type { Caller } from '../http/auth.ts'
import { refusalOf } from '../http/errors.ts'
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
  query: z
    .string()
    .min(1)
    .max(1000)
    .describe('What to find, in words: names, identifiers, paths, numbers, or a question.'),
  thread: thread.optional().describe('Only this thread. Without it, all of your threads.'),
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
        'Finds the messages that match a query best, in one thread or in all of them, also where they are shortened or left out now. Answers with the id and position of each match and the passage that matches, the best first; read more with expand_message.',
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

/** Ranked: what matches best comes first, wherever it stands. */
async function search(
  api: ThreadApi,
  caller: Caller,
  { query, thread: name, limit = defaultMatches }: z.infer<typeof searchInput>,
): Promise<CallToolResult> {
  const asked = name === undefined ? { query, limit } : { query, limit, thread: name }
  const found = await api.search(caller, asked)
  const matches: object[] = []
  let size = 0
  for (const { thread: own, id, seq, role, tool, text: said, score } of found) {
    const match = { thread: own, id, seq, role, ...(tool && { tool }), score, text: said }
    size += JSON.stringify(match).length
    if (matches.length > 0 && size > maxAnswer) break
    matches.push(match)
  }
  return structured({ matches })
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
