// A view as Anthropic's messages: built from its blocks, cleaned and arranged until no rule of the provider is broken.

import type { JsonObject } from '../core/json.ts'
import type { ViewMessage } from '../core/view.ts'
import { arrange } from './anthropic-arrange.ts'
import { buildMessage } from './anthropic-build.ts'
import type { Fault, Standing } from './anthropic-faults.ts'
import { deepFaultOf, faultOf } from './anthropic-faults.ts'
import type { WireBlock, WireMessage } from './anthropic-wire.ts'
import { behindGap, readWritten, writeMessage } from './anthropic-wire.ts'
import { extraOf, materialOfView, nativeOf, standIn, wellFormed } from './foreign.ts'
import type { Encoded } from './format.ts'
import type { Note } from './losses.ts'
import { createLosses, tellIllFormed } from './losses.ts'

/** Writes a view that was repaired to the format's profile. What comes out breaks no rule that messages can break. */
export function encodeView(view: readonly ViewMessage[]): Encoded {
  const outgoing = view.map((message) => asPart(message, toOutgoing(message)))
  tellSystem(view, outgoing)
  const arranged = arrange(outgoing.map(({ wire }) => wire))
  // A well-formed object is still an object.
  const written = arranged.map((wire) => wellFormed(writeMessage(wire)) as JsonObject)
  const messages = written.filter(({ role }) => role !== 'system')
  const top = written.find(({ role }) => role === 'system')?.content
  const losses = createLosses()
  view.forEach((message, index) => {
    const note = losses.noteFor(message, index)
    for (const told of outgoing[index]?.told ?? []) note(...told)
  })
  tellIllFormed(view, losses, 'A18')
  return { messages, ...(top === undefined ? {} : { system: top }), ...losses.found() }
}

type Told = Parameters<Note>

interface Outgoing {
  readonly wire: WireMessage
  /** What became of the message's blocks. The blocks on the wire still add to it. */
  readonly told: readonly Told[]
}

function toOutgoing(message: ViewMessage): Outgoing {
  const told: Told[] = []
  const note: Note = (...one) => told.push(one)
  if (message.blocks.length === 0) note(undefined, 'dropped', 'A4: no content')
  tellDisplaced(message, note)
  const original = readWritten(
    nativeOf(message, 'anthropic')?.[0],
    (position) => (form, reason) => note(message.blocks[position], form, reason),
  )
  const isAccepted = original?.blocks.every(
    ({ value }) => deepFaultOf(value, original.role) === undefined,
  )
  if (original !== undefined && isAccepted === true) return { wire: original, told }
  // An original that would be refused is built anew from its blocks instead, which repairs it.
  const originals = originalsOf(message)
  const wire = clean(buildMessage(materialOfView(message, 'anthropic'), { note, originals }))
  if (message.role !== 'user' || wire.blocks.length > 0) return { wire, told }
  return withStandIn(message, { wire, told })
}

function asPart({ isLaterPart = false }: ViewMessage, outgoing: Outgoing): Outgoing {
  return isLaterPart ? { ...outgoing, wire: { ...outgoing.wire, isLaterPart } } : outgoing
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
    wire: { ...wire, blocks: [named], isPlain: true },
    told: told.map(([block, form, reason]) =>
      form === 'dropped' && block?.type !== 'text'
        ? [block, 'omitted', `${reason}, a stand-in is sent`]
        : [block, form, reason],
    ),
  }
}

/** Tells of results that the decoder found behind other content, which has become a message of its own. */
function tellDisplaced({ entry, blocks, positions }: ViewMessage, note: Note): void {
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
