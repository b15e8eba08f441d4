// The naive model: a log as a plain array, folded from scratch, with straightforward code for turns, windows and what is shown.

import type { Block } from '../../src/core/log/block.ts'
import type { EditEntry, Entry, MessageEntry } from '../../src/core/log/entry.ts'
import { isObject, type Json, type JsonObject } from '../../src/core/log/json.ts'
import { shownCheckpointText } from '../../src/core/text/checkpoint.ts'
import type { HistoryPolicy, Policy } from '../../src/policy/schema.ts'

/** The gist of one message of OpenAI's chat: what a person would call its content. */
export interface Gist {
  readonly role: string
  readonly text: string
  readonly calls: readonly string[]
  readonly answers?: string
}

/** Everything that a log says, by rereading all of it. */
export interface Folded {
  readonly log: readonly Entry[]
  readonly messages: readonly MessageEntry[]
  /** Edits that were not undone. */
  readonly live: readonly EditEntry[]
  readonly pinned: ReadonlySet<number>
  readonly excluded: ReadonlySet<number>
  /** Messages that an undone edit had dropped. */
  readonly vetoed: ReadonlySet<number>
  /** Messages that are neither dropped nor excluded. */
  readonly visible: readonly MessageEntry[]
  readonly turn: number
  readonly step: number
  /** The newest policy; none is the same as an empty one. */
  readonly policy: Policy
  /** System messages that came with a resent history. */
  readonly leading: readonly Gist[]
}

export function foldLog(log: readonly Entry[]): Folded {
  const messages = log.filter((entry) => entry.type === 'message')
  const undone = new Set(log.flatMap((entry) => (entry.type === 'undo' ? [entry.edit] : [])))
  const edits = log.filter((entry) => entry.type === 'edit')
  const live = edits.filter(({ id }) => !undone.has(id))
  // What a rule takes back itself, it may do again.
  const byPerson = log.flatMap((entry) =>
    entry.type === 'undo' && entry.rule === undefined ? [entry.edit] : [],
  )
  const taken = edits.filter(({ id }) => byPerson.includes(id))
  const pinned = marked(log, 'pin', 'unpin')
  const excluded = marked(log, 'exclude', 'include')
  return {
    log,
    messages,
    live,
    pinned,
    excluded,
    vetoed: seqsOf(messages.filter(({ seq }) => taken.some((edit) => covers(edit, seq)))),
    visible: visibleOf({ messages, live, pinned, excluded }),
    turn: messages.filter(isTurnStart).length,
    step: 1 + messages.filter(({ role }) => role === 'assistant').length,
    policy: (newestSetting(log, 'policy') ?? {}) as Policy,
    leading: leadingOf(newestSetting(log, 'leading')),
  }
}

/** Messages that are neither dropped nor excluded. */
function visibleOf({
  messages,
  live,
  pinned,
  excluded,
}: Pick<Folded, 'messages' | 'live' | 'pinned' | 'excluded'>): readonly MessageEntry[] {
  return messages.filter((message) => {
    if (excluded.has(message.seq)) return false
    if (!live.some((edit) => covers(edit, message.seq))) return true
    // A pin brings back what was dropped, with the whole exchange around it and the user's words that open its turn.
    const isPinned = ({ seq }: MessageEntry): boolean => pinned.has(seq) && !excluded.has(seq)
    const isOpened = (one: MessageEntry): boolean =>
      isTurnStart(message) && one.turn === message.turn && one.role !== 'system'
    return messages
      .filter(isPinned)
      .some((one) => isOpened(one) || membersOf(messages, one).includes(message))
  })
}

/** What a fork has of a log: its first entries, and all that was done to them later. */
export function forkOf(folded: Folded, at: number): Folded {
  const messages = folded.messages.filter(({ seq }) => seq <= at)
  const gone = folded.messages.filter(({ seq }) => seq > at)
  const newest = unanswered(messages)
  const isCheckpoint = (edit: EditEntry): boolean =>
    'ranges' in edit.target && edit.text !== undefined
  let isBroken = false
  const live = folded.live.filter((edit) => {
    if (!messages.some(({ seq }) => concerns(edit, seq))) return false
    if (edit.seq <= at) return true
    // A summary stands for all that it covers, or is not there; and what the model has not answered is always there.
    const isPartial = edit.text !== undefined && gone.some(({ seq }) => covers(edit, seq))
    const hidesNewest = newest.some(({ seq }) => concerns(edit, seq))
    const isSkipped = isPartial || hidesNewest || (isCheckpoint(edit) && isBroken)
    if (isSkipped && isCheckpoint(edit)) isBroken = true
    return !isSkipped
  })
  const isKept = (seq: number): boolean => seq <= at
  return {
    ...folded,
    messages,
    live,
    pinned: new Set([...folded.pinned].filter(isKept)),
    excluded: new Set([...folded.excluded].filter(isKept)),
    vetoed: new Set([...folded.vetoed].filter(isKept)),
    visible: visibleOf({ ...folded, messages, live }),
  }
}

/** The newest words of a user, the newest calls with their results, and all that came behind them, with the calls of late results. */
function unanswered(messages: readonly MessageEntry[]): readonly MessageEntry[] {
  const newest = messages.findLast(isTurnStart)
  const answer = messages.findLast(({ role }) => role === 'assistant')
  const isExchange = answer !== undefined && callsOf(answer).length > 0
  const later = messages.filter(({ seq }) => seq > (answer?.seq ?? 0))
  return [
    ...(newest ? [newest] : []),
    ...(isExchange ? membersOf(messages, answer) : []),
    ...later.flatMap((message) => membersOf(messages, message)),
  ]
}

/** The turn and the step of each message, counted anew: a result has those of its call. */
export function placesOf(
  messages: readonly MessageEntry[],
): readonly { turn: number; step: number }[] {
  const callers = callersOf(messages)
  const places: { turn: number; step: number }[] = []
  messages.forEach((message, index) => {
    const before = messages.slice(0, index)
    const caller = callers.get(message)
    const turn = [...before, message].filter(isTurnStart).length
    const step = 1 + before.filter(({ role }) => role === 'assistant').length
    const place = caller === undefined ? undefined : places[messages.indexOf(caller)]
    places.push(place ?? { turn, step })
  })
  return places
}

/** The log as a policy's window finds it: what a narrower one dropped since the newest checkpoint is back. */
export function widened(folded: Folded, { history = { policy: 'all' } }: Policy): Folded {
  const { policy = 'lastN', length = 20, preserveSystemMessages = true } = history
  const { maxMessages = 0, keepRecentMessages = 0 } = history
  const count = policy === 'none' ? 1 : Math.max(1, length)
  const isCut = policy === 'none' || (policy === 'lastN' && folded.turn > count)
  const first = isCut ? folded.turn - count + 1 : 0
  const isCheckpoint = ({ target, text }: EditEntry): boolean =>
    'ranges' in target && text !== undefined
  const checkpoint = folded.live.findLast(isCheckpoint)?.seq ?? 0
  const isBack = ({ seq, window }: EditEntry): boolean => {
    if (window === undefined || seq < checkpoint) return false
    if ('turn' in window) return window.turn >= first
    if ('system' in window) return preserveSystemMessages || policy === 'all'
    if (maxMessages === 0) return true
    return maxMessages > window.messages || keepRecentMessages > window.recent
  }
  const live = folded.live.filter((edit) => !isBack(edit))
  return { ...folded, live, visible: visibleOf({ ...folded, live }) }
}

/** The seqs that a window over turns drops from what is visible. Caps on messages are not its business. */
export function droppedByWindow(folded: Folded, history: HistoryPolicy): ReadonlySet<number> {
  const { policy = 'lastN', length = 20, preserveSystemMessages = true } = history
  if (policy === 'all') return new Set()
  const { messages, visible, pinned, vetoed, turn } = folded
  const places = placesOf(messages)
  const newest = messages.findLast(isTurnStart)
  const answered = messages.findLast(({ role }) => role === 'assistant')?.seq ?? 0
  const isUnseen = ({ seq, blocks }: MessageEntry): boolean =>
    seq > answered && blocks.some(({ type }) => type === 'tool-result')
  const isSafe = (message: MessageEntry): boolean =>
    message.seq === newest?.seq ||
    isUnseen(message) ||
    pinned.has(message.seq) ||
    vetoed.has(message.seq)
  const count = policy === 'none' ? 1 : Math.max(1, length)
  // What stands before the first turn stays as long as no turn has to leave.
  const first = policy === 'none' || turn > count ? turn - count + 1 : 0
  const callers = callersOf(messages)
  const unitOf = (message: MessageEntry): readonly MessageEntry[] => {
    const unit = callers.get(message) ?? message
    return visible.filter((other) => (callers.get(other) ?? other) === unit)
  }
  const turnOf = ([opening]: readonly MessageEntry[]): number =>
    places[messages.indexOf(opening as MessageEntry)]?.turn ?? 0
  // What must stay keeps the words that it answers.
  const safeTurns = new Set(
    visible
      .filter(({ role }) => role !== 'system')
      .map(unitOf)
      .filter((unit) => unit.some(isSafe))
      .map(turnOf),
  )
  const dropped = visible.filter((message) => {
    if (message.role === 'system') return !preserveSystemMessages && !isSafe(message)
    const unit = unitOf(message)
    const opensSafe = unit.length === 1 && isTurnStart(message) && safeTurns.has(turnOf(unit))
    return turnOf(unit) < first && !unit.some(isSafe) && !opensSafe
  })
  return seqsOf(dropped)
}

/** What a chat request shows of these messages: exchanges put together, what cannot be answered left out. */
export function shownGists(
  folded: Folded,
  hidden: ReadonlySet<number> = new Set(),
): readonly Gist[] {
  const shown = folded.visible.filter(({ seq }) => !hidden.has(seq) && seq >= startOf(folded))
  const results = resultsOf(folded.messages)
  const findResult = (message: MessageEntry, call: number): FoundResult | undefined => {
    const found = results.get(`${message.seq}:${call}`)
    return found !== undefined && shown.includes(found.holder) ? found : undefined
  }
  const isOpen = (message: MessageEntry): boolean =>
    callsOf(message).some((_, index) => findResult(message, index) === undefined)
  const last = shown.findLast((message) => message.role !== 'tool')
  const gists = shown.flatMap((message): readonly Gist[] => {
    if (message.role === 'tool' || (message === last && isOpen(message))) return []
    const calls = callsOf(message)
    const found = calls.flatMap((_, index) => findResult(message, index) ?? [])
    const lacking = calls.filter((_, index) => findResult(message, index) === undefined)
    return [
      { role: message.role, text: textOf(blocksShown(folded, message)), calls },
      ...found.sort(inOrder).map((result) => resultShown(folded, result)),
      ...lacking.map(missing),
    ]
  })
  return [...folded.leading, ...withCheckpoint(folded, gists)].map(({ text, ...rest }) => ({
    ...rest,
    text: text.toWellFormed(),
  }))
}

/** What a request shows that says what stands around it: it has no expand tool, so no form offers one. */
export function framedGists(
  gists: readonly Gist[],
  { system }: { readonly system?: unknown },
): readonly Gist[] {
  return system === undefined ? gists : gists.map(withoutHints)
}

function withoutHints(gist: Gist): Gist {
  const text = gist.text
    .replaceAll(/\bexpand (e[0-9a-z]{3,})(?:, by lines or by query)?/g, 'id $1')
    .replaceAll(/Agent can request (?:full )?expansion if needed: (e[0-9a-z]{3,})/g, 'id $1')
  return { ...gist, text }
}

/** The newest summary of what gave way, right after the first user's words. */
function withCheckpoint({ live, excluded }: Folded, gists: readonly Gist[]): readonly Gist[] {
  const dropEdits = live.filter((edit) => 'ranges' in edit.target)
  const checkpoint = dropEdits.findLast((edit) => edit.text !== undefined)
  if (checkpoint === undefined) return gists
  const finalEdits = live.filter(({ isFinal }) => isFinal === true)
  // Without what was excluded since.
  const logged = shownCheckpointText({ dropEdits, excluded, finalEdits }, checkpoint) ?? ''
  // No request of these models has the expand tool.
  const text = logged.replace(/; expand ([^;\]]+)\]$/, '; messages $1]')
  const user = gists.findIndex(({ role }) => role === 'user')
  const lead = gists.findIndex(({ role }) => role !== 'system')
  const at = user === -1 ? Math.max(0, lead) : user + 1
  return gists.toSpliced(at, 0, { role: 'user', text, calls: [] })
}

/** The blocks of a message with their texts as the newest edits give them. Pinned ones are verbatim. */
function blocksShown(folded: Folded, message: MessageEntry): readonly Block[] {
  return message.blocks.map((block, index) => {
    const text = newText(folded, message, index)
    return block.type === 'text' && text !== undefined ? { ...block, text } : block
  })
}

function resultShown(folded: Folded, { holder, block, gist }: FoundResult): Gist {
  return { ...gist, text: newText(folded, holder, block) ?? gist.text }
}

function newText(
  { live, pinned }: Folded,
  { seq }: MessageEntry,
  block: number,
): string | undefined {
  if (pinned.has(seq)) return undefined
  return live.findLast(
    ({ target }) => 'seq' in target && target.seq === seq && target.block === block,
  )?.text
}

/** Where the conversation starts: system texts that come with a history stand for those at the start of the log. */
function startOf({ messages, leading }: Folded): number {
  if (leading.length === 0) return 0
  return messages.find(({ role }) => role !== 'system')?.seq ?? Infinity
}

/** Whether every call has its result, and nothing stands before the first user's words. */
export function isComplete(folded: Folded): boolean {
  const results = resultsOf(folded.messages)
  const isAnswered = (message: MessageEntry): boolean =>
    callsOf(message).every((_, index) => {
      const found = results.get(`${message.seq}:${index}`)
      return found !== undefined && folded.visible.includes(found.holder)
    })
  const first = folded.visible.find(({ role }) => role !== 'system')
  return first?.role === 'user' && folded.visible.every(isAnswered)
}

/** The gists of a message of the log, whatever is shown of it. */
export function gistsOf(message: MessageEntry): readonly Gist[] {
  if (message.role === 'tool') return resultsIn(message).map(({ gist }) => gist)
  return [{ role: message.role, text: textOf(message.blocks), calls: callsOf(message) }]
}

/** The gist of a foreign chat message. */
export function gistOfChat(message: Json): Gist {
  const { role, content, tool_calls: calls, tool_call_id: answers } = message as JsonObject
  const texts = Array.isArray(content) ? content.map((part) => textIn(part)) : [content ?? '']
  return {
    role: String(role),
    calls: Array.isArray(calls) ? calls.map((call) => String((call as JsonObject).id)) : [],
    ...(answers === undefined ? {} : { answers: String(answers) }),
    text: texts.join(''),
  }
}

/** Ids of calls that no result has answered yet. */
export function waitingCalls(messages: readonly MessageEntry[]): readonly string[] {
  const results = resultsOf(messages)
  return messages.flatMap((message) =>
    callsOf(message).filter((_, index) => !results.has(`${message.seq}:${index}`)),
  )
}

export function isTurnStart({ role, origin }: MessageEntry): boolean {
  return role === 'user' && origin === 'user'
}

/** Whether an edit drops the message at `seq`. */
export function covers(edit: EditEntry, seq: number): boolean {
  const { target } = edit
  return 'ranges' in target && target.ranges.some(([from, to]) => from <= seq && seq <= to)
}

function concerns(edit: EditEntry, seq: number): boolean {
  return covers(edit, seq) || ('seq' in edit.target && edit.target.seq === seq)
}

interface FoundResult {
  readonly holder: MessageEntry
  /** Where in its holder the result is. */
  readonly block: number
  readonly gist: Gist
}

const knownResults = new WeakMap<readonly MessageEntry[], ReadonlyMap<string, FoundResult>>()

/** The result of each call, by the caller's seq and the call's index in it. Found once for each list. */
function resultsOf(messages: readonly MessageEntry[]): ReadonlyMap<string, FoundResult> {
  const known = knownResults.get(messages) ?? findResults(messages)
  knownResults.set(messages, known)
  return known
}

function findResults(messages: readonly MessageEntry[]): ReadonlyMap<string, FoundResult> {
  const found = new Map<string, FoundResult>()
  for (const holder of messages) {
    for (const { block, gist } of resultsIn(holder)) {
      const isWaiting = (message: MessageEntry) => (id: string, at: number) =>
        id === gist.answers && !found.has(`${message.seq}:${at}`)
      const caller = messages.findLast(
        (message) => message.seq < holder.seq && callsOf(message).some(isWaiting(message)),
      )
      if (caller === undefined) continue
      const index = callsOf(caller).findIndex(isWaiting(caller))
      found.set(`${caller.seq}:${index}`, { holder, block, gist })
    }
  }
  return found
}

/** The assistant message that each message with results answers first. */
function callersOf(messages: readonly MessageEntry[]): ReadonlyMap<MessageEntry, MessageEntry> {
  const callers = new Map<MessageEntry, MessageEntry>()
  for (const [key, { holder }] of resultsOf(messages)) {
    const caller = messages.find(({ seq }) => seq === Number.parseInt(key, 10)) as MessageEntry
    if (!callers.has(holder)) callers.set(holder, caller)
  }
  return callers
}

/** All messages of the exchange that a message belongs to. */
function membersOf(
  messages: readonly MessageEntry[],
  message: MessageEntry,
): readonly MessageEntry[] {
  const callers = callersOf(messages)
  const unit = callers.get(message) ?? message
  return messages.filter((other) => (callers.get(other) ?? other) === unit)
}

function marked(log: readonly Entry[], on: string, off: string): ReadonlySet<number> {
  const seqs = new Set<number>()
  for (const entry of log) {
    if (entry.type !== 'mark') continue
    if (entry.mark === on) seqs.add(entry.target)
    if (entry.mark === off) seqs.delete(entry.target)
  }
  return seqs
}

function newestSetting(log: readonly Entry[], name: string): Json | undefined {
  const entry = log.findLast((one) => one.type === 'setting' && one.name === name)
  return entry?.type === 'setting' ? entry.value : undefined
}

function leadingOf(value: Json | undefined): readonly Gist[] {
  if (!Array.isArray(value)) return []
  return value.map((draft: JsonObject) => {
    const content = draft.content as string | readonly Block[]
    const text = typeof content === 'string' ? content : textOf(content)
    return { role: 'system', text, calls: [] }
  })
}

function textOf(blocks: readonly Block[]): string {
  return blocks.map((block) => (block.type === 'text' ? block.text : '')).join('')
}

function callsOf({ role, blocks }: MessageEntry): readonly string[] {
  if (role !== 'assistant') return []
  return blocks.flatMap((block) => (block.type === 'tool-call' ? [block.callId] : []))
}

function resultsIn({ blocks }: MessageEntry): readonly { block: number; gist: Gist }[] {
  return blocks.flatMap((result, block) => {
    if (result.type !== 'tool-result') return []
    const text = typeof result.content === 'string' ? result.content : textOf(result.content)
    return [{ block, gist: { role: 'tool', calls: [], answers: result.callId, text } }]
  })
}

/** Results come in the order of the log. */
function inOrder(one: FoundResult, other: FoundResult): number {
  return one.holder.seq - other.holder.seq || one.block - other.block
}

function missing(answers: string): Gist {
  return { role: 'tool', calls: [], answers, text: '[No result was recorded for this call.]' }
}

function seqsOf(messages: readonly MessageEntry[]): ReadonlySet<number> {
  return new Set(messages.map(({ seq }) => seq))
}

function textIn(part: unknown): string {
  return isObject(part) && typeof part.text === 'string' ? part.text : ''
}
