// A message on its way to Anthropic that is not written yet, so that it can still be merged, ordered and cleaned.

import type { Json, JsonObject } from '../../core/log/json.ts'
import { isObject } from '../../core/log/json.ts'
import type { Loss } from '../format.ts'

/** Tells what became of a block of the view. */
export type TellLoss = (form: Loss['form'], reason: string) => void

/** A block in Anthropic's words, and how to tell of the block of the view that it stands for. */
export interface WireBlock {
  readonly value: JsonObject
  readonly tell: TellLoss
}

export interface WireMessage {
  readonly role: 'user' | 'assistant' | 'system'
  readonly blocks: readonly WireBlock[]
  /** Whether a lone text is written as a string instead of a list with one block. */
  readonly isPlain: boolean
  /** Fields of the message that Oriel does not read. */
  readonly extra: JsonObject
  /** Whether it continues with the message before it: joined, both are as the model said them. @default false */
  readonly isLaterPart?: boolean
  /** Positions of the view messages that it shows. @default none is known yet */
  readonly shown?: readonly number[]
  /** Whether everything of them is there as it came. @default false */
  readonly isWhole?: boolean
}

/** A message as it goes on the wire. */
export function writeMessage({ role, blocks, isPlain, extra }: WireMessage): JsonObject {
  const text = isPlain && blocks.length === 1 ? blocks[0]?.value.text : undefined
  return { ...extra, role, content: text ?? blocks.map(({ value }) => value) }
}

/** A message that is already written, taken apart again; undefined if it is not one. */
export function readWritten(
  value: Json | undefined,
  tellOf: (position: number) => TellLoss,
): WireMessage | undefined {
  if (!isObject(value)) return undefined
  const { role, content, ...extra } = value as JsonObject
  if (role !== 'user' && role !== 'assistant') return undefined
  if (typeof content === 'string') {
    const block = { value: { type: 'text', text: content }, tell: tellOf(0) }
    return { role, blocks: [block], isPlain: true, extra }
  }
  if (!Array.isArray(content)) return undefined
  const values: readonly Json[] = content.filter((block) => block !== null)
  if (!values.every(isObject)) return undefined
  const blocks = values.map((block, position) => ({
    value: block as JsonObject,
    tell: tellOf(position),
  }))
  return { role, blocks, isPlain: false, extra }
}

/** The results of a message, each other block replaced by null: what is left of the others is that they stood there. */
export function withGaps(
  content: readonly JsonObject[],
  isResult: (block: JsonObject) => boolean,
): readonly (JsonObject | null)[] {
  return content
    .slice(0, content.findLastIndex(isResult) + 1)
    .map((block) => (isResult(block) ? block : null))
}

/** The positions, gaps not counted, of the blocks of a written message that stand behind a gap. */
export function behindGap(value: Json | undefined): ReadonlySet<number> {
  const content = isObject(value) ? value.content : undefined
  const positions = new Set<number>()
  if (!Array.isArray(content)) return positions
  let gaps = 0
  content.forEach((block, index) => {
    if (block === null) gaps += 1
    else if (gaps > 0) positions.add(index - gaps)
  })
  return positions
}
