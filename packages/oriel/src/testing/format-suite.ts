// Conformance suite of formats: every contract of `Format` is a named case. Run it on a custom
// format.

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { assemble } from '../assemble.ts'
import type { Block } from '../core/log/block.ts'
import { OrielError } from '../core/log/errors.ts'
import { fixedSalt } from '../core/log/ids.ts'
import { isObject, type JsonObject, setField } from '../core/log/json.ts'
import { State } from '../core/state/state.ts'
import type { Counter } from '../core/tokens/counter.ts'
import { feed } from '../feed.ts'
import { type PolicyInput, parsePolicy } from '../policy/schema.ts'
import type { Decoded, Encoded, Format } from '../providers/format.ts'
import { sha256 } from '../sha256.ts'
import { budgetArbitrary, type Conversation, policyArbitrary } from './arbitraries.ts'
import { exactText, frozen } from './compare.ts'
import { mutate, mutationsArbitrary } from './mutations.ts'

export interface FormatSuiteOptions {
  /** Runs of each property test. @default fast-check's configuration, 100 by default */
  readonly runs?: number
  /** Seed of the property tests, to repeat a failure. @default a new one each time, printed on failure */
  readonly seed?: number
}

/** Declares the suite for a format; `conversation` generates valid conversations. */
export function describeFormat(
  format: Format,
  conversation: fc.Arbitrary<Conversation>,
  options: FormatSuiteOptions = {},
): void {
  describe(`format ${format.name}`, () => {
    for (const [name, check] of Object.entries(formatCases(format, conversation, options))) {
      it(name, check)
    }
  })
}

/** The cases of the suite by name; each throws if the format violates its contract. */
export function formatCases(
  format: Format,
  conversation: fc.Arbitrary<Conversation>,
  { runs, seed }: FormatSuiteOptions = {},
): Readonly<Record<string, () => void>> {
  const parameters = {
    ...(runs === undefined ? {} : { numRuns: runs }),
    ...(seed === undefined ? {} : { seed }),
  }
  const broken = fc
    .tuple(conversation, mutationsArbitrary(format.name))
    .map(([messages, mutations]) => mutate(messages, mutations))
  const source: Source = {
    format,
    conversation,
    broken,
    reduced: fc.record({ messages: broken, policy: policyArbitrary(), budget: budgetArbitrary() }),
    holds: (arbitrary, check) => fc.assert(fc.property(arbitrary, check), parameters),
  }
  return { ...readingCases(source), ...sendingCases(source), ...judgingCases(source) }
}

interface Source {
  readonly format: Format
  readonly conversation: fc.Arbitrary<Conversation>
  readonly broken: fc.Arbitrary<Conversation>
  readonly reduced: fc.Arbitrary<Reduced>
  readonly holds: <T>(arbitrary: fc.Arbitrary<T>, check: (value: T) => void) => void
}

interface Reduced {
  readonly messages: Conversation
  readonly policy: PolicyInput | undefined
  readonly budget: number
}

type Cases = Readonly<Record<string, () => void>>

function readingCases({ format, conversation, broken, holds }: Source): Cases {
  return {
    'gives back every valid conversation exactly': () => {
      holds(conversation, (messages) => expectSame(send(format, { messages }).messages, messages))
    },

    'gives back fields that it does not know': () => {
      const field = fc.constantFrom('x_later', 'constructor', '__proto__')
      holds(fc.tuple(conversation, field), ([messages, key]) => {
        const marked = messages.map((message) => withField(message, key))
        expectSame(send(format, { messages: marked }).messages, marked)
      })
    },

    'reads every broken conversation, each message once and in order': () => {
      holds(broken, (messages) => {
        const decoded = format.decode(messages, 'messages')
        expect(uncovered(decoded, messages.length)).toEqual([])
      })
    },

    'leaves its input as it was': () => {
      holds(broken, (messages) => {
        const before = exactText(messages)
        attempt(format, { messages: frozen(messages) })
        format.validate(frozen({ messages, input: messages }))
        expect(exactText(messages)).toBe(before)
      })
    },

    'refuses what is no message, with the path': () => {
      const strange = fc.constantFrom(null, 1, true, 'text', [], [[]])
      holds(fc.tuple(conversation, strange), ([messages, value]) => {
        const path = `list[${messages.length}]`
        expect(() => format.decode([...messages, value], 'list')).toThrow(
          expect.objectContaining({ code: 'invalid-input', path }),
        )
      })
    },
  }
}

function sendingCases({ format, broken, reduced, holds }: Source): Cases {
  return {
    'answers the same bytes every time': () => {
      holds(broken, (messages) => {
        const again = JSON.parse(JSON.stringify(messages)) as Conversation
        const first = JSON.stringify(attempt(format, { messages }))
        expect(JSON.stringify(attempt(format, { messages: again }))).toBe(first)
      })
    },

    'sends nothing that the provider refuses': () => {
      holds(broken, (messages) => {
        const sent = attempt(format, { messages })
        if (sent !== undefined) expect(violations(format, sent)).toEqual([])
      })
    },

    'sends nothing that the provider refuses, under any policy and budget': () => {
      holds(reduced, (request) => {
        const sent = attempt(format, request)
        if (sent !== undefined) expect(violations(format, sent)).toEqual([])
      })
    },

    'says where each message comes from: whole ones are what came': () => {
      holds(reduced, (request) => {
        const sent = attempt(format, request)
        if (sent === undefined) return
        expect(sent.origins).toHaveLength(sent.messages.length)
        const decoded = format.decode(request.messages, 'messages')
        sent.origins.forEach(({ entries, part = 0, isWhole }, index) => {
          const came = entries.map((seq) => decoded[sent.seqs.indexOf(seq)])
          expect(came).not.toContain(undefined)
          const from = came[0]?.from ?? -1
          const isOne = exactText(came) === exactText(decoded.filter((one) => one.from === from))
          if (isWhole && isOne) expectSame(sent.messages[index], request.messages[from + part])
        })
      })
    },

    'sends reasoning byte for byte or not at all': () => {
      holds(reduced, (request) => {
        const sent = attempt(format, request)
        const known = reasoningOf(format, request.messages)
        const shown = reasoningOf(format, sent?.messages ?? [])
        expect(shown.filter((one) => !known.includes(one))).toEqual([])
      })
    },
  }
}

function judgingCases({ format, conversation, holds }: Source): Cases {
  return {
    'accepts every valid conversation': () => {
      holds(conversation, (messages) => {
        expect(format.validate(messages)).toEqual([])
      })
    },

    'judges anything without throwing': () => {
      holds(fc.anything({ withNullPrototype: true }), (body) => {
        expect(Array.isArray(format.validate(body))).toBe(true)
        expect(Array.isArray(format.validate([body]))).toBe(true)
      })
    },
  }
}

/** Counts characters: the suite must hold for any counter. */
const counter: Counter = { name: 'characters', count: (text) => text.length }

/** What a provider would get: as `project` does it, for a format that need not be registered. */
function send(format: Format, request: Pick<Reduced, 'messages'> & Partial<Reduced>): Sent {
  const { messages, policy, budget } = request
  const state = new State({ counter, salt: fixedSalt })
  const drafts = format.decode(messages, 'messages').map(({ draft }) => draft)
  const planned = feed(state, drafts, parsePolicy(policy), { now: 0, frameTokens: 0, sha256 })
  const shown = assemble(state, planned, { profile: format.profile, budget }).messages
  const seqs = Array.from({ length: state.version }, (_, at) => at + 1)
  return {
    ...format.encode(shown),
    seqs: seqs.filter((seq) => state.item(seq)?.entry !== undefined),
  }
}

interface Sent extends Encoded {
  /** The entries of the drafts, in order. */
  readonly seqs: readonly number[]
}

/** Undefined where no valid view exists; any other error is a failure. */
function attempt(...request: Parameters<typeof send>): Sent | undefined {
  try {
    return send(...request)
  } catch (error) {
    if (OrielError.is(error, 'cannot-project')) return undefined
    throw error
  }
}

function violations(format: Format, { messages, system }: Encoded): readonly unknown[] {
  return format.validate(system === undefined ? messages : { messages, system })
}

function expectSame(got: unknown, expected: unknown): void {
  expect(exactText(got)).toBe(exactText(expected))
}

/** Adds an unknown field to the message and to each block of its content. */
function withField(message: JsonObject, key: string): JsonObject {
  const marked: Record<string, unknown> = { ...message }
  setField(marked, key, { is: 'kept' })
  for (const list of ['content', 'parts']) {
    const blocks = message[list]
    if (!Array.isArray(blocks)) continue
    marked[list] = blocks.map((block: unknown) => {
      if (!isObject(block)) return block
      const copy: Record<string, unknown> = { ...block }
      setField(copy, key, ['kept'])
      return copy
    })
  }
  return marked as JsonObject
}

/** Indexes without a draft, or out of order. */
function uncovered(decoded: readonly Decoded[], count: number): readonly string[] {
  const faults: string[] = []
  let next = 0
  let last = -1
  for (const { from, to } of decoded) {
    if (from !== next && from !== last) faults.push(`${from} after ${next}`)
    last = from
    next = to
  }
  return next === count ? faults : [...faults, `ends at ${next} of ${count}`]
}

function reasoningOf(format: Format, messages: readonly unknown[]): readonly string[] {
  return format.decode(messages, 'messages').flatMap(({ draft }) => {
    const blocks: readonly Block[] = typeof draft.content === 'string' ? [] : draft.content
    return blocks.filter((block) => block.type === 'reasoning').map((block) => exactText(block))
  })
}
