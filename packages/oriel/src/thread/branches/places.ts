// Which of the client's messages a message of a view stands for: the match of a resent history knows the entries of each message, the
// encoder those of each message that it wrote, and the two are joined by entry.

import type { MessageEntry } from '../../core/log/entry.ts'
import { equalJson, isJsonObject, type Json } from '../../core/log/json.ts'
import type { Format } from '../../providers/format.ts'
import type { ViewOrigin } from '../view/view.ts'
import { type Matchable, saysAll } from './match.ts'
import type { HistoryParts } from './read-history.ts'
import { type KeyMatch, type Met, sentOf } from './sync.ts'

/** Messages of a client, from one position to before another. */
interface SentRange {
  readonly from: number
  readonly to: number
}

/** Messages of a client, and what they are in the log. */
export interface ResentMessage extends SentRange, Met {}

/** What a client resent, by its positions in the client's list. */
export interface ResentHistory {
  /** System messages in front of the conversation. */
  readonly leading: readonly SentRange[]
  readonly messages: readonly ResentMessage[]
}

/** What a history became that was just written. */
export function resentHistory(
  { decoded, leading, sent }: HistoryParts,
  { meeting, appended }: { readonly meeting: KeyMatch; readonly appended: readonly MessageEntry[] },
): ResentHistory {
  const { matched, met } = meeting
  // Some formats have ids for messages, and what has a known id is not appended again.
  const isAll = appended.length === sent.length - matched
  const messages: ResentMessage[] = []
  decoded.slice(leading.length).forEach(({ from, to }, index) => {
    const entry = isAll ? appended[index - matched] : undefined
    const own = met[index] ?? (entry && asAppended(entry, sent[index]?.message))
    const { seqs, isSame } = own ?? { seqs: [], isSame: false }
    const before = messages.at(-1)
    if (before === undefined || before.to <= from) messages.push({ from, to, seqs, isSame })
    else {
      // One message of the client may be two in the log.
      const all = [...before.seqs, ...seqs]
      messages[messages.length - 1] = {
        ...{ from: before.from, to, seqs: all },
        isSame: before.isSame && isSame,
      }
    }
  })
  return { leading: decoded.slice(0, leading.length), messages }
}

function asAppended(entry: MessageEntry, sent: Matchable | undefined): Met {
  return { seqs: [entry.seq], isSame: sent !== undefined && saysAll(entry, sent) }
}

/** Beside the results of `sync` and `request`, which promise nothing of it. */
const known = new WeakMap<object, ResentHistory>()

export function noteResent(result: object, resent: ResentHistory): void {
  known.set(result, resent)
}

/** What the history of a `sync` or `request` became. */
export function resentIn(result: object): ResentHistory {
  return known.get(result) ?? { leading: [], messages: [] }
}

/** Which of the client's messages a message stands for. */
export interface Place {
  /** Position of the client's message. @default none is known */
  readonly from?: number
  /** Whether both say the same, cache marks aside. */
  readonly isSame: boolean
}

/** Messages of a view, as they would be sent, and the client's own. */
export interface PlacedView {
  readonly messages: readonly Json[]
  readonly origins: readonly ViewOrigin[]
  readonly sent: readonly Json[]
  readonly format: Format
}

/** The places of a view's messages in the client's list. */
export function placesOf(view: PlacedView, resent: ResentHistory): readonly Place[] {
  const places: Place[] = view.messages.map(() => nowhere)
  const { groups, mixed, leading } = grouped(view.origins, resent)
  leading.forEach((index, position) => {
    const own = resent.leading[position]
    if (own === undefined || own.to - own.from !== 1) return
    places[index] = { from: own.from, isSame: view.origins[index]?.isWhole === true }
  })
  for (const [index, message] of mixed) places[index] = { from: message.to - 1, isSame: false }
  const beside = new Set(mixed.values())
  for (const [message, shown] of groups) {
    const isAlone = !beside.has(message)
    const all =
      isAlone && isShownWhole(message, shown, view.origins)
        ? shown.map((_, position) => ({ from: message.from + position, isSame: true }))
        : placesAmong(message, shown, view)
    shown.forEach((index, position) => {
      places[index] = all[position] as Place
    })
  }
  return places
}

const nowhere: Place = { isSame: false }

/** The view's messages, by position, for each of the client's that they come from. */
interface Grouped {
  readonly groups: ReadonlyMap<ResentMessage, readonly number[]>
  /** Those that show more than one of the client's messages, or something beside it, with the last of these. */
  readonly mixed: ReadonlyMap<number, ResentMessage>
  /** System messages in front. */
  readonly leading: readonly number[]
}

function grouped(origins: readonly ViewOrigin[], { messages }: ResentHistory): Grouped {
  const bySeq = new Map<number, ResentMessage>()
  for (const one of messages) for (const seq of one.seqs) bySeq.set(seq, one)
  const groups = new Map<ResentMessage, number[]>()
  const mixed = new Map<number, ResentMessage>()
  const leading: number[] = []
  origins.forEach(({ entries }, index) => {
    // They stand outside the log's order.
    if (entries.length === 1 && entries[0] === 0) leading.push(index)
    const seq = entries.findLast((one) => bySeq.has(one))
    const last = seq === undefined ? undefined : bySeq.get(seq)
    if (last === undefined) return
    const known = groups.get(last)
    if (entries.some((one) => bySeq.get(one) !== last)) mixed.set(index, last)
    else if (known === undefined) groups.set(last, [index])
    else known.push(index)
  })
  return { groups, mixed, leading }
}

/** Whether what the view shows of a client's message is all of it, as it came. */
function isShownWhole(
  { from, to, seqs, isSame }: ResentMessage,
  shown: readonly number[],
  origins: readonly ViewOrigin[],
): boolean {
  if (!isSame || shown.length !== to - from) return false
  return (
    shown.every((index) => origins[index]?.isWhole === true) &&
    seqs.every((seq) => shown.some((index) => origins[index]?.entries.includes(seq)))
  )
}

/** The same where only a part of it is shown as it came, or beside what the client never saw. */
function placesAmong(
  { from, to, seqs, isSame }: ResentMessage,
  shown: readonly number[],
  { messages, origins, sent, format }: PlacedView,
): readonly Place[] {
  const isOne = to - from === 1
  // What the client says of a single message is known; of several together, and beside what it never saw, each is compared.
  const mayDiffer = !isSame && isOne && seqs.length === 1 && shown.length === 1
  let next = from
  const places = shown.map((index): Place => {
    const message = messages[index] as Json
    const isRead = origins[index]?.isSaid === true && !mayDiffer
    for (let at = next; at < to; at++) {
      const own = sent[at]
      if (own === undefined || !isAlike(message, own, { format, isRead })) continue
      next = at + 1
      return { from: at, isSame: true }
    }
    return nowhere
  })
  const role = isOne && next === from ? roleOf(sent[from]) : undefined
  if (role === undefined) return places
  const last = shown.findLastIndex((index) => roleOf(messages[index]) === role)
  return last === -1 ? places : places.with(last, { from, isSame: false })
}

/** Whether two messages are the same; where they are read, whether they say the same. */
function isAlike(
  message: Json,
  own: Json,
  { format, isRead }: { readonly format: Format; readonly isRead: boolean },
): boolean {
  const { cacheMarks: marks } = format
  const plain = marks === undefined ? own : marks.withoutMarks(own)
  if (equalJson(marks === undefined ? message : marks.withoutMarks(message), plain)) return true
  // The provider's id ties it to the reasoning before it: where the view has taken that out, the id must not come back.
  if (!isRead || (idOf(own) !== undefined && idOf(message) === undefined)) return false
  const [logged, sent] = [readAlone(message, format), readAlone(own, format)]
  return logged !== undefined && sent !== undefined && saysAll(logged, sent)
}

function readAlone(message: Json, { decode }: Format): Matchable | undefined {
  const [read, ...others] = sentOf(decode([message], 'messages').map(({ draft }) => draft))
  return others.length === 0 ? read?.message : undefined
}

function idOf(message: Json): Json | undefined {
  return isJsonObject(message) ? message.id : undefined
}

function roleOf(message: Json | undefined): Json | undefined {
  return isJsonObject(message) ? message.role : undefined
}
