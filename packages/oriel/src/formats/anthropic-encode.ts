// A view as Anthropic's messages: cleaned, merged and ordered until no rule of the provider is broken.

import type { Json, JsonObject } from '../core/json.ts'
import { isObject, setField } from '../core/json.ts'
import type { ViewMessage } from '../core/view.ts'
import type { WireMessage } from './anthropic-build.ts'
import { buildMessage, readWritten, writeMessage } from './anthropic-build.ts'
import type { Standing } from './anthropic-faults.ts'
import { faultOf, scanServerCalls } from './anthropic-faults.ts'
import { countBreakpoints, maxBreakpoints } from './anthropic-limits.ts'
import { extraOf, materialOfView, nativeOf, standIn, wellFormed } from './foreign.ts'
import type { Encoded } from './format.ts'

/** Writes a view that was repaired to the format's profile. What comes out breaks no rule that messages can break. */
export function encodeView(view: readonly ViewMessage[]): Encoded {
  const wires = view.map(toWire)
  const system = merge(wires.filter(({ role }) => role === 'system'))
  const spoken = merge(wires.filter(({ role }) => role !== 'system'))
  // Leaving an orphan out can empty a message, and then its neighbours meet.
  const paired = merge(withoutServerOrphans(spoken))
  const limited = limitBreakpoints([...system, ...trimFinal(paired.map(order))])
  // A well-formed object is still an object.
  const written = limited.map((wire) => wellFormed(writeMessage(wire)) as JsonObject)
  const messages = written.filter(({ role }) => role !== 'system')
  const top = written.find(({ role }) => role === 'system')?.content
  return top === undefined ? { messages } : { messages, system: top }
}

function toWire(message: ViewMessage): WireMessage {
  const original = readWritten(nativeOf(message, 'anthropic')?.[0])
  // An original that would be refused is built anew from its blocks instead, which repairs it.
  if (original !== undefined && clean(original) === original) return original
  const cleaned = clean(buildMessage(materialOfView(message, 'anthropic')))
  if (message.role !== 'user' || cleaned.blocks.length > 0) return cleaned
  // The messages around a user message rely on it (A2, A3, A6): what cannot be carried is at least named.
  const named = message.blocks.filter(({ type }) => type !== 'text').map(standIn)
  const blocks = named.length === 0 ? [] : [{ type: 'text', text: named.join(' ') }]
  return { ...cleaned, blocks, isPlain: true }
}

/** The message without the blocks that the provider would refuse; the same object if there are none. */
function clean(wire: WireMessage): WireMessage {
  const blocks = wire.blocks
    .map((block) => cleanBlock(block, wire.role))
    .filter((block) => block !== undefined)
  const isSame =
    blocks.length === wire.blocks.length &&
    blocks.every((block, index) => block === wire.blocks[index])
  return isSame ? wire : { ...wire, blocks }
}

function cleanBlock(block: JsonObject, standing: Standing): JsonObject | undefined {
  if (faultOf(block, standing) !== undefined) return undefined
  if (block.type !== 'tool_result' || !Array.isArray(block.content)) return block
  const content = block.content.filter((inner) => faultOf(inner, 'result') === undefined)
  if (content.length === block.content.length) return block
  return content.length === 0 ? without(block, 'content') : { ...block, content }
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
  // With thinking on, a message that has thinking begins with it (A13). Of one message as it came, nothing is moved.
  const thinking = isThinking(blocks[0]) ? [] : blocks.filter(isThinking)
  const rest = thinking.length === 0 ? blocks : blocks.filter((block) => !isThinking(block))
  return { role: first.role, blocks: [...thinking, ...rest], isPlain: false, extra }
}

/** Leaves out results of server tools whose call is not there (A8): no repair before this one sees them. */
function withoutServerOrphans(wires: readonly WireMessage[]): readonly WireMessage[] {
  let open: ReadonlySet<unknown> = new Set()
  return wires.map((wire) => {
    if (wire.role !== 'assistant') return wire
    const scan = scanServerCalls(wire.blocks, open)
    open = scan.open
    if (scan.orphans.length === 0) return wire
    const orphans = new Set(scan.orphans)
    return { ...wire, blocks: wire.blocks.filter((_, position) => !orphans.has(position)) }
  })
}

/** Results come first in a user message (A11); calls come last in an assistant message if a text follows one (A12). */
function order(wire: WireMessage): WireMessage {
  const { role, blocks } = wire
  if (role === 'user') {
    const results = blocks.filter(({ type }) => type === 'tool_result')
    return { ...wire, blocks: [...results, ...blocks.filter(({ type }) => type !== 'tool_result')] }
  }
  const firstCall = blocks.findIndex(({ type }) => type === 'tool_use')
  const lastText = blocks.findLastIndex(({ type }) => type === 'text')
  if (firstCall === -1 || lastText < firstCall) return wire
  const calls = blocks.filter(({ type }) => type === 'tool_use')
  return { ...wire, blocks: [...blocks.filter(({ type }) => type !== 'tool_use'), ...calls] }
}

/** A final assistant message must not end with whitespace (A5). */
function trimFinal(wires: readonly WireMessage[]): readonly WireMessage[] {
  const last = wires.at(-1)
  const block = last?.blocks.at(-1)
  if (last?.role !== 'assistant' || typeof block?.text !== 'string') return wires
  const blocks = [...last.blocks.slice(0, -1), { ...block, text: block.text.trimEnd() }]
  return [...wires.slice(0, -1), { ...last, blocks }]
}

/** Keeps the last cache breakpoints that the provider allows (A17): the later one is, the longer the prefix it covers. */
function limitBreakpoints(wires: readonly WireMessage[]): readonly WireMessage[] {
  let surplus = countBreakpoints(wires.map(({ blocks }) => blocks)) - maxBreakpoints
  if (surplus <= 0) return wires
  const strip = (block: JsonObject): JsonObject => {
    const inner =
      block.type === 'tool_result' && Array.isArray(block.content)
        ? { content: block.content.map(strip) }
        : {}
    if (surplus <= 0 || !isObject(block.cache_control)) return { ...block, ...inner }
    surplus -= 1
    return { ...without(block, 'cache_control'), ...inner }
  }
  return wires.map((wire) => ({ ...wire, blocks: wire.blocks.map(strip) }))
}

function isThinking(block: JsonObject | undefined): boolean {
  return block?.type === 'thinking' || block?.type === 'redacted_thinking'
}

function without(block: JsonObject, key: string): JsonObject {
  return extraOf(block, [key]).extra ?? {}
}
