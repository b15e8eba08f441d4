// What happens in a conversation, before any format writes it down: one grammar for all formats.
//
//   script := opening? turn+        turn := notice? user step* reply?        step := reasoning? text? call{1,4} with results

import * as fc from 'fast-check'
import type { JsonObject } from '../core/log/json.ts'
import { anyFields, anyText, fullText } from './texts.ts'

/** Leading system texts, then turns. */
export interface Script {
  readonly opening: readonly Said[]
  readonly turns: readonly Turn[]
  /** Which style of call ids the provider gives. */
  readonly ids: number
}

export interface Turn {
  /** A system text in the middle of the conversation. */
  readonly notice?: Said
  readonly user: Said
  readonly steps: readonly Step[]
  /** Absent where the user spoke again, or where the conversation ends, before the assistant did. */
  readonly reply?: Reply
}

/** How something is written where a format knows several ways; 0 is the plainest. */
export type Shape = 0 | 1 | 2 | 3 | 4

/** What someone says. */
export interface Said {
  readonly text: string
  readonly shape: Shape
  readonly attachment: Attachment
  /** Fields that no format knows. */
  readonly fields?: JsonObject
}

export type Attachment = 'none' | 'image-url' | 'image-data' | 'file-data' | 'file-url' | 'unknown'

/** An assistant message with calls, and their results. */
export interface Step {
  readonly reasoning?: string
  /** Empty when the assistant says nothing beside its calls. */
  readonly text: string
  readonly calls: readonly ScriptCall[]
  readonly shape: Shape
  readonly fields?: JsonObject
  /** Whether the results come in another order than the calls. */
  readonly isReversed: boolean
}

export interface ScriptCall {
  readonly name: string
  readonly input: JsonObject
  readonly shape: Shape
  readonly result: {
    readonly text: string
    readonly isError: boolean
    readonly shape: Shape
    readonly attachment: Attachment
  }
}

export interface Reply {
  readonly reasoning?: string
  readonly text: string
  readonly shape: Shape
  readonly fields?: JsonObject
}

/** Any conversation that makes sense. Shrinks to one short user message. */
export function script(): fc.Arbitrary<Script> {
  return fc.record({
    opening: fc.array(said(fullText()), { maxLength: 2 }),
    turns: fc.array(turn(), { minLength: 1, maxLength: 4 }),
    ids: fc.nat({ max: 3 }),
  })
}

function turn(): fc.Arbitrary<Turn> {
  return withOptional(
    {
      user: said(fullText()),
      steps: fc.array(step(), { maxLength: 3 }),
    },
    { notice: seldom(said(fullText())), reply: often(reply()) },
  )
}

function step(): fc.Arbitrary<Step> {
  return withOptional(
    {
      text: anyText(),
      calls: fc.array(call(), { minLength: 1, maxLength: 4 }),
      shape: shape(),
      isReversed: fc.boolean(),
    },
    { reasoning: seldom(fullText()), fields: seldom(anyFields()) },
  )
}

function call(): fc.Arbitrary<ScriptCall> {
  return fc.record({
    name: fc.oneof(
      plainest,
      {
        weight: 4,
        arbitrary: fc.constantFrom('search', 'read_file', 'get-weather', 'bash', 'a'.repeat(64)),
      },
      // Some providers have calls of their own for these.
      {
        weight: 1,
        arbitrary: fc.constantFrom(
          ...['computer', 'shell', 'local_shell', 'apply_patch', 'mcp_approval'],
        ),
      },
    ),
    input: anyFields(),
    shape: shape(),
    result: fc.record({
      text: anyText(),
      isError: fc.boolean(),
      shape: shape(),
      attachment: attachment(),
    }),
  })
}

function reply(): fc.Arbitrary<Reply> {
  return withOptional(
    { text: fullText(), shape: shape() },
    { reasoning: seldom(fullText()), fields: seldom(anyFields()) },
  )
}

function said(text: fc.Arbitrary<string>): fc.Arbitrary<Said> {
  return withOptional(
    { text, shape: shape(), attachment: attachment() },
    { fields: seldom(anyFields()) },
  )
}

/** Shrinks to the first of the alternatives. */
const plainest = { withCrossShrink: true }

function attachment(): fc.Arbitrary<Attachment> {
  return fc.oneof(
    plainest,
    { weight: 5, arbitrary: fc.constant<Attachment>('none') },
    {
      weight: 2,
      arbitrary: fc.constantFrom<Attachment>(
        'image-url',
        'image-data',
        'file-data',
        'file-url',
        'unknown',
      ),
    },
  )
}

function shape(): fc.Arbitrary<Shape> {
  return fc.oneof(
    plainest,
    { weight: 3, arbitrary: fc.constant<Shape>(0) },
    { weight: 4, arbitrary: fc.constantFrom<Shape>(1, 2, 3, 4) },
  )
}

function seldom<T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> {
  return fc.oneof(
    plainest,
    { weight: 3, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary },
  )
}

function often<T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> {
  return fc.oneof(
    plainest,
    { weight: 1, arbitrary: fc.constant(undefined) },
    { weight: 3, arbitrary },
  )
}

/** A record some of whose keys are missing, not undefined, when their value is undefined. */
function withOptional<Required extends object, Optional extends object>(
  required: { readonly [K in keyof Required]: fc.Arbitrary<Required[K]> },
  optional: { readonly [K in keyof Optional]: fc.Arbitrary<Optional[K] | undefined> },
): fc.Arbitrary<Required & Partial<Optional>> {
  return fc.record({ ...required, ...optional }).map((value) => {
    const present = Object.entries(value).filter(([, field]) => field !== undefined)
    // Every required field is among the entries, since none of them is ever undefined.
    return Object.fromEntries(present) as Required & Partial<Optional>
  })
}
