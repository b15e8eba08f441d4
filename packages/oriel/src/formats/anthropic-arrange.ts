// Whole messages brought into the order and within the limits that Anthropic demands.

import type { Json, JsonObject } from '../core/json.ts'
import { isObject, setField } from '../core/json.ts'
import { noServerCalls, scanServerCalls } from './anthropic-faults.ts'
import { countBreakpoints, maxBreakpoints } from './anthropic-limits.ts'
import type { Tell, WireBlock, WireMessage } from './anthropic-wire.ts'
import { extraOf } from './foreign.ts'

/** Clean messages merged and ordered until no rule of the provider is broken, one system message first. */
export function arrange(wires: readonly WireMessage[]): readonly WireMessage[] {
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
  return { role: first.role, blocks: [...thinking, ...rest], isPlain: false, extra }
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
    return { ...wire, blocks: wire.blocks.filter((_, position) => !gone.has(position)) }
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
    return { ...wire, blocks: [...blocks.slice(0, firstOther), ...late, ...others] }
  }
  const firstCall = blocks.findIndex((block) => isOfType(block, 'tool_use'))
  const lastText = blocks.findLastIndex((block) => isOfType(block, 'text'))
  if (firstCall === -1 || lastText < firstCall) return wire
  const late = blocks.slice(firstCall).filter((block) => !isOfType(block, 'tool_use'))
  for (const { tell } of late) tell('full', 'A12: moved before the calls')
  const calls = blocks.filter((block) => isOfType(block, 'tool_use'))
  return { ...wire, blocks: [...blocks.slice(0, firstCall), ...late, ...calls] }
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
  return [...wires.slice(0, -1), { ...last, blocks: [...last.blocks.slice(0, -1), trimmed] }]
}

/** Keeps the last cache breakpoints that the provider allows (A17): the later one is, the longer the prefix it covers. */
function limitBreakpoints(wires: readonly WireMessage[]): readonly WireMessage[] {
  const values = wires.map(({ blocks }) => blocks.map(({ value }) => value))
  let surplus = countBreakpoints(values) - maxBreakpoints
  if (surplus <= 0) return wires
  const strip = (value: JsonObject, tell: Tell): JsonObject => {
    const inner =
      value.type === 'tool_result' && Array.isArray(value.content)
        ? { content: value.content.map((item: JsonObject) => strip(item, tell)) }
        : {}
    if (surplus <= 0 || !isObject(value.cache_control)) return { ...value, ...inner }
    surplus -= 1
    tell('full', `A17: its cache breakpoint is not among the last ${maxBreakpoints}, taken off`)
    return { ...extraOf(value, ['cache_control']).extra, ...inner }
  }
  return wires.map((wire) => ({
    ...wire,
    blocks: wire.blocks.map(({ value, tell }) => ({ value: strip(value, tell), tell })),
  }))
}

function isThinking(block: WireBlock | undefined): boolean {
  return isOfType(block, 'thinking') || isOfType(block, 'redacted_thinking')
}

function isOfType(block: WireBlock | undefined, type: string): boolean {
  return block?.value.type === type
}
