// Compressed text: a row's JSON, deflated with a preset dictionary of what entries have in common, or kept as what differs from a row before
// it. A log with a view at every step takes a third of the room; checkpoints, which repeat each other, a twentieth.

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
]
const newest = dictionaries.length - 1
/** No dictionary has these numbers: what follows is not compressed, or says how a text differs from another. */
const plain = 0
const difference = 255

/** The text compressed; undefined where that is not worth it. `unpackText` gives it back. */
export function packText(text: string): Uint8Array | undefined {
  return text.length < minPackedLength ? undefined : packBytes(Buffer.from(text))
}

/** The same for bytes. */
export function packBytes(bytes: Uint8Array): Uint8Array | undefined {
  if (bytes.length < minPackedLength) return undefined
  const isLong = bytes.length >= fastFrom
  const packed = deflateRawSync(bytes, {
    dictionary: dictionaries[newest] as Buffer,
    level: isLong ? 1 : 6,
  })
  if (packed.length + 1 > bytes.length * (1 - minSaved)) return undefined
  return Buffer.concat([Buffer.of(newest), packed])
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

/** The text as what differs from another, where that is shorter by half than the text alone; else as `packText` does. */
export function packDifference(text: string, base: PackedBase | undefined): Uint8Array | undefined {
  const whole = packText(text)
  if (base === undefined || base.depth >= maxDepth) return whole
  const { steps, added } = differenceOf(base.text, text)
  const json = JSON.stringify([base.seq, base.depth + 1, steps, added])
  const body = packText(json) ?? Buffer.concat([Buffer.of(plain), Buffer.from(json)])
  const least = (whole?.length ?? Buffer.byteLength(text)) / 2
  return body.length < least ? Buffer.concat([Buffer.of(difference), body]) : whole
}

/** The text of a packed column and its depth; `baseAt` gives those of another row. Undefined where something is damaged. */
export function unpackRow(
  packed: Uint8Array,
  baseAt: (seq: number) => Omit<PackedBase, 'seq'> | undefined,
): Omit<PackedBase, 'seq'> | undefined {
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

/** Tokens of shorter passages stay as they are: a search reads a hundred of them, and unpacking one takes it 8 microseconds. */
const minPackedTokens = 512

/** The tokens of a passage, always bytes: what is not worth compressing stands behind a zero. */
export function packTokens(tokens: string): Uint8Array {
  const packed = tokens.length < minPackedTokens ? undefined : packText(tokens)
  return packed ?? Buffer.concat([Buffer.of(plain), Buffer.from(tokens)])
}

/** Empty where they are damaged: such a passage is not found. */
export function unpackTokens(packed: unknown): string {
  if (!(packed instanceof Uint8Array)) return ''
  if (packed[0] === plain) return Buffer.from(packed.subarray(1)).toString('utf8')
  return unpackText(packed) ?? ''
}

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
