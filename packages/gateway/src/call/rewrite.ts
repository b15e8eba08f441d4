// The client's request body with what the view changed, and nothing else: every other byte stays as the client wrote it.

import type { Json, JsonObject } from 'oriel'
import type { Place } from 'oriel/internal'
import type { CacheMarks, PlacedMessage, Provider } from 'oriel/providers'
import { bufferOf, joined } from '../http/request.ts'
import { type ClientBody, type Elements, elementsIn } from './client-body.ts'
import type { Range } from './json-outline.ts'

/** The part of a view that goes on the wire. */
export interface WireView {
  readonly messages: readonly Json[]
  /** Which of the client's messages each of them stands for. */
  readonly places: readonly Place[]
  readonly system?: Json | undefined
  /** Whether its cache markers are sent where the client sets none. @default false */
  readonly hasMarks?: boolean
  /** Whether the model's thinking is sent back. @default true */
  readonly hasReasoning?: boolean | undefined
  /** A field that the client's body does not have, as JSON with the comma behind it. @default none */
  readonly member?: string | undefined
}

/**
 * The bytes to send upstream. Messages that the view shows as the client sent them keep the client's own bytes and cache markers; when
 * all of them do, it is the client's body itself.
 */
export function rewriteBody(body: ClientBody, provider: Provider, view: WireView): Uint8Array {
  const pieces = rewritten(body, provider, view)
  // A long body is put together once.
  return joined(view.member === undefined ? pieces : withMember(pieces, view.member))
}

/** A body's pieces, the first of which opens it, with one more field in front of the others. */
function withMember([first, ...rest]: Pieces, member: string): Pieces {
  const inside = first.indexOf(0x7b) + 1
  return [first.subarray(0, inside), Buffer.from(member), first.subarray(inside), ...rest]
}

type Pieces = readonly [Uint8Array, ...Uint8Array[]]

function rewritten(body: ClientBody, provider: Provider, view: WireView): Pieces {
  const { fields, request, resend, cacheMarks } = provider
  const listKey = fields.messages
  const range = body.outline.fields.get(listKey)
  if (range === undefined) return [body.bytes]
  const bytes = bufferOf(body.bytes)
  const sent = request.list(body.value)
  const isMarking = view.hasMarks === true && !(cacheMarks && bytes.includes(`"${cacheMarks.key}"`))
  const own = placed(view, cacheMarks, isMarking)
  const fitting =
    view.hasReasoning === false && resend?.withoutReasoning !== undefined
      ? resend.withoutReasoning(own)
      : (resend?.fitReasoning?.(own, sent) ?? own)
  const parts = request.hasSystemNotes ? withNotes(fitting, sent) : fitting
  const hasNotes = request.hasSystemNotes === true && sent.some(isSystem)
  const system = hasNotes || request.joinSystem === undefined ? undefined : view.system
  if (system === undefined && isUntouched(parts, sent)) return [body.bytes]
  const elements = elementsIn(body, listKey)
  const written: Pieces =
    elements === undefined
      ? [
          Buffer.from(
            replace(
              body.text,
              range,
              `[${parts.map((one) => textOf(one, sent, cacheMarks)).join(',')}]`,
            ),
          ),
        ]
      : writeList(bytes, elements, parts, (part) => textOf(part, sent, cacheMarks))
  if (system === undefined) return written
  return [Buffer.from(withSystem(`${bufferOf(joined(written))}`, body, provider, system))]
}

/** The body with other parts in its list. Neighbours that stay are one piece of the client's bytes, with what stands between them. */
function writeList(
  bytes: Buffer,
  { start, ends }: Elements,
  parts: readonly Part[],
  write: (part: Part) => string,
): Pieces {
  const endOf = (index: number): number => ends[index]?.byte ?? start.byte
  const pieces: [Uint8Array, ...Uint8Array[]] = [bytes.subarray(0, start.byte)]
  for (let at = 0; at < parts.length; at++) {
    if (at > 0) pieces.push(comma)
    const { from, isSame } = parts[at] as Part
    if (!isSame || from === undefined) {
      pieces.push(Buffer.from(write(parts[at] as Part)))
      continue
    }
    let last = from
    while (isNext(parts[at + 1], last)) {
      at += 1
      last += 1
    }
    pieces.push(bytes.subarray(beginOf(bytes, endOf(from - 1)), endOf(last)))
  }
  pieces.push(bytes.subarray(endOf(ends.length - 1)))
  return pieces
}

const comma = Buffer.from(',')

function isNext(part: Part | undefined, last: number): boolean {
  return part?.isSame === true && part.from === last + 1
}

/** Where the element behind a place begins: blanks and a comma stand before it. */
function beginOf(bytes: Buffer, place: number): number {
  let at = place
  while (' \n\r\t,'.includes(String.fromCharCode(bytes[at] as number))) at += 1
  return at
}

/** A message that is not as the client sent it, with the client's cache mark. */
function textOf({ value, from }: Part, sent: readonly Json[], marks?: CacheMarks): string {
  const original = from === undefined ? undefined : sent[from]
  return JSON.stringify(
    marks === undefined || original === undefined ? value : marks.withMarkOf(value, original),
  )
}

type Part = PlacedMessage

function isUntouched(parts: readonly Part[], sent: readonly Json[]): boolean {
  return (
    parts.length === sent.length && parts.every(({ from, isSame }, at) => isSame && from === at)
  )
}

/** The view's messages at their places. */
function placed(view: WireView, marks: CacheMarks | undefined, isMarking: boolean): Part[] {
  return view.messages.map((message, at) => {
    // Marks in the log say where the cache ended when the message came; where it ends now, the client says anew.
    const value = isMarking || marks === undefined ? message : marks.withoutMarks(message)
    const place = view.places[at] ?? { isSame: false }
    return { ...place, value, isSame: place.isSame && marks?.isMarked(value) !== true }
  })
}

/**
 * Some clients put system messages between the others, as notes on the message before. The provider that they talk to takes
 * them there, so they stay behind the message that they follow, and leave with it.
 */
function withNotes(parts: readonly Part[], sent: readonly Json[]): readonly Part[] {
  if (!sent.some(isSystem)) return parts
  const behind = new Map<number, Part[]>()
  let anchor = -1
  sent.forEach((message, at) => {
    if (!isSystem(message)) anchor = at
    else
      behind.set(anchor, [
        ...(behind.get(anchor) ?? []),
        { value: message, from: at, isSame: true },
      ])
  })
  const placed = parts.flatMap((part) => {
    const notes = part.from === undefined ? undefined : behind.get(part.from)
    if (part.from !== undefined) behind.delete(part.from)
    return [part, ...(notes ?? [])]
  })
  return [
    ...(behind.get(-1) ?? []),
    ...placed,
    ...(anchor === -1 ? [] : (behind.get(anchor) ?? [])),
  ]
}

function isSystem(message: Json): boolean {
  return isObject(message) && message.role === 'system'
}

/** System text that the log holds beside the client's own. */
function withSystem(text: string, body: ClientBody, provider: Provider, system: Json): string {
  const { fields, request } = provider
  const own = body.outline.fields.get(fields.system)
  const all = JSON.stringify(request.joinSystem?.(body.value[fields.system], system))
  if (own === undefined) return text.replace('{', () => `{${JSON.stringify(fields.system)}:${all},`)
  const list = body.outline.fields.get(fields.messages)
  const isBehind = list !== undefined && own.start > list.start
  const shift = isBehind ? text.length - body.text.length : 0
  return replace(text, { start: own.start + shift, end: own.end + shift }, all)
}

function replace(text: string, { start, end }: Range, by: string): string {
  return text.slice(0, start) + by + text.slice(end)
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
