// Encodes a view segment by segment, where its format allows it: a segment that is shown as before is not encoded again.

import { madeSegment, messagesIn, perSegment, type Segment } from '../core/view/segments.ts'
import type { Encoded, MessageCodec } from './format.ts'

/** Segments that were encoded together. */
export interface EncodedSegment {
  readonly segment: Segment
  readonly encoded: Encoded
}

const encoders = new WeakMap<MessageCodec, (segment: Segment) => EncodedSegment>()

/** A view in encoded pieces; positions in each count from its own first message. */
export function encodeSegments(
  format: MessageCodec,
  segments: readonly Segment[],
): readonly EncodedSegment[] {
  const encode =
    encoders.get(format) ??
    perSegment((segment) => ({ segment, encoded: format.encode(segment.messages) }))
  encoders.set(format, encode)
  if (format.writesAlone === true && segments.every(isApart)) return segments.map(encode)
  const [only] = segments
  if (only !== undefined && segments.length === 1) return [encode(only)]
  const whole = madeSegment(messagesIn(segments))
  return [{ segment: whole, encoded: format.encode(whole.messages) }]
}

/** Whether nothing before a segment changes how it is written: it begins with an answer, or the view does with it. */
function isApart({ messages }: Segment, index: number, all: readonly Segment[]): boolean {
  if (index === 0) return true
  return messages[0]?.role === 'assistant' && all[index - 1]?.messages.at(-1)?.role !== 'assistant'
}
