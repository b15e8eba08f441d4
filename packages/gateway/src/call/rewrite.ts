// The client's request body with what the view changed, and nothing else: every other byte stays as the client wrote it.

import { equalJson, type Json, type JsonObject } from 'oriel'
import type { CacheMarks, Gist, PlacedMessage, Provider, ResendFormat } from 'oriel/providers'
import { bufferOf, joined } from '../http/request.ts'
import { type ClientBody, type Elements, elementsIn } from './client-body.ts'
import type { Range } from './json-outline.ts'

/** The part of a view that goes on the wire. */
export interface WireView {
  readonly messages: readonly Json[]
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
  const list = body.value[listKey]
  if (range === undefined) return [body.bytes]
  const bytes = bufferOf(body.bytes)
  const sent: readonly Json[] = Array.isArray(list) ? list : request.list(body.value)
  const isMarking = view.hasMarks === true && !(cacheMarks && bytes.includes(`"${cacheMarks.key}"`))
  const aligned = align(sent, view.messages, provider, isMarking)
  const fitting =
    view.hasReasoning === false && resend.withoutReasoning !== undefined
      ? resend.withoutReasoning(aligned)
      : (resend.fitReasoning?.(aligned, sent) ?? aligned)
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

/** Finds the client's message behind each message of the view: by what it says, else by its call ids. Order is kept. */
function align(
  sent: readonly Json[],
  view: readonly Json[],
  { resend, cacheMarks: marks }: Provider,
  isMarking: boolean,
): readonly Part[] {
  const search = new Search(sent, resend)
  let next = 0
  return view.map((message): Part => {
    // Marks in the log say where the cache ended when the message came; where it ends now, the client says anew.
    const plain = isMarking || marks === undefined ? message : marks.withoutMarks(message)
    const isMarked = marks?.isMarked(plain) === true
    // Most messages are the next one, or what was shown for a later one the last time.
    if (!isMarked && resend.isAlike(plain, sent[next])) {
      next += 1
      return { value: plain, isSame: true, from: next - 1 }
    }
    const before = search.shown(plain, next)
    if (before !== undefined) {
      next = before.from + 1
      return before
    }
    const gist = resend.gistOf(plain)
    const same = search.gist(gist.text, next)
    const ids = idsOf(plain, resend)
    const from = same ?? search.ids(ids, next) ?? search.ids(lastOf(ids), next)
    if (from === undefined) return { value: plain, isSame: false }
    next = from + 1
    // Reasoning that the view leaves out, or has in another message, must not come back with the client's bytes.
    const { reasoning, hasId } = search.gistAt(from)
    const isWhole = (reasoning === '' || reasoning === gist.reasoning) && (!hasId || gist.hasId)
    const isSame = same !== undefined && isWhole && !isMarked
    remember(sent[from] as Json, { value: plain, isSame })
    return { value: plain, isSame, from }
  })
}

/** What a client's message was shown as, the last time that this was found out. */
const shown = new WeakMap<object, Pick<Part, 'value' | 'isSame'>>()

function shownBefore(message: Json): Pick<Part, 'value' | 'isSame'> | undefined {
  return isObject(message) ? shown.get(message) : undefined
}

function remember(message: Json, part: Pick<Part, 'value' | 'isSame'>): void {
  if (isObject(message)) shown.set(message, part)
}

/** The client's messages by what they say and by the calls in them; each is read only when it is needed. */
class Search {
  readonly #sent: readonly Json[]
  readonly #resend: ResendFormat

  constructor(sent: readonly Json[], resend: ResendFormat) {
    this.#sent = sent
    this.#resend = resend
  }

  /** The message that was shown in this form before. */
  shown(value: Json, from: number): (Part & { readonly from: number }) | undefined {
    for (let at = from; at < this.#sent.length; at++) {
      const before = shownBefore(this.#sent[at] as Json)
      if (before !== undefined && equalJson(value, before.value))
        return { value, isSame: before.isSame, from: at }
    }
    return undefined
  }

  gistAt(index: number): Gist {
    return readOnce(this.#sent[index] as Json, this.#resend).gist
  }

  gist(text: string, from: number): number | undefined {
    return this.#find(from, ({ gist }) => gist.text === text)
  }

  ids(ids: string, from: number): number | undefined {
    return ids === '' ? undefined : this.#find(from, (one) => one.ids === ids || one.last === ids)
  }

  /** Reading is what takes time, and is done once; looking through all is faster than keeping them in order. */
  #find(from: number, isIt: (read: Read) => boolean): number | undefined {
    for (let at = from; at < this.#sent.length; at++) {
      if (isIt(readOnce(this.#sent[at] as Json, this.#resend))) return at
    }
    return undefined
  }
}

/** What was read of a client's message. The same objects come again with the next request, and nobody changes them. */
interface Read {
  readonly gist: Gist
  readonly ids: string
  readonly last: string
}

const read = new WeakMap<object, Read>()

function readOnce(message: Json, resend: ResendFormat): Read {
  if (!isObject(message)) return { gist: resend.gistOf(message), ids: '', last: '' }
  const known = read.get(message)
  if (known !== undefined) return known
  const ids = idsOf(message, resend)
  const made = { gist: resend.gistOf(message), ids, last: lastOf(ids) }
  read.set(message, made)
  return made
}

/** The calls of a message as one text; empty where there are none. */
function idsOf(message: Json, { callsIn }: ResendFormat): string {
  const calls = callsIn(message)
  return calls.length === 0 ? '' : `ids:${calls.join(',')}`
}

/** The last of several ids: the view may show results that the client never saw before its own. */
function lastOf(ids: string): string {
  return ids === '' ? '' : `last:${ids.slice(ids.lastIndexOf(',') + 1).replace('ids:', '')}`
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
