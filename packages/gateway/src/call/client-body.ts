// A request body as it came: its bytes, what it says, and where its parts are. A body that begins like one that was here before is read
// only from where it differs: clients resend the whole conversation with every request.

import type { Json, JsonObject, ReadHistory } from 'oriel'
import { refuse } from '../http/errors.ts'
import { boundedOutline, bufferOf } from '../http/request.ts'
import type { Limits } from '../options.ts'
import { elementsOf, moved, type Outline, outlineOf, type Range } from './json-outline.ts'

export interface ClientBody {
  /** The text as it came. Made when first read. */
  readonly text: string
  readonly bytes: Uint8Array
  readonly value: JsonObject
  readonly outline: Outline
  /** How it was read from one that begins alike. */
  readonly alike?: SharedPrefix
}

interface SharedPrefix {
  readonly listKey: string
  /** How many elements of its list are those of the other. */
  readonly count: number
  /** The ends of the elements of its list. */
  readonly ends: () => readonly End[]
  readonly start: End
}

/** The elements of a body's list, by their places. */
export interface Elements {
  /** Where the first may begin: behind the bracket. */
  readonly start: End
  readonly ends: readonly End[]
}

/** A body that was read, with what is needed to read one that begins like it. */
export interface KnownBody {
  readonly bytes: Buffer
  /** The memory that begins with the bytes, where the next body may stand in their place. */
  readonly room?: Buffer
  readonly listKey: string
  readonly list: readonly Json[]
  /** Where each element of the list ends, in characters and in bytes. */
  readonly ends: readonly End[]
  /** Where the first element may begin: behind the bracket. */
  readonly start: End
  readonly depth: number
  readonly nodes: number
  /** What was read of its history. */
  readonly history?: ReadHistory | undefined
}

interface End {
  readonly char: number
  readonly byte: number
}

/** A body as JSON. Throws a refusal for what is none, or is beyond the limits. */
export function parseBody(bytes: Uint8Array, limits: Pick<Limits, 'depth' | 'nodes'>): ClientBody {
  const text = decodeText(bytes)
  const outline = boundedOutline(text, limits)
  return { text, bytes, value: parseObject(text), outline }
}

/** The same as `parseBody`, from a body that begins alike; undefined where that saves nothing. */
export function parseIncremental(
  bytes: Buffer,
  known: KnownBody,
  limits: Pick<Limits, 'depth' | 'nodes'>,
): ClientBody | undefined {
  const common = commonPrefix(bytes, known.bytes)
  const count = countEnds(known.ends, common)
  const end = known.ends[count - 1]
  if (end === undefined) return undefined
  const head = decodeText(known.bytes.subarray(0, known.start.byte))
  const tail = decodeText(bytes.subarray(end.byte))
  const gap = /^\s*,/.exec(tail)?.[0].length ?? 0
  const short = head + tail.slice(gap)
  const outline = outlineOf(short, limits)
  const nodes = known.nodes + outline.nodes
  const depth = Math.max(known.depth, outline.depth)
  if (nodes > limits.nodes || depth > limits.depth) return undefined
  // The rest of the list may be anything, so what is left must be valid by itself.
  const value = tryParse(short)
  const rest = value?.[known.listKey]
  if (value === undefined || !Array.isArray(rest)) return undefined
  if (gap > 0 && rest.length === 0) return undefined
  const list = outline.fields.get(known.listKey)
  // A second field of the same name would win, and is not the one that was compared.
  if (list?.start !== known.start.char - 1) return undefined
  const shift = end.char + gap - known.start.char
  const messages = known.list.slice(0, count)
  messages.push(...rest)
  let text: string | undefined
  const ends = (): readonly End[] => {
    const start = { char: end.char + gap, byte: end.byte + gap }
    const own = endsOf(short, elementsOf(short, list), { from: known.start.char, start })
    return [...known.ends.slice(0, count), ...own]
  }
  return {
    bytes,
    alike: { listKey: known.listKey, count, ends, start: known.start },
    value: { ...value, [known.listKey]: messages },
    outline: { ...shifted(outline, known.start.char, shift), depth, nodes },
    get text() {
      text ??= decodeText(bytes)
      return text
    },
  }
}

/** What must be kept of a body so that the next one can be read from it; undefined where it holds no list of objects. */
export function knownBody(
  body: ClientBody,
  listKey: string,
  history: ReadHistory,
): KnownBody | undefined {
  const list = body.value[listKey]
  if (!Array.isArray(list) || !list.every(isRecord)) return undefined
  const elements = elementsIn(body, listKey)
  if (elements === undefined) return undefined
  const { depth, nodes } = body.outline
  return { bytes: bufferOf(body.bytes), listKey, list, ...elements, depth, nodes, history }
}

/** Where the elements of a body's list are; undefined where the field is no list, or where bytes and text do not begin alike. */
export function elementsIn(body: ClientBody, listKey: string): Elements | undefined {
  const known = found.get(body)
  if (known !== undefined) return known
  const range = body.outline.fields.get(listKey)
  const list = body.value[listKey]
  if (range === undefined || !Array.isArray(list) || hasByteOrderMark(body)) return undefined
  const elements = body.alike?.listKey === listKey ? placed(body.alike) : search(body, range)
  if (elements.ends.length !== list.length) return undefined
  found.set(body, elements)
  return elements
}

/** A body has one list, whose elements are looked for once. */
const found = new WeakMap<ClientBody, Elements>()

function placed({ start, ends }: SharedPrefix): Elements {
  return { start, ends: ends() }
}

function search({ text }: ClientBody, range: Range): Elements {
  const char = range.start + 1
  const start = { char, byte: Buffer.byteLength(text.slice(0, char)) }
  return { start, ends: endsOf(text, elementsOf(text, range), { from: char, start }) }
}

/** A mark of three bytes, which no text shows. */
function hasByteOrderMark({ bytes }: ClientBody): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
}

/** Where elements end in a body whose place `start` is at the character `from` of the text. */
function endsOf(
  text: string,
  elements: readonly Range[],
  { from, start }: { readonly from: number; readonly start: End },
): readonly End[] {
  let at = from
  let { byte } = start
  return elements.map(({ end }) => {
    byte += Buffer.byteLength(text.slice(at, end))
    at = end
    return { char: start.char + end - from, byte }
  })
}

function shifted(outline: Outline, from: number, by: number): Pick<Outline, 'fields' | 'members'> {
  const place = (at: number): number => (at >= from ? at + by : at)
  const move = ({ start, end }: Range): Range => ({ start: place(start), end: place(end) })
  return moved(outline, move)
}

/** How many elements end within a prefix. */
function countEnds(ends: readonly End[], prefix: number): number {
  let [low, high] = [0, ends.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((ends[middle] as End).byte <= prefix) low = middle + 1
    else high = middle
  }
  return low
}

/** How many bytes two buffers begin with alike. */
export function commonPrefix(a: Buffer, b: Buffer): number {
  let [low, high] = [0, Math.min(a.length, b.length)]
  if (a.compare(b, 0, high, 0, high) === 0) return high
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if (a.compare(b, low, middle, low, middle) === 0) low = middle
    else high = middle
  }
  return low
}

const decoder = new TextDecoder('utf-8', { fatal: true })

function decodeText(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes)
  } catch {
    throw refuse(400, 'invalid-json', 'The body is not valid UTF-8.')
  }
}

function parseObject(text: string): JsonObject {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw refuse(400, 'invalid-json', 'The body is not valid JSON.')
  }
  if (!isRecord(value)) throw refuse(400, 'invalid-json', 'The body must be a JSON object.')
  return value
}

function tryParse(text: string): JsonObject | undefined {
  try {
    return parseObject(text)
  } catch {
    return undefined
  }
}

function isRecord(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
