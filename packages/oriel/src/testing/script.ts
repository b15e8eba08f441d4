// Conversation scripts: a format-independent grammar of conversations, rendered by the writers of each format.
//
//   script := opening? turn+        turn := notice? user step* reply?        step := reasoning? text? call{1,4} with results

import * as fc from 'fast-check'
import type { JsonObject } from '../core/log/json.ts'
import { anyFields, anyText, fullText } from './texts.ts'

/** Leading system texts, then turns. */
export interface Script {
  readonly opening: readonly Said[]
  readonly turns: readonly Turn[]
  /** Style of the provider's call ids. */
  readonly ids: number
}

export interface Turn {
  /** A system text in the middle of the conversation. */
  readonly notice?: Said
  readonly user: Said
  readonly steps: readonly Step[]
  /** Absent if the user spoke again, or the conversation ends, before the assistant did. */
  readonly reply?: Reply
}

/** Variant of notation, if a format has several; 0 is the plainest. */
export type Shape = 0 | 1 | 2 | 3 | 4

/** A message text. */
export interface Said {
  readonly text: string
  readonly shape: Shape
  readonly attachment: Attachment
  /** Fields unknown to every format. */
  readonly fields?: JsonObject
}

export type Attachment = 'none' | 'image-url' | 'image-data' | 'file-data' | 'file-url' | 'unknown'

/** An assistant message with calls, and their results. */
export interface Step {
  readonly reasoning?: string
  /** Empty if the assistant only makes calls. */
  readonly text: string
  readonly calls: readonly ScriptCall[]
  readonly shape: Shape
  readonly fields?: JsonObject
  /** Results are in a different order than their calls. */
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

/** Any plausible conversation. Shrinks to one short user message. */
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
      // Some providers have their own calls for these.
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

/** Omits optional keys whose value is undefined. */
function withOptional<Required extends object, Optional extends object>(
  required: { readonly [K in keyof Required]: fc.Arbitrary<Required[K]> },
  optional: { readonly [K in keyof Optional]: fc.Arbitrary<Optional[K] | undefined> },
): fc.Arbitrary<Required & Partial<Optional>> {
  return fc.record({ ...required, ...optional }).map((value) => {
    const present = Object.entries(value).filter(([, field]) => field !== undefined)
    // Required fields are never undefined, so all are present.
    return Object.fromEntries(present) as Required & Partial<Optional>
  })
}
