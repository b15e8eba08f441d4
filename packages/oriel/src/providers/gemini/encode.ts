// A view as Gemini's contents: built from its blocks, cleaned and arranged until no rule of the provider is broken.

import { equalJson, type Json, type JsonObject, setField } from '../../core/log/json.ts'
import { isCall } from '../../core/state/exchange.ts'
import type { ViewMessage } from '../../core/view/view.ts'
import { isRebuilt, materialOfView, nativeOf, standIn, wellFormed } from '../foreign.ts'
import type { Encoded } from '../format.ts'
import { createLosses, type LossNote, tellIllFormed } from '../losses.ts'
import { buildContent, wireName } from './build.ts'
import { asObject, geminiFormat, hasField, innerOf, isEmptyText } from './parts.ts'
import { deepFaultOf, type Fault, faultOf, innerFaults } from './rules.ts'
import { behindGap, readWritten, type WireContent, type WirePart, writeContent } from './wire.ts'

/** Writes a view that was repaired to the format's profile. What comes out breaks no rule that contents can break. */
export function encodeView(view: readonly ViewMessage[]): Encoded {
  let names: ReadonlyMap<string, string> = new Map()
  const outgoing = view.map((message, index) => {
    if (message.role === 'assistant') names = namesOf(message)
    const { wire, told } = toOutgoing(message, names)
    return { wire: { ...wire, shown: [index] }, told }
  })
  tellSystem(view, outgoing)
  const wires = outgoing.map(({ wire }) => wire)
  const system = merge(wires.filter(({ role }) => role === 'system'))[0]
  const spoken = merge(wires.filter(({ role }) => role !== 'system')).map(order)
  const losses = createLosses()
  view.forEach((message, index) => {
    const note = losses.noteFor(message, index)
    for (const told of outgoing[index]?.told ?? []) note(...told)
  })
  tellIllFormed(view, losses, 'GC13')
  return {
    ...writeAll(view, spoken),
    ...(system === undefined ? {} : { system: wellFormed(writeContent(system)) }),
    ...losses.found(),
  }
}

function writeAll(
  view: readonly ViewMessage[],
  wires: readonly WireContent[],
): Pick<Encoded, 'messages' | 'origins'> {
  const written = wires.flatMap((wire) => {
    const { pieces = [wire], shown = [], isWhole = false } = wire
    const entries = shown.flatMap((at) => view[at]?.entry?.seq ?? [])
    return pieces.map((piece, part) => {
      const content = writeContent(piece)
      const message = wellFormed(content)
      const origin = { entries, shown, isWhole: isWhole && message === content }
      return { message, origin: part === 0 ? origin : { ...origin, part } }
    })
  })
  return {
    messages: written.map(({ message }) => message),
    origins: written.map(({ origin }) => origin),
  }
}

/** The names of a message's calls as they are sent, by their ids on the wire. */
function namesOf({ blocks, wireIds }: ViewMessage): ReadonlyMap<string, string> {
  const calls = blocks.flatMap((block, index): (readonly [string, string])[] =>
    isCall(block) ? [[wireIds?.get(index) ?? block.callId, wireName(block.name)]] : [],
  )
  return new Map(calls)
}

interface Outgoing {
  readonly wire: WireContent
  /** What became of the message's blocks. The parts on the wire still add to it. */
  readonly told: readonly Parameters<LossNote>[]
}

function toOutgoing(message: ViewMessage, names: ReadonlyMap<string, string>): Outgoing {
  const told: Parameters<LossNote>[] = []
  const note: LossNote = (...one) => told.push(one)
  if (message.blocks.length === 0) note(undefined, 'dropped', 'GC4: no content')
  tellDisplaced(message, note)
  const original = originalOf(message, names, note)
  if (original !== undefined) return { wire: original, told }
  const built = buildContent(materialOfView(message, geminiFormat), { note, names })
  tellReshaped(message, built, note)
  const cleaned = clean(built)
  const isSame =
    cleaned.parts.length === built.parts.length &&
    cleaned.parts.every((part, at) => part === built.parts[at])
  const wire = { ...cleaned, isWhole: isSame && isRebuilt(message, geminiFormat) }
  if (message.role !== 'user' || wire.parts.length > 0) return { wire, told }
  return withStandIn(message, { wire, told })
}

/** The content as it came, where that was kept, is shown unchanged and would be accepted. */
function originalOf(
  message: ViewMessage,
  names: ReadonlyMap<string, string>,
  note: LossNote,
): WireContent | undefined {
  const { blocks } = message
  const native = nativeOf(message, geminiFormat) ?? []
  const original = readWritten(
    native,
    (position) => (form, reason) =>
      note(native.length === 1 ? blocks[position] : undefined, form, reason),
  )
  const isAccepted = original?.parts.every(({ value }, position) => {
    if (original.pieces !== undefined && isEmptyText(value)) return true
    if (deepFaultOf(value, original.role === 'model' ? 'model' : 'user') !== undefined) return false
    const block = blocks[position]
    if (block?.type !== 'tool-result') return true
    const response = innerOf(value, 'functionResponse')
    return response?.name === (names.get(block.callId) ?? response?.name)
  })
  const isEmpty = original?.pieces?.some(({ parts }) => parts.length === 0) === true
  if (original === undefined || isAccepted !== true || isEmpty) return undefined
  return { ...original, isWhole: behindGap(native[0]).size === 0 }
}

/** Tells of parts that are shown as they came and yet are not sent like that: an original that would be refused is built anew. */
function tellReshaped(
  { entry, blocks, positions }: ViewMessage,
  built: WireContent,
  note: LossNote,
) {
  if (entry?.native?.format !== geminiFormat) return
  const written = readWritten(entry.native.value, () => () => {})
  const isSplit = written?.pieces !== undefined
  if (isSplit) note(undefined, 'full', 'GC3: sent as one content')
  if (written === undefined) note(undefined, 'full', 'GC1: sent in an accepted shape')
  const original = isSplit ? [] : (written?.parts ?? [])
  const sent = built.parts.map(({ value }) => value)
  blocks.forEach((block, index) => {
    const position = positions?.[index] ?? index
    const came = original[position]?.value
    if (block !== entry.blocks[position] || came === undefined) return
    const rule = deepFaultOf(came, built.role === 'model' ? 'model' : 'user')?.rule
    if (sent.some((value) => equalJson(value, came))) return
    note(block, 'full', `${rule ?? geminiFormat}: sent in an accepted shape`)
  })
}

/** The contents around one of the user rely on it (GC2, GC3, GC5): what cannot be carried is at least named. */
function withStandIn({ blocks }: ViewMessage, { wire, told }: Outgoing): Outgoing {
  const text = blocks
    .filter(({ type }) => type !== 'text')
    .map(standIn)
    .join(' ')
  if (text === '') return { wire, told }
  return {
    wire: { ...wire, parts: [{ value: { text }, tell: () => {} }], isWhole: false },
    told: told.map(([block, form, reason]) =>
      form === 'dropped' && block?.type !== 'text'
        ? [block, 'omitted', `${reason}, a stand-in is sent`]
        : [block, form, reason],
    ),
  }
}

/** Tells of responses that the decoder found behind other parts, which have become a message of their own. */
function tellDisplaced({ entry, blocks, positions }: ViewMessage, note: LossNote): void {
  if (entry?.native?.format !== geminiFormat) return
  const displaced = behindGap(entry.native.value[0])
  blocks.forEach((block, index) => {
    if (displaced.has(positions?.[index] ?? index)) {
      note(block, 'full', 'GC9: moved to the front of its content')
    }
  })
}

/** Tells of system text that cannot stay where it was (GC1). At the very front of another format's messages it only changes its field. */
function tellSystem(view: readonly ViewMessage[], outgoing: readonly Outgoing[]): void {
  let isSpoken = false
  view.forEach(({ role, entry }, index) => {
    if (role !== 'system') isSpoken = true
    else if (isSpoken || entry?.source?.format === geminiFormat) {
      for (const { tell } of outgoing[index]?.wire.parts ?? []) {
        tell('full', 'GC1: moved out of the contents to the system instruction')
      }
    }
  })
}

/** The content without the parts that the provider would refuse. */
function clean(wire: WireContent): WireContent {
  const place = wire.role === 'model' || wire.role === 'system' ? wire.role : 'user'
  const parts = wire.parts.flatMap((part): readonly WirePart[] => {
    const fault = faultOf(part.value, place)
    if (fault === undefined) return [withoutInnerFaults(part)]
    part.tell('dropped', reasonOf(fault))
    return []
  })
  return { ...wire, parts }
}

function withoutInnerFaults(part: WirePart): WirePart {
  const { value, tell } = part
  const [fault] = innerFaults(value)
  if (fault === undefined) return part
  const response = asObject(value.functionResponse)
  // A part with faults inside has a list of them.
  const parts = (response.parts as readonly Json[]).filter(
    (part) => faultOf(part, 'response') === undefined,
  )
  tell('full', reasonOf(fault))
  return { value: { ...value, functionResponse: { ...response, parts } }, tell }
}

function reasonOf({ rule, message }: Fault): string {
  return `${rule}: ${message}`
}

/** Joins neighbours of the same role (GC3); contents without parts are left out (GC4). */
function merge(wires: readonly WireContent[]): readonly WireContent[] {
  const groups: WireContent[][] = []
  for (const wire of wires) {
    if (wire.parts.length === 0) continue
    const group = groups.at(-1)
    if (group?.[0]?.role === wire.role) group.push(wire)
    else groups.push([wire])
  }
  return groups.map(join)
}

function join(group: readonly WireContent[]): WireContent {
  const [first, ...others] = group as readonly [WireContent, ...WireContent[]]
  if (others.length === 0) return first
  const extra: Record<string, Json> = {}
  for (const wire of group) {
    for (const [key, value] of Object.entries(wire.extra)) setField(extra, key, value)
  }
  const hasNoRole = group.every((wire) => wire.hasNoRole === true)
  return {
    role: first.role,
    parts: group.flatMap((wire) => wire.parts),
    extra,
    ...(hasNoRole ? { hasNoRole } : {}),
    shown: group.flatMap(({ shown = [] }) => shown),
    isWhole: group.every(({ isWhole = false }) => isWhole),
  }
}

/** Responses come first in a content of the user (GC9). */
function order(wire: WireContent): WireContent {
  const isResponse = ({ value }: { readonly value: JsonObject }): boolean =>
    hasField(value, 'functionResponse')
  const firstOther = wire.parts.findIndex((part) => !isResponse(part))
  const late = wire.parts.filter((part, at) => isResponse(part) && at > firstOther)
  if (wire.role !== 'user' || firstOther === -1 || late.length === 0) return wire
  for (const { tell } of late) tell('full', 'GC9: moved to the front of its content')
  const others = wire.parts.slice(firstOther).filter((part) => !isResponse(part))
  const parts = [...wire.parts.slice(0, firstOther), ...late, ...others]
  return { ...wire, parts, isWhole: false }
}
