// A content on its way to Gemini that is not written yet, so that it can still be merged, ordered and cleaned.

import type { Json, JsonObject } from '../../core/log/json.ts'
import { isObject } from '../../core/log/json.ts'
import type { Loss } from '../format.ts'

/** Tells what became of a block of the view. */
export type TellLoss = (form: Loss['form'], reason: string) => void

/** A part in Gemini's words, and how to tell of the block of the view that it stands for. */
export interface WirePart {
  readonly value: JsonObject
  readonly tell: TellLoss
}

export interface WireContent {
  readonly role: 'user' | 'model' | 'system'
  readonly parts: readonly WirePart[]
  /** Fields of the content that Oriel does not read. */
  readonly extra: JsonObject
  /** Whether it came without a role, which means the user's. @default false */
  readonly hasNoRole?: boolean
  /** The contents that it came as, where those are several, and is sent as again. @default it is one */
  readonly pieces?: readonly WireContent[]
  /** Positions of the view messages that it shows. @default none is known yet */
  readonly shown?: readonly number[]
  /** Whether everything of them is there as it came. @default false */
  readonly isWhole?: boolean
}

/** A content as it goes on the wire. */
export function writeContent({ role, parts, extra, hasNoRole = false }: WireContent): JsonObject {
  const written = { ...extra, parts: parts.map(({ value }) => value) }
  return hasNoRole || role === 'system' ? written : { ...written, role }
}

/** Contents that are already written, taken apart again; undefined if they are not one of the user, or some of the model. */
export function readWritten(
  values: readonly Json[],
  tellOf: (position: number) => TellLoss,
): WireContent | undefined {
  const pieces = values.map((value) => readOne(value, tellOf))
  const [first, ...others] = pieces
  if (first === undefined || others.length === 0) return first
  if (!pieces.every((piece) => piece?.role === 'model')) return undefined
  // Every piece was found to be one.
  const read = pieces as readonly WireContent[]
  const parts = read.flatMap((piece) => piece.parts)
  const extra = Object.fromEntries(read.flatMap((piece) => Object.entries(piece.extra)))
  return { role: 'model', parts, extra, pieces: read }
}

function readOne(
  value: Json | undefined,
  tellOf: (position: number) => TellLoss,
): WireContent | undefined {
  if (!isObject(value)) return undefined
  const { role = 'user', parts, ...extra } = value as JsonObject
  if ((role !== 'user' && role !== 'model') || !Array.isArray(parts)) return undefined
  const values: readonly Json[] = parts.filter((part) => part !== null)
  if (!values.every(isObject)) return undefined
  const read = values.map((part, position) => ({
    value: part as JsonObject,
    tell: tellOf(position),
  }))
  return { role, parts: read, extra, ...(value.role === undefined ? { hasNoRole: true } : {}) }
}

/** The responses of a content, each other part replaced by null: what is left of the others is that they stood there. */
export function withGaps(
  parts: readonly JsonObject[],
  isResponse: (part: JsonObject) => boolean,
): readonly (JsonObject | null)[] {
  return parts
    .slice(0, parts.findLastIndex(isResponse) + 1)
    .map((part) => (isResponse(part) ? part : null))
}

/** The positions, gaps not counted, of the parts of a written content that stand behind a gap. */
export function behindGap(value: Json | undefined): ReadonlySet<number> {
  const parts = isObject(value) ? value.parts : undefined
  const positions = new Set<number>()
  if (!Array.isArray(parts)) return positions
  let gaps = 0
  parts.forEach((part, index) => {
    if (part === null) gaps += 1
    else if (gaps > 0) positions.add(index - gaps)
  })
  return positions
}
