// A client that resends its whole history: grown, retried, truncated, edited or altered.

import { expect } from 'vitest'
import type { MessageEntry } from '../../src/core/entry.ts'
import { equalJson, isObject, type JsonObject } from '../../src/core/json.ts'
import type { FormatName } from '../../src/formats/format.ts'
import type { SyncResult } from '../../src/thread/thread.ts'
import { type Action, sayAll } from './action.ts'
import { type Folded, foldLog, type Gist, gistsOf } from './naive.ts'
import type { Change, Request } from './operations.ts'
import { linesOf, type Session } from './session.ts'
import { hasNeighbours, type Piece, type Saying, write } from './talk.ts'

type SyncRequest = Request & { readonly type: 'sync' }

const leadings = ['', 'You are Ann.', 'You are Bob.']

export function syncAction(session: Session, request: SyncRequest, folded: Folded): Action {
  const sayings = resent(session, request, folded)
  const isMerged = hasNeighbours(sayings, 'assistant') || hasNeighbours(sayings, 'tool')
  const isAltered = request.change.kind === 'altered'
  const format = isMerged || isAltered ? 'openai-chat' : request.format
  const leading: readonly Saying[] =
    request.leading === 0
      ? []
      : [{ speaker: 'system', text: leadings[request.leading] as string, calls: [] }]
  const written = write([...leading, ...sayings], format)
  const history =
    request.change.kind === 'altered'
      ? written.map((message) => altered(message, (request.change as { how: number }).how))
      : written
  let result: SyncResult | undefined
  let branches = new Map<string, readonly Gist[]>()
  const first = session.thread(request.who).id
  return {
    async run() {
      if (sayings.length === 0) return
      branches = await histories(session)
      result = await session.thread(request.who).sync(history, { format })
    },
    async verify(before) {
      if (result === undefined) return
      const joined = branches.get(result.thread)
      session.branches.add(result.thread)
      const after = foldLog(await session.log(result.thread))
      const said = sayings.map(gistOf)
      expect(historyOf(after)).toEqual(said)
      // Only a history that continues no branch may begin a new one, and only a branch it continues is taken.
      const isContinuing = [...branches.values()].some((branch) => isPrefix(branch, said))
      expect(result.isForked).toBe(!isContinuing)
      if (isPrefix(historyOf(before), said)) expect(result.thread).toBe(first)
      if (joined !== undefined) expect(isPrefix(joined, said)).toBe(true)
      await verifyTwice(session, request, { history, format, result })
    },
  }
}

/** What a client has of a log: what Oriel or its host added is not its own, and leading system texts are part of the frame. */
export function historyOf({ messages }: Pick<Folded, 'messages'>): readonly Gist[] {
  const own = messages.filter(({ origin }) => origin !== 'host' && origin !== 'plugin')
  const start = own.findIndex(({ role }) => role !== 'system')
  return start === -1 ? [] : own.slice(start).flatMap(gistsOf)
}

async function verifyTwice(
  session: Session,
  request: SyncRequest,
  {
    history,
    format,
    result,
  }: { history: readonly unknown[]; format: FormatName; result: SyncResult },
): Promise<void> {
  const lines = linesOf(await session.log(result.thread))
  const again = { thread: result.thread, appended: 0, isForked: false }
  const thread = session.thread(request.who)
  expect(await thread.sync(history, { format })).toMatchObject(again)
  expect(linesOf(await session.log(result.thread))).toEqual(lines)
}

async function histories(session: Session): Promise<Map<string, readonly Gist[]>> {
  const found = new Map<string, readonly Gist[]>()
  for (const id of session.branches) found.set(id, historyOf(foldLog(await session.log(id))))
  return found
}

function resent(session: Session, request: SyncRequest, folded: Folded): readonly Saying[] {
  const { change, pieces } = request
  const own = folded.messages.filter(({ origin }) => origin !== 'host' && origin !== 'plugin')
  const start = own.findIndex(({ role }) => role !== 'system')
  const history = start === -1 ? [] : own.slice(start)
  const kept = history.slice(0, keptCount(change, history.length))
  const fresh: readonly Piece[] =
    change.kind === 'edited' && kept.length < history.length
      ? [{ kind: 'user', flavour: 0, calls: 1 }, ...pieces]
      : pieces
  const talk = sayAll(session, fresh.filter(isClients), kept)
  const sayings = [...kept.flatMap(sayingsOf), ...talk]
  const begin = sayings.findIndex(({ speaker }) => speaker !== 'system')
  return begin === -1 ? [] : sayings.slice(begin)
}

function keptCount(change: Change, length: number): number {
  if (change.kind === 'truncated') return change.keep % (length + 1)
  if (change.kind === 'edited') return length === 0 ? 0 : change.at % length
  return length
}

function isClients({ kind }: Piece): boolean {
  return kind !== 'note'
}

function sayingsOf(message: MessageEntry): readonly Saying[] {
  const reasoning = message.blocks.find((block) => block.type === 'reasoning')?.text
  return gistsOf(message).map(({ role, text, calls, answers }) => ({
    // The roles of clients are the speakers of sayings.
    speaker: role as Saying['speaker'],
    text,
    calls,
    ...(answers === undefined ? {} : { answers }),
    ...(reasoning === undefined ? {} : { reasoning }),
  }))
}

function gistOf({ speaker, text, calls, answers }: Saying): Gist {
  return { role: speaker, text, calls, ...(answers === undefined ? {} : { answers }) }
}

/** The same assistant message as clients and servers write it again. */
function altered(message: JsonObject, how: number): JsonObject {
  if (message.role !== 'assistant' || message.type !== undefined) return message
  switch (how) {
    case 0: {
      const { reasoning_content: _reasoning, ...rest } = message
      return rest
    }
    case 1:
      return { ...message, refusal: null, audio: null, annotations: [] }
    case 2:
      return { ...message, content: message.content ?? '' }
    case 3:
      return { ...message, content: splitText(message.content) }
    default:
      return { ...message, ...reserialised(message) }
  }
}

function splitText(content: unknown): JsonObject[] | null {
  if (typeof content !== 'string') return null
  const parts = [content.slice(0, 6), content.slice(6)]
  return parts.map((text) => ({ type: 'text', text }))
}

/** Arguments with other spaces and another order of keys. */
function reserialised(message: JsonObject): JsonObject {
  const calls = message.tool_calls
  if (!Array.isArray(calls)) return {}
  const again = calls.map((call: JsonObject) => {
    const { function: made } = call
    if (!isObject(made)) return call
    const input = JSON.parse(String(made.arguments)) as JsonObject
    const reversed = Object.fromEntries(Object.entries(input).reverse())
    return { ...call, function: { ...made, arguments: JSON.stringify(reversed, null, 2) } }
  })
  return { tool_calls: again as unknown as JsonObject[] }
}

function isPrefix(short: readonly Gist[], long: readonly Gist[]): boolean {
  return short.every((gist, index) => equalJson(gist, long[index]))
}
