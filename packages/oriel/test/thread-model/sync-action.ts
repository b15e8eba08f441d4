// A client that resends its whole history: grown, retried, truncated, edited or altered.

import { expect } from 'vitest'
import type { MessageEntry } from '../../src/core/log/entry.ts'
import { equalJson, isObject, type JsonObject } from '../../src/core/log/json.ts'
import type { FormatName } from '../../src/providers/format.ts'
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
  const said = sayings.map(gistOf)
  let result: SyncResult | undefined
  let branches = new Map<string, readonly Gist[]>()
  return {
    async run() {
      if (sayings.length === 0) return
      branches = await histories(session)
      result = await session.thread(request.who).sync(history, { format })
    },
    async verify() {
      if (result === undefined) return
      const { thread, isForked } = result
      const joined = branches.get(thread)
      const continued = [...session.branches]
        .map((id) => branches.get(id) ?? [])
        .filter((branch) => isContinued(branch, said))
      // Only a history that continues no branch begins a new one; else the longest that it continues is taken.
      expect(isForked).toBe(joined === undefined)
      if (continued.length > 0) expect(isForked).toBe(false)
      if (joined !== undefined) {
        expect(isContinued(joined, said)).toBe(true)
        expect(joined.length).toBe(
          Math.max(joined.length, ...continued.map(({ length }) => length)),
        )
      }
      session.branches.add(thread)
      const after = historyOf(foldLog(await session.log(thread)))
      const kept = joined ?? after.slice(0, sharedLength(after, branches))
      expect(after).toEqual([...kept, ...said.slice(kept.length)])
      expect(isContinued(after, said)).toBe(true)
      await verifyTwice(session, request, { history, format, result })
    },
  }
}

/** How much of a new branch another one had before. */
function sharedLength(
  history: readonly Gist[],
  branches: ReadonlyMap<string, readonly Gist[]>,
): number {
  const shared = [...branches.values()].map((branch) => {
    const end = branch.findIndex((gist, index) => !equalJson(gist, history[index]))
    return end === -1 ? branch.length : end
  })
  return Math.max(0, ...shared)
}

/** What a client has of a log: what Oriel or its host added is not its own, and leading system texts are part of the frame. */
function historyOf({ messages }: Pick<Folded, 'messages'>): readonly Gist[] {
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

/** What every branch holds, also those that a failed request left behind. */
async function histories(session: Session): Promise<Map<string, readonly Gist[]>> {
  const found = new Map<string, readonly Gist[]>()
  for (const id of session.branches) found.set(id, [])
  const threads = await session.faulty.store.list(session.tenant)
  for (const { thread } of threads) found.set(thread, historyOf(foldLog(await session.log(thread))))
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
  const sayings = [...revised(session, change, kept.flatMap(sayingsOf)), ...talk]
  const begin = sayings.findIndex(({ speaker }) => speaker !== 'system')
  return begin === -1 ? [] : sayings.slice(begin)
}

/** The history with one result rewritten. */
function revised(session: Session, change: Change, sayings: readonly Saying[]): readonly Saying[] {
  const results = sayings.filter(({ speaker }) => speaker === 'tool')
  if (change.kind !== 'revised' || results.length === 0) return sayings
  const meant = results[change.at % results.length]
  const other = session.speech.say({ kind: 'user', flavour: 0, calls: 1 }, [])
  const text = change.isShort ? 'ok' : `${other[0]?.text} ${meant?.text}`
  return sayings.map((saying) => (saying === meant ? { ...saying, text } : saying))
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
  const end = content.indexOf(' ')
  const parts = [content.slice(0, end), content.slice(end)]
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

/** Whether a history says all that a branch holds, and nothing else before it continues. */
function isContinued(branch: readonly Gist[], history: readonly Gist[]): boolean {
  return branch.every((gist, index) => isSame(gist, history[index]))
}

/** A result of at most half the length is less of the same. */
function isSame(logged: Gist, sent: Gist | undefined): boolean {
  if (equalJson(logged, sent)) return true
  if (sent === undefined || logged.answers === undefined) return false
  return logged.answers === sent.answers && sent.text.trim().length * 2 <= logged.text.trim().length
}
