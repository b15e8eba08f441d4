// A view as Anthropic's messages: built from its blocks, cleaned and arranged until no rule of the provider is broken.

import { isObject, type Json, type JsonObject, setField } from '../../core/log/json.ts'
import type { ViewMessage } from '../../core/view/view.ts'
import { extraOf, isRebuilt, materialOfView, nativeOf, standIn, wellFormed } from '../foreign.ts'
import type { Encoded } from '../format.ts'
import { createLosses, type LossNote, tellIllFormed } from '../losses.ts'
import { buildMessage } from './build.ts'
import {
  countBreakpoints,
  deepFaultOf,
  type Fault,
  faultOf,
  maxBreakpoints,
  noServerCalls,
  type Standing,
  scanServerCalls,
} from './rules.ts'
import {
  behindGap,
  readWritten,
  type TellLoss,
  type WireBlock,
  type WireMessage,
  writeMessage,
} from './wire.ts'

/** Writes a view that was repaired to the format's profile. What comes out breaks no rule that messages can break. */
export function encodeView(view: readonly ViewMessage[]): Encoded {
  const outgoing = view.map((message, index) => asPart(message, index, toOutgoing(message)))
  tellSystem(view, outgoing)
  const arranged = arrange(outgoing.map(({ wire }) => wire))
  const spoken = arranged.filter(({ role }) => role !== 'system')
  const written = spoken.map(writeMessage)
  const messages = written.map(wellFormed)
  const origins = spoken.map(({ shown = [], isWhole = false }, index) => ({
    entries: shown.flatMap((at) => view[at]?.entry?.seq ?? []),
    shown,
    isWhole: isWhole && messages[index] === written[index],
  }))
  const system = arranged.find(({ role }) => role === 'system')
  // A well-formed object is still an object.
  const top = system && (wellFormed(writeMessage(system)) as JsonObject).content
  const losses = createLosses()
  view.forEach((message, index) => {
    const note = losses.noteFor(message, index)
    for (const told of outgoing[index]?.told ?? []) note(...told)
  })
  tellIllFormed(view, losses, 'A18')
  return { messages, origins, ...(top === undefined ? {} : { system: top }), ...losses.found() }
}

type LossReporter = Parameters<LossNote>

interface Outgoing {
  readonly wire: WireMessage
  /** What became of the message's blocks. The blocks on the wire still add to it. */
  readonly told: readonly LossReporter[]
}

function toOutgoing(message: ViewMessage): Outgoing {
  const told: LossReporter[] = []
  const note: LossNote = (...one) => told.push(one)
  if (message.blocks.length === 0) note(undefined, 'dropped', 'A4: no content')
  tellDisplaced(message, note)
  const original = readWritten(
    nativeOf(message, 'anthropic')?.[0],
    (position) => (form, reason) => note(message.blocks[position], form, reason),
  )
  const isAccepted = original?.blocks.every(
    ({ value }) => deepFaultOf(value, original.role) === undefined,
  )
  if (original !== undefined && isAccepted === true) {
    const isWhole = behindGap(message.entry?.native?.value[0]).size === 0
    return { wire: { ...original, isWhole }, told }
  }
  // An original that would be refused is built anew from its blocks instead, which repairs it.
  const originals = originalsOf(message)
  const built = buildMessage(materialOfView(message, 'anthropic'), { note, originals })
  const cleaned = clean(built)
  const isSame =
    cleaned.blocks.length === built.blocks.length &&
    cleaned.blocks.every((block, at) => block === built.blocks[at])
  const isWhole = isSame && isRebuilt(message, 'anthropic')
  const wire = { ...cleaned, isWhole }
  if (message.role !== 'user' || wire.blocks.length > 0) return { wire, told }
  return withStandIn(message, { wire, told })
}

function asPart(
  { isLaterPart = false }: ViewMessage,
  index: number,
  { wire, told }: Outgoing,
): Outgoing {
  return { wire: { ...wire, shown: [index], ...(isLaterPart ? { isLaterPart } : {}) }, told }
}

/** The messages around a user message rely on it (A2, A3, A6): what cannot be carried is at least named. */
function withStandIn({ blocks }: ViewMessage, { wire, told }: Outgoing): Outgoing {
  const text = blocks
    .filter(({ type }) => type !== 'text')
    .map(standIn)
    .join(' ')
  if (text === '') return { wire, told }
  const named = { value: { type: 'text', text }, tell: () => {} }
  return {
    wire: { ...wire, blocks: [named], isPlain: true, isWhole: false },
    told: told.map(([block, form, reason]) =>
      form === 'dropped' && block?.type !== 'text'
        ? [block, 'omitted', `${reason}, a stand-in is sent`]
        : [block, form, reason],
    ),
  }
}

/** Tells of results that the decoder found behind other content, which has become a message of its own. */
function tellDisplaced({ entry, blocks, positions }: ViewMessage, note: LossNote): void {
  if (entry?.native?.format !== 'anthropic') return
  const displaced = behindGap(entry.native.value[0])
  blocks.forEach((block, index) => {
    if (displaced.has(positions?.[index] ?? index)) {
      note(block, 'full', 'A11: moved to the front of its message')
    }
  })
}

/**
 * Tells of system text that cannot stay where it was (A1). Text at the very front of another format's messages only stands in
 * another field.
 */
function tellSystem(view: readonly ViewMessage[], outgoing: readonly Outgoing[]): void {
  let isSpoken = false
  view.forEach(({ role, entry }, index) => {
    if (role !== 'system') isSpoken = true
    else if (isSpoken || entry?.source?.format === 'anthropic') {
      for (const { tell } of outgoing[index]?.wire.blocks ?? []) {
        tell('full', 'A1: moved out of the messages to the system text')
      }
    }
  })
}

/** What each block that is shown as it came looked like then; renamed calls and results do not look like that any more. */
function originalsOf(message: ViewMessage): readonly (JsonObject | undefined)[] {
  const { entry, blocks, positions, wireIds } = message
  if (entry?.native?.format !== 'anthropic') return []
  const original = readWritten(entry.native.value[0], () => () => {})
  return blocks.map((block, index) => {
    const position = positions?.[index] ?? index
    const isShown = block === entry.blocks[position] && wireIds?.has(index) !== true
    return isShown ? original?.blocks[position]?.value : undefined
  })
}

/** The message without the blocks that the provider would refuse. */
function clean(wire: WireMessage): WireMessage {
  return { ...wire, blocks: wire.blocks.flatMap((block) => cleanBlock(block, wire.role) ?? []) }
}

function cleanBlock(block: WireBlock, standing: Standing): WireBlock | undefined {
  const { value, tell } = block
  const fault = faultOf(value, standing)
  if (fault !== undefined) {
    tell('dropped', reasonOf(fault))
    return undefined
  }
  if (value.type !== 'tool_result' || !Array.isArray(value.content)) return block
  const faults = value.content.flatMap((inner) => faultOf(inner, 'result') ?? [])
  if (faults.length === 0) return block
  const content = value.content.filter((inner) => faultOf(inner, 'result') === undefined)
  // Blank text (A4) is no loss: without it nothing is gone.
  const worst = faults.find(({ rule }) => rule !== 'A4')
  const isGone = content.length === 0 && worst !== undefined
  tell(isGone ? 'omitted' : 'full', reasonOf(worst ?? (faults[0] as Fault)))
  const rest = extraOf(value, ['content']).extra ?? {}
  return { value: content.length === 0 ? rest : { ...value, content }, tell }
}

function reasonOf({ rule, message }: Fault): string {
  return `${rule}: ${message}`
}

/** Clean messages merged and ordered until no rule of the provider is broken, one system message first. */
function arrange(wires: readonly WireMessage[]): readonly WireMessage[] {
  const system = merge(wires.filter(({ role }) => role === 'system'))
  const spoken = merge(wires.filter(({ role }) => role !== 'system'))
  // Leaving an orphan out can empty a message, and then its neighbours meet.
  const paired = merge(withoutServerFaults(spoken))
  return limitBreakpoints([...system, ...trimFinal(paired.map(order))])
}

/** Joins neighbours of the same role (A3); messages without blocks are left out (A4). */
function merge(wires: readonly WireMessage[]): readonly WireMessage[] {
  const groups: WireMessage[][] = []
  for (const wire of wires) {
    if (wire.blocks.length === 0) continue
    const group = groups.at(-1)
    if (group?.[0]?.role === wire.role) group.push(wire)
    else groups.push([wire])
  }
  return groups.map(join)
}

function join(group: readonly WireMessage[]): WireMessage {
  const [first, ...others] = group as readonly [WireMessage, ...WireMessage[]]
  if (others.length === 0) return first
  const extra: Record<string, Json> = {}
  for (const wire of group) {
    for (const [key, value] of Object.entries(wire.extra)) setField(extra, key, value)
  }
  const blocks = group.flatMap((wire) => wire.blocks)
  // With thinking on, a message that has thinking begins with it (A13). Of one message as it came, in parts or not, nothing is moved.
  const isOne = isThinking(blocks[0]) || others.every(({ isLaterPart = false }) => isLaterPart)
  const thinking = isOne ? [] : blocks.filter(isThinking)
  for (const { tell } of thinking) tell('full', 'A13: moved to the front of its message')
  const rest = thinking.length === 0 ? blocks : blocks.filter((block) => !isThinking(block))
  return {
    role: first.role,
    blocks: [...thinking, ...rest],
    isPlain: false,
    extra,
    shown: group.flatMap(({ shown = [] }) => shown),
    isWhole: thinking.length === 0 && group.every(({ isWhole = false }) => isWhole),
  }
}

/** Leaves out what server tools' calls and results cannot be sent with (A8, A9, A10): no repair before this one sees them. */
function withoutServerFaults(wires: readonly WireMessage[]): readonly WireMessage[] {
  let calls = noServerCalls
  return wires.map((wire, index) => {
    if (wire.role !== 'assistant') return wire
    const values = wire.blocks.map(({ value }) => value)
    const { faults, ...next } = scanServerCalls(values, calls, index === wires.length - 1)
    calls = next
    if (faults.length === 0) return wire
    for (const { position, rule, message } of faults) {
      wire.blocks[position]?.tell('dropped', `${rule}: ${message}`)
    }
    const gone = new Set(faults.map(({ position }) => position))
    const blocks = wire.blocks.filter((_, position) => !gone.has(position))
    return { ...wire, blocks, isWhole: false }
  })
}

/** Results come first in a user message (A11); calls come last in an assistant message if a text follows one (A12). */
function order(wire: WireMessage): WireMessage {
  const { role, blocks } = wire
  if (role === 'user') {
    const firstOther = blocks.findIndex((block) => !isOfType(block, 'tool_result'))
    const late = blocks.filter(
      (block, position) => isOfType(block, 'tool_result') && position > firstOther,
    )
    if (firstOther === -1 || late.length === 0) return wire
    for (const { tell } of late) tell('full', 'A11: moved to the front of its message')
    const others = blocks.slice(firstOther).filter((block) => !isOfType(block, 'tool_result'))
    return { ...wire, blocks: [...blocks.slice(0, firstOther), ...late, ...others], isWhole: false }
  }
  const firstCall = blocks.findIndex((block) => isOfType(block, 'tool_use'))
  const lastText = blocks.findLastIndex((block) => isOfType(block, 'text'))
  if (firstCall === -1 || lastText < firstCall) return wire
  const late = blocks.slice(firstCall).filter((block) => !isOfType(block, 'tool_use'))
  for (const { tell } of late) tell('full', 'A12: moved before the calls')
  const calls = blocks.filter((block) => isOfType(block, 'tool_use'))
  return { ...wire, blocks: [...blocks.slice(0, firstCall), ...late, ...calls], isWhole: false }
}

/** A final assistant message must not end with whitespace (A5). */
function trimFinal(wires: readonly WireMessage[]): readonly WireMessage[] {
  const last = wires.at(-1)
  const block = last?.blocks.at(-1)
  if (last?.role !== 'assistant' || typeof block?.value.text !== 'string') return wires
  const text = block.value.text.trimEnd()
  if (text === block.value.text) return wires
  block.tell('full', 'A5: trailing whitespace taken off')
  const trimmed = { ...block, value: { ...block.value, text } }
  const blocks = [...last.blocks.slice(0, -1), trimmed]
  return [...wires.slice(0, -1), { ...last, blocks, isWhole: false }]
}

/** Keeps the last cache breakpoints that the provider allows (A17): the later one is, the longer the prefix it covers. */
function limitBreakpoints(wires: readonly WireMessage[]): readonly WireMessage[] {
  const values = wires.map(({ blocks }) => blocks.map(({ value }) => value))
  let surplus = countBreakpoints(values) - maxBreakpoints
  if (surplus <= 0) return wires
  const strip = (value: JsonObject, tell: TellLoss): JsonObject => {
    const inner =
      value.type === 'tool_result' && Array.isArray(value.content)
        ? { content: value.content.map((item: JsonObject) => strip(item, tell)) }
        : {}
    if (surplus <= 0 || !isObject(value.cache_control)) return { ...value, ...inner }
    surplus -= 1
    tell('full', `A17: its cache breakpoint is not among the last ${maxBreakpoints}, taken off`)
    return { ...extraOf(value, ['cache_control']).extra, ...inner }
  }
  return wires.map((wire) => {
    const before = surplus
    const blocks = wire.blocks.map(({ value, tell }) => ({ value: strip(value, tell), tell }))
    return surplus === before ? wire : { ...wire, blocks, isWhole: false }
  })
}

function isThinking(block: WireBlock | undefined): boolean {
  return isOfType(block, 'thinking') || isOfType(block, 'redacted_thinking')
}

function isOfType(block: WireBlock | undefined, type: string): boolean {
  return block?.value.type === type
}
