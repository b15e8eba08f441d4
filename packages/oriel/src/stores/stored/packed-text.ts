// Compressed text: a row's JSON, deflated with a preset dictionary of what entries have in common or with a row before it, or kept as what
// differs from that. A log with a view at every step takes a third of the room; checkpoints, which repeat each other, a twentieth.

import { deflateRawSync, inflateRawSync } from 'node:zlib'
import type { LogRow } from '../backend.ts'
import { applyDifference, differenceOf, type TextDifference } from './text-difference.ts'

/** Shorter texts stay as they are: compressing one takes 17 microseconds, whatever its length. */
export const minPackedLength = 256

/** Compressing must save at least this share: reading costs time too. */
const minSaved = 1 / 8

/** Long texts are compressed fast: they are tool output and attachments, and the writer has others to serve. */
const fastFrom = 64 * 1024

/**
 * Dictionaries by their number, which is the first byte of what was packed. One that was released is never changed: add another. What is
 * used most stands last, where it is cheapest to refer to.
 */
const dictionaries: readonly Buffer[] = [
  Buffer.alloc(0),
  Buffer.from(
    [
      '{"type":"usage","view":"v","sample":{"uncached":,"cacheRead":0,"cacheWrite":0,"output":},"broken":{"cause":"",',
      '{"rule":"compaction","form":"dropped","target":{"ranges":[[,]]},"text":"","digest":{"total":,"first":"e","last":"e","counts":[["assistant",',
      '"tool",],["user",]],"tools":[["search",],"quotes":[],"listing":{"changed":[],"read":[],"commands":[]},"actions":{"rows":[["look","",1,false],',
      '"without":[],"directives":[],"memory":{"reason":"before the last user turns","tokensBefore":,"tokensAfter":0,"since":,"window":{"turn":},',
      '"type":"edit","form":"clipped","form":"summarized","form":"omitted","target":{"seq":,"block":0},"text":"',
      '{"type":"mark","mark":"expand","target":,"block":0,"until":{"type":"undo","edit":"e{"type":"setting","name":"policy","value":{"',
      '{"type":"request","step":,"format":"gemini","format":"ai-sdk","format":"langchain","format":"anthropic","format":"openai-responses",',
      '"format":"openai-chat","model":"claude-sonnet-4-5","model":"gpt-5","view":"v","frameHash":"',
      // The hash of an empty frame.
      '44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a","policyHash":"","bodyHash":"","encoderVersion":1,"epoch":"p',
      '"details":{"tokens":,"budget":,"unkeptFrom":,"schedule":{"cause":"none"}},"id":"e',
      '{"type":"message","id":"e","seq":,"at":179,"turn":,"step":,"role":"system","origin":"system","role":"user","origin":"user",',
      '"role":"tool","origin":"tool","blocks":[{"type":"tool-result","callId":"toolu_01","callId":"call_","content":"","isError":false,',
      '"role":"assistant","origin":"model","blocks":[{"type":"reasoning","text":"{"type":"tool-call","callId":"call_","name":"","arguments":"{\\"',
      '"path\\":\\"command\\":\\"query\\":\\"{"type":"text","text":" the  of  and  to  in  is  that  for  with  this  error  function  return ',
      '\\n    \\n  const \\n","id":"e","native":{"format":"source":{"format":"openai-chat"},"by":"',
    ].join(''),
  ),
  // Of the tokens of passages: the commonest words of English and of programs in their stems, and counts.
  Buffer.from(
    [
      'const import export class string number type test name data user id json http https com www api url get set list add new ',
      'result message text content line lines code app src lib index ts js py main model true false null undefin return function ',
      'error fail file read write path line config status build total order valu print run use make time need work find show ',
      'chang look know think want give take place about which there their would could other when what where then because becaus ',
      'whether than from have been were was are not but can will all one two you your they them this that with for is in to of ',
      'and the a *2 *3 *4 *5',
    ].join(''),
  ),
]
const ofEntries = 1
const ofTokens = 2
/** No dictionary has these numbers: what follows is not compressed, is compressed with another row's text, or says how it differs from that. */
const plain = 0
const follower = 254
const difference = 255

/** The text compressed; undefined where that is not worth it. `unpackText` gives it back. */
export function packText(text: string): Uint8Array | undefined {
  return text.length < minPackedLength ? undefined : packBytes(Buffer.from(text))
}

/** The same for bytes. */
export function packBytes(bytes: Uint8Array): Uint8Array | undefined {
  return bytes.length < minPackedLength ? undefined : packWith(ofEntries, bytes)
}

function packWith(dictionary: number, bytes: Uint8Array): Uint8Array | undefined {
  const isLong = bytes.length >= fastFrom
  const packed = deflateRawSync(bytes, {
    dictionary: dictionaries[dictionary] as Buffer,
    level: isLong ? 1 : 6,
  })
  if (packed.length + 1 > bytes.length * (1 - minSaved)) return undefined
  return Buffer.concat([Buffer.of(dictionary), packed])
}

/** Shorter texts are compressed alone. */
const minDifferenceLength = 8 * 1024
/** Texts to go through until one that is whole. */
const maxDepth = 16

/** A text of the same kind that stands before, by the number of its row. */
export interface PackedBase {
  readonly seq: number
  /** How many texts it needs itself. */
  readonly depth: number
  readonly text: string
}

/** Whether a text may be packed as the difference from one before it: then that one is worth looking for. */
export function mayDiffer({ type, body = '' }: Pick<LogRow, 'type' | 'body'>): boolean {
  return type === 'edit' && body.length >= minDifferenceLength
}

/** The text as what differs from another, where that is shorter by a quarter than the text alone; else as `packText` does. */
export function packDifference(text: string, base: PackedBase | undefined): Uint8Array | undefined {
  const whole = packText(text)
  if (base === undefined || base.depth >= maxDepth) return whole
  const { steps, added } = differenceOf(base.text, text)
  const json = JSON.stringify([base.seq, base.depth + 1, steps, added])
  const body = packText(json) ?? Buffer.concat([Buffer.of(plain), Buffer.from(json)])
  const least = (whole?.length ?? Buffer.byteLength(text)) * 0.75
  return body.length < least ? Buffer.concat([Buffer.of(difference), body]) : whole
}

/** Bytes of the number of the row that a follower needs, behind the first one. */
const seqBytes = 6

/**
 * The text compressed with one before it as the dictionary, where that is shorter by a quarter: records of requests differ in a few numbers.
 * That one must be packed alone, so that no chain is as long as a conversation.
 */
export function packFollower(
  text: string,
  base: Pick<PackedBase, 'seq' | 'text'> | undefined,
): Uint8Array | undefined {
  const whole = packText(text)
  if (base === undefined || whole === undefined) return whole
  const start = Buffer.alloc(1 + seqBytes, follower)
  start.writeUIntBE(base.seq, 1, seqBytes)
  const packed = deflateRawSync(Buffer.from(text), { dictionary: leading(base.text) })
  const isShort = start.length + packed.length < whole.length * 0.75
  return isShort ? Buffer.concat([start, packed]) : whole
}

/** The row whose text a packed one needs; undefined for one that was packed alone. */
export function leaderOf(packed: unknown): number | undefined {
  if (!(packed instanceof Uint8Array) || packed[0] !== follower) return undefined
  return packed.length > seqBytes ? Buffer.from(packed).readUIntBE(1, seqBytes) : undefined
}

function leading(text: string): Buffer {
  return Buffer.concat([dictionaries[ofEntries] as Buffer, Buffer.from(text)])
}

function unpackFollower(
  packed: Uint8Array,
  baseAt: (seq: number) => Omit<PackedBase, 'seq'> | undefined,
): Omit<PackedBase, 'seq'> | undefined {
  const base = baseAt(leaderOf(packed) ?? 0)
  if (base?.depth !== 0) return undefined
  try {
    const bytes = inflateRawSync(packed.subarray(1 + seqBytes), { dictionary: leading(base.text) })
    return { text: bytes.toString('utf8'), depth: 1 }
  } catch {
    return undefined
  }
}

/** The text of a packed column and its depth; `baseAt` gives those of another row. Undefined where something is damaged. */
export function unpackRow(
  packed: Uint8Array,
  baseAt: (seq: number) => Omit<PackedBase, 'seq'> | undefined,
): Omit<PackedBase, 'seq'> | undefined {
  if (packed[0] === follower) return unpackFollower(packed, baseAt)
  if (packed[0] !== difference) {
    const text = unpackText(packed)
    return text === undefined ? undefined : { text, depth: 0 }
  }
  const inner = packed.subarray(1)
  const json = inner[0] === plain ? Buffer.from(inner.subarray(1)).toString() : unpackText(inner)
  const parts = readDifference(json)
  const base = parts === undefined ? undefined : baseAt(parts.seq)
  // Each is one deeper than its base, so that none can lead back to itself.
  if (parts === undefined || base?.depth !== parts.depth - 1) return undefined
  const text = applyDifference(base.text, parts)
  return text === undefined ? undefined : { text, depth: parts.depth }
}

function readDifference(
  json: string | undefined,
): (TextDifference & { readonly seq: number; readonly depth: number }) | undefined {
  try {
    const [seq, depth, steps, added] = JSON.parse(json ?? '') as [number, number, number[], string]
    return { seq, depth, steps, added }
  } catch {
    return undefined
  }
}

/** Fewer bytes stay as they are: a search reads a hundred passages, and inflating one takes longer than all else about it. */
const minPackedTokens = 320

/** The tokens of a passage, each once with its count, always bytes: what is not worth compressing stands behind a zero. */
export function packTokens(tokens: string): Uint8Array {
  const counted = Buffer.from(countTokens(tokens))
  const packed = counted.length < minPackedTokens ? undefined : packWith(ofTokens, counted)
  return packed ?? Buffer.concat([Buffer.of(plain), counted])
}

/**
 * As many of each as were packed, in another order: a passage is ranked by how often it has a token, not by where. A store may cut off the
 * zero and read the rest as text. Empty where they are damaged: such a passage is not found.
 */
export function unpackTokens(packed: unknown): string {
  if (typeof packed === 'string') return repeatTokens(packed)
  if (!(packed instanceof Uint8Array)) return ''
  if (packed[0] === plain) return repeatTokens(Buffer.from(packed.subarray(1)).toString('utf8'))
  return repeatTokens(unpackText(packed) ?? '')
}

/** No token has this in it. */
const times = '*'

function countTokens(tokens: string): string {
  const counts = new Map<string, number>()
  for (const token of tokens.split(' ')) counts.set(token, (counts.get(token) ?? 0) + 1)
  const counted = [...counts].map(([token, count]) => (count === 1 ? token : token + times + count))
  return counted.join(' ')
}

/** Further ones stand behind all others. */
function repeatTokens(counted: string): string {
  let once = ''
  let further = ''
  let from = 0
  for (let at = counted.indexOf(times); at >= 0; at = counted.indexOf(times, from)) {
    const space = counted.indexOf(' ', at)
    const end = space < 0 ? counted.length : space
    const token = counted.slice(counted.lastIndexOf(' ', at) + 1, at)
    further += ` ${token}`.repeat(furtherOf(counted.slice(at + 1, end)))
    once += counted.slice(from, at)
    from = end
  }
  return once + counted.slice(from) + further
}

/** One less than a count, in bounds where it is damaged. */
function furtherOf(count: string): number {
  return Math.min(mostOfOne, Math.max(0, Number(count) - 1)) || 0
}

/** No passage has more of one token: it has fewer characters. */
const mostOfOne = 20_000

/** Undefined where it is damaged, or packed with a dictionary of a newer version. */
export function unpackText(packed: Uint8Array): string | undefined {
  return unpackBytes(packed)?.toString('utf8')
}

export function unpackBytes(packed: Uint8Array): Buffer | undefined {
  const dictionary = dictionaries[packed[0] ?? 0]
  if (dictionary === undefined || dictionary.length === 0) return undefined
  try {
    return inflateRawSync(packed.subarray(1), { dictionary })
  } catch {
    return undefined
  }
}
