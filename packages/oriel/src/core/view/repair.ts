// Repair: makes a view valid for a provider (every call followed by exactly one result, an accepted
// start and end). The log is not modified; each repair is traced with the provider's rule.

import type { Block } from '../log/block.ts'
import type { Form } from '../log/entry.ts'
import { isWellFormed, type Json } from '../log/json.ts'
import { type Call, isResult } from '../state/exchange.ts'
import type { State } from '../state/state.ts'
import { Digest } from '../text/digest.ts'
import type { Profile, Repair } from './profile.ts'
import type { Rendered, RenderedBlock } from './render.ts'
import type { ViewMessage } from './view.ts'
import { withWireIds } from './wire-ids.ts'

export interface Repaired {
  readonly messages: readonly ViewMessage[]
  readonly repairs: readonly Repair[]
}

/** Synthetic result for a call without one: the request stays valid and the model knows. */
const missingResultText = '[No result was recorded for this call.]'

/**
 * Reorders, pairs and trims the rendered messages of a segment until they satisfy `profile`, wherever they stand in the view. `isLast`:
 * nothing follows them, so that an exchange may wait for its results.
 */
export function repair(
  state: State,
  rendered: readonly Rendered[],
  profile: Profile,
  { isLast }: { readonly isLast: boolean },
): Repaired {
  const repairs: Repair[] = []
  const sendable = rendered.map((one) => withoutBrokenReasoning(one, profile, repairs))
  const paired = pair(state, sendable, profile, { repairs, isLast })
  const filled = profile.refusesBlankText ? withoutBlanks(paired, profile, repairs) : paired
  return { messages: withWireIds(state, filled, profile, repairs), repairs }
}

/** The beginning of a view as its provider accepts it, with the checkpoint behind the first user message. */
export function repairStart(
  messages: readonly ViewMessage[],
  profile: Profile,
  checkpoint: string | undefined,
): Repaired {
  const repairs: Repair[] = []
  const marked = checkpoint === undefined ? messages : withCheckpoint(messages, checkpoint)
  const started = profile.startsWithUser ? fromFirstUser(marked, profile, repairs) : marked
  return { messages: started, repairs }
}

/** The end of a view as its provider accepts it. An unfinished answer stays last. */
export function repairEnd(
  state: State,
  messages: readonly ViewMessage[],
  profile: Profile,
): Repaired {
  const repairs: Repair[] = []
  const isCut = profile.endsWithUser && state.exchanges.parts.open === undefined
  return { messages: isCut ? untilLastUser(messages, profile, repairs) : messages, repairs }
}

/**
 * Inserts the checkpoint in the user role after the first user message. Never as system or
 * assistant.
 */
function withCheckpoint(messages: readonly ViewMessage[], text: string): readonly ViewMessage[] {
  const note: ViewMessage = { role: 'user', origin: 'host', blocks: [{ type: 'text', text }] }
  const first = messages.findIndex(({ role, entry }) => role === 'user' && entry !== undefined)
  const lead = messages.findIndex(({ role }) => role !== 'system')
  return messages.toSpliced(first === -1 ? Math.max(0, lead) : first + 1, 0, note)
}

/** Reasoning is sent unchanged or not at all, and lone surrogates cannot be sent. */
function withoutBrokenReasoning(one: Rendered, profile: Profile, repairs: Repair[]): Rendered {
  const isBroken = ({ block }: RenderedBlock): boolean =>
    // Every block is JSON; its `extra` fields are sent with it, so check the whole block.
    block.type === 'reasoning' && !isWellFormed(block as unknown as Json)
  if (!one.blocks.some(isBroken)) return one
  for (const { position } of one.blocks.filter(isBroken)) {
    const reason = `${profile.rules.reasoning}: holds half a character, which cannot be sent`
    repairs.push({ seq: one.item.entry.seq, block: position, form: 'dropped', reason })
  }
  return { ...one, blocks: one.blocks.filter((block) => !isBroken(block)) }
}

/** Groups each exchange: the assistant message, then its results in order of arrival. */
function pair(
  state: State,
  rendered: readonly Rendered[],
  profile: Profile,
  { repairs, isLast }: { readonly repairs: Repair[]; readonly isLast: boolean },
): ViewMessage[] {
  const { exchanges } = state
  const bySeq = exchanges.isEmpty
    ? noneBySeq
    : new Map(rendered.map((one) => [one.item.entry.seq, one]))
  const { waiting, patient } = isLast ? openExchange(state, rendered, { bySeq, profile }) : {}
  const messages: ViewMessage[] = []
  const shown = new Set<string>()
  rendered.forEach((one, position) => {
    const { entry } = one.item
    const exchange = exchanges.exchangeAt(entry.seq)
    if (exchange !== undefined && exchange.seq === waiting) {
      for (const { position: block } of one.blocks) {
        const reason = `${profile.rules.unanswered}: waits for the results of its calls`
        repairs.push({ seq: entry.seq, block, form: 'dropped', reason })
      }
      return
    }
    const own = one.blocks.filter(({ block }) => !isResult(block) || entry.role === 'assistant')
    if (entry.role !== 'tool' && (own.length > 0 || one.blocks.length === 0)) {
      const message = toMessage(one, own)
      const isLaterPart = exchanges.parts.isLater(entry.seq)
      messages.push(isLaterPart ? { ...message, isLaterPart } : message)
    }
    if (exchange !== undefined) {
      const isPatient = exchange.seq === patient
      const around = { rendered, bySeq, position, isPatient }
      const answers = results(exchange.calls, around, profile, repairs)
      messages.push(...answers)
      if (profile.hasToolParts === true) {
        for (const { entry: source, positions = [] } of answers) {
          for (const block of positions) shown.add(placeOf(source?.seq ?? 0, block))
        }
      }
    }
    reportLost(state, one, { waiting, bySeq, shown }, profile, repairs)
  })
  return messages
}

const noneBySeq: ReadonlyMap<number, Rendered> = new Map()

/**
 * The newest exchange, if only its own results follow it and some are missing. `waiting`: not shown
 * yet. `patient`: shown as it is.
 */
function openExchange(
  state: State,
  rendered: readonly Rendered[],
  { bySeq, profile }: { bySeq: ReadonlyMap<number, Rendered>; profile: Profile },
): { readonly waiting?: number; readonly patient?: number } {
  for (let index = rendered.length - 1; index >= 0; index--) {
    const { entry } = (rendered[index] as Rendered).item
    const exchange = state.exchanges.exchangeAt(entry.seq)
    if (exchange !== undefined) {
      const missing = exchange.calls.filter((call) => !hasResult(call, bySeq))
      if (missing.length === 0) return {}
      return profile.mayWait?.(entry, missing) === true
        ? { patient: exchange.seq }
        : { waiting: exchange.seq }
    }
    if (entry.role !== 'tool' && entry.origin !== 'plugin') return {}
  }
  return {}
}

function hasResult(call: Call, bySeq: ReadonlyMap<number, Rendered>): boolean {
  return call.result !== undefined && findResult(call, bySeq) !== undefined
}

function findResult(call: Call, bySeq: ReadonlyMap<number, Rendered>): RenderedBlock | undefined {
  if (call.result === undefined) return undefined
  const { seq, block } = call.result
  return bySeq.get(seq)?.blocks.find((one) => one.position === block)
}

interface Surroundings {
  readonly rendered: readonly Rendered[]
  readonly bySeq: ReadonlyMap<number, Rendered>
  readonly position: number
  /** Missing results may stay missing. */
  readonly isPatient: boolean
}

/** The results of an exchange, grouped by message, in order of arrival; missing ones last. */
function results(
  calls: readonly Call[],
  around: Surroundings,
  profile: Profile,
  repairs: Repair[],
): ViewMessage[] {
  const adjacent = adjacentTools(around, profile)
  const holders = new Map<number, RenderedBlock[]>()
  const missing: Call[] = []
  for (const call of calls) {
    const found = findResult(call, around.bySeq)
    if (found === undefined) missing.push(call)
    else {
      const { seq } = call.result as { seq: number }
      holders.set(seq, [...(holders.get(seq) ?? []), found])
      if (!adjacent.has(seq)) {
        const reason = `${profile.rules.order}: moved next to its call`
        repairs.push({ seq, block: found.position, form: found.form, reason })
      }
    }
  }
  if (profile.hasToolParts === true) {
    for (const seq of adjacent) {
      const one = around.bySeq.get(seq)
      const parts = one?.item.entry.role === 'tool' ? one.blocks.filter(isToolPart) : []
      if (parts.length > 0) holders.set(seq, [...(holders.get(seq) ?? []), ...parts])
    }
  }
  const messages: ViewMessage[] = [...holders.entries()]
    .sort(([a], [b]) => a - b)
    .map(([seq, blocks]) => {
      const one = around.bySeq.get(seq) as Rendered
      const sorted = blocks.sort((a, b) => a.position - b.position)
      return { ...toMessage(one, sorted), role: 'tool', origin: 'tool' }
    })
  if (missing.length > 0 && !around.isPatient)
    messages.push(missingResults(missing, profile, repairs))
  return messages
}

function isToolPart({ block }: RenderedBlock): boolean {
  return block.type === 'opaque'
}

/** Seqs of the tool messages that directly follow the message at `position`. */
function adjacentTools(
  { rendered, position }: Surroundings,
  { hasToolParts = false }: Profile,
): ReadonlySet<number> {
  const seqs = new Set<number>()
  for (let index = position + 1; index < rendered.length; index++) {
    const { entry } = (rendered[index] as Rendered).item
    // Plugin messages between results do not separate them.
    if (entry.origin === 'plugin') continue
    const isPart = hasToolParts && entry.role === 'tool'
    // In a message with results and user text the results come first, so they are still adjacent.
    if (!isPart && !entry.blocks.some(isResult)) break
    seqs.add(entry.seq)
    if (entry.role !== 'tool') break
  }
  return seqs
}

function missingResults(calls: readonly Call[], profile: Profile, repairs: Repair[]): ViewMessage {
  for (const { place } of calls) {
    const reason = `${profile.rules.unanswered}: no result was recorded, a notice stands in for it`
    repairs.push({ ...place, form: 'full', reason })
  }
  const blocks: Block[] = calls.map((call) => ({
    type: 'tool-result',
    callId: call.callId,
    name: call.name,
    content: missingResultText,
    isError: true,
  }))
  return { role: 'tool', origin: 'host', blocks, answers: calls }
}

interface LossContext {
  readonly waiting: number | undefined
  readonly bySeq: ReadonlyMap<number, Rendered>
  /** Parts of tool messages that the view shows beside the results of an exchange. */
  readonly shown: ReadonlySet<string>
}

/**
 * Reports blocks of tool messages that are not shown: orphans, duplicate answers, and results of a
 * waiting exchange.
 */
function reportLost(
  state: State,
  one: Rendered,
  { waiting, bySeq, shown }: LossContext,
  profile: Profile,
  repairs: Repair[],
): void {
  const { entry } = one.item
  if (entry.role === 'assistant') return
  const { unanswered, duplicate, orphan } = profile.rules
  if (entry.role === 'tool' && one.blocks.length === 0) {
    const reason = `${orphan}: a tool message without results`
    repairs.push({ seq: entry.seq, block: 0, form: 'dropped', reason })
  }
  for (const { block, position } of one.blocks) {
    const lose = (reason: string): void => {
      repairs.push({ seq: entry.seq, block: position, form: 'dropped', reason })
    }
    if (!isResult(block)) {
      const isLost = entry.role === 'tool' && !shown.has(placeOf(entry.seq, position))
      if (isLost) lose(`${orphan}: a tool message holds results only`)
      continue
    }
    const answered = state.exchanges.answeredBy({ seq: entry.seq, block: position })
    if (answered === undefined) {
      const isSecond = state.exchanges.hasSeen(block.callId)
      if (isSecond) lose(`${duplicate}: its call already has a result`)
      else lose(`${orphan}: no call of this id comes before it`)
    } else if (answered.exchange.seq === waiting) {
      lose(`${unanswered}: waits for the other results of its exchange`)
    } else if (!bySeq.has(answered.exchange.seq)) {
      lose(`${orphan}: its call is not in view`)
    }
  }
}

function placeOf(seq: number, block: number): string {
  return `${seq}:${block}`
}

function toMessage(one: Rendered, blocks: readonly RenderedBlock[]): ViewMessage {
  const { entry } = one.item
  return {
    role: entry.role,
    origin: entry.origin,
    blocks: blocks.map(({ block }) => block),
    positions: blocks.map(({ position }) => position),
    entry,
  }
}

/** Converts losses of a format to repairs of the source blocks. */
export function lossesAsRepairs(
  messages: readonly ViewMessage[],
  losses: readonly { message: number; block: number; form: Form; reason: string }[],
): readonly Repair[] {
  return losses.flatMap(({ message, block, form, reason }) => {
    const source = messages[message]
    if (source?.entry === undefined) return []
    return [{ seq: source.entry.seq, block: source.positions?.[block] ?? block, form, reason }]
  })
}

function withoutBlanks(
  messages: readonly ViewMessage[],
  profile: Profile,
  repairs: Repair[],
): ViewMessage[] {
  return messages.flatMap((message) => {
    const isBlank = (block: Block): boolean => block.type === 'text' && block.text.trim() === ''
    if (message.blocks.length > 0 && !message.blocks.some(isBlank)) return [message]
    message.blocks.forEach((block, index) => {
      if (isBlank(block)) drop(message, index, `${profile.rules.blank}: blank text`, repairs)
    })
    const kept = message.blocks.flatMap((block, index) => (isBlank(block) ? [] : [index]))
    if (kept.length > 0) return [pick(message, kept)]
    if (message.blocks.length === 0) drop(message, 0, `${profile.rules.blank}: no content`, repairs)
    return []
  })
}

/**
 * Drops everything before the first user message. A conversation without one starts with a note
 * that replaces its first unit, because the provider requires a user message and we must not invent
 * one.
 */
function fromFirstUser(
  messages: readonly ViewMessage[],
  profile: Profile,
  repairs: Repair[],
): readonly ViewMessage[] {
  const mayBegin = (message: ViewMessage): boolean =>
    message.role === 'user' || profile.isCompaction?.(message) === true
  const isUser = messages.some(mayBegin)
  const end = isUser ? messages.findIndex(mayBegin) : firstUnitEnd(messages)
  const digest = new Digest()
  const reason = isUser
    ? 'stands before the first user message'
    : 'there is no user message to begin with, a notice stands in for it'
  const dropped = new Set<ViewMessage>()
  messages.slice(0, end).forEach((message) => {
    if (message.role === 'system') return
    dropped.add(message)
    dropAll(message, `${profile.rules.start}: ${reason}`, repairs)
    if (message.entry !== undefined) digest.add(message.entry)
  })
  if (dropped.size === 0) return messages
  const kept = messages.filter((message) => !dropped.has(message))
  if (isUser || digest.size === 0) return kept
  const at = kept.findIndex((message) => message.role !== 'system')
  const note: ViewMessage = {
    role: 'user',
    origin: 'host',
    blocks: [{ type: 'text', text: digest.text('brief') }],
  }
  return kept.toSpliced(at === -1 ? kept.length : at, 0, note)
}

/** Index after the first non-system message and its results. */
function firstUnitEnd(messages: readonly ViewMessage[]): number {
  let end = messages.findIndex((message) => message.role !== 'system') + 1
  while (end > 0 && messages[end]?.role === 'tool') end += 1
  return end
}

function untilLastUser(
  messages: readonly ViewMessage[],
  profile: Profile,
  repairs: Repair[],
): readonly ViewMessage[] {
  const isCompaction = profile.isCompaction ?? (() => false)
  const last = messages.findLastIndex(
    (m) => m.role === 'user' || m.role === 'tool' || (isCompaction(m) && m.blocks.length === 1),
  )
  const isCut = (message: ViewMessage, index: number): boolean =>
    index > last && message.role === 'assistant'
  if (!messages.some(isCut)) return messages
  return messages.filter((message, index) => {
    if (!isCut(message, index)) return true
    dropAll(message, `${profile.rules.end}: the request must end with the user's side`, repairs)
    return false
  })
}

function pick(message: ViewMessage, kept: readonly number[]): ViewMessage {
  return {
    ...message,
    blocks: kept.map((index) => message.blocks[index] as Block),
    positions: kept.map((index) => message.positions?.[index] ?? index),
  }
}

function dropAll(message: ViewMessage, reason: string, repairs: Repair[]): void {
  for (let index = 0; index < Math.max(1, message.blocks.length); index++) {
    drop(message, index, reason, repairs)
  }
}

function drop(message: ViewMessage, index: number, reason: string, repairs: Repair[]): void {
  if (message.entry === undefined) return
  const block = message.positions?.[index] ?? index
  repairs.push({ seq: message.entry.seq, block, form: 'dropped', reason })
}
