import * as fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { type Counter, countBlock, messageTokens, overheadOf } from '../src/core/counter.ts'
import { OrielError } from '../src/core/errors.ts'
import { isObject } from '../src/core/json.ts'
import type { Change } from '../src/core/view.ts'
import { resolveCounter } from '../src/counters.ts'
import { type FormatName, formatNames } from '../src/formats/format.ts'
import { formatNamed } from '../src/formats/registry.ts'
import { type PolicyInput, parsePolicy } from '../src/policy.ts'
import { type Projection, type ProjectOptions, project } from '../src/project.ts'
import {
  budgetArbitrary,
  type Conversation,
  conversationOf,
  policyArbitrary,
} from '../src/testing/arbitraries.ts'
import { anthropicMessage, chatMessage } from '../src/testing/builders.ts'
import { exactText, frozen } from '../src/testing/compare.ts'
import { brokenConversation } from '../src/testing/mutations.ts'
import {
  blocksOf,
  isDigest,
  type Projected,
  shownTags,
  stringsIn,
  tagged,
  tagsIn,
} from './tagged.ts'

interface Case {
  readonly messages: Conversation
  readonly policy: PolicyInput | undefined
  readonly options: ProjectOptions & { readonly format: FormatName; readonly to: FormatName }
}

describe.each(formatNames)('project of %s', (format) => {
  const any = cases(format)

  it('[I2] answers a request that the provider accepts, or says that there is none', () => {
    holds(any, ({ messages, policy, options }) => {
      const result = attempt(messages, policy, options)
      if (result === undefined) return
      expect(violations(options.to, result)).toEqual([])
      expect(result.messages.length > 0).toBe(messages.length > 0)
    })
  })

  it('[I3] answers the same bytes for the same input, whatever the clock and the time zone', () => {
    const zone = fc.constantFrom('UTC', 'Asia/Kathmandu', 'America/St_Johns')
    holds(fc.tuple(any, fc.nat(), zone), ([{ messages, policy, options }, now, timeZone]) => {
      const copy = JSON.parse(JSON.stringify(messages)) as Conversation
      const first = JSON.stringify(attempt(frozen(messages), policy, options))
      vi.stubEnv('TZ', timeZone)
      expect(JSON.stringify(attempt(copy, policy, { ...options, now }))).toBe(first)
      expect(exactText(messages)).toBe(exactText(copy))
    })
    vi.unstubAllEnvs()
  })

  it('[I5] shows every block, or says once what became of it', () => {
    holds(any, ({ messages, policy, options }) => {
      const input = tagged(messages)
      const result = attempt(input, policy, { ...options, to: format })
      if (result !== undefined) expect(unaccounted(input, result, { policy, options })).toEqual([])
    })
  })

  it('[I5] shows every block in another format, or says once what became of it', () => {
    holds(any, ({ messages, policy, options }) => {
      const input = tagged(messages)
      const result = attempt(input, policy, options)
      if (result !== undefined) expect(unaccounted(input, result, { policy, options })).toEqual([])
    })
  })

  it('[I6] fits the budget, counted anew in what it answers', () => {
    holds(any, ({ messages, policy, options }) => {
      const { budget = Infinity } = options
      const result = attempt(messages, policy, options)
      if (result === undefined) return
      expect(result.tokens.after).toBeLessThanOrEqual(budget)
      const counted = countAnew(options.to, result, resolveCounter(options.tokens))
      expect(counted).toBeLessThanOrEqual(budget)
    })
  })

  it('[I6] never shows less for a larger budget', () => {
    // Little more is the harder case: both budgets are then met by nearly the same reductions.
    const more = fc.integer({ min: 1, max: 200 })
    holds(fc.tuple(any, more), ([{ messages, policy, options }, difference]) => {
      const { budget = difference } = options
      const small = attempt(messages, policy, { ...options, budget })
      const large = attempt(messages, policy, { ...options, budget: budget + difference })
      if (small === undefined) return
      expect(large).toBeDefined()
      const reduced = new Set(notFull(small))
      const lost = large === undefined ? [] : notFull(large).filter((id) => !reduced.has(id))
      expect(lost).toEqual([])
    })
  })

  it('[I7] shows the newest user message verbatim', () => {
    holds(any, ({ messages, policy, options }) => {
      const input = tagged(messages)
      const result = attempt(input, policy, options)
      if (result === undefined) return
      const shown = new Set(stringsIn(result.messages))
      const missing = newestUserTexts(format, input).filter((text) => !shown.has(text))
      expect(missing).toEqual([])
    })
  })

  it('[I8] makes nothing longer than it was', () => {
    holds(any, ({ messages, policy, options }) => {
      const input = tagged(messages)
      const result = attempt(input, policy, options)
      if (result === undefined) return
      const grown = result.trace.filter(
        (change) => change.tokensAfter > change.tokensBefore && !isLiteral(change, policy),
      )
      expect(grown).toEqual([])
      expect(longerNotes(input, result, { policy, options })).toEqual([])
    })
  })

  it('[I8] folds nothing into a note that costs more', () => {
    holds(any, ({ messages, policy, options }) => {
      const result = attempt(tagged(messages), policy, options)
      if (result !== undefined) expectDigestPays(result, resolveCounter(options.tokens))
    })
  })

  it('[I14] gives back a valid conversation as it came, without a policy', () => {
    holds(conversationOf(format), (messages) => {
      const { messages: sent, trace, tokens } = project(messages, undefined, { format })
      expect(exactText(sent)).toBe(exactText(messages))
      expect(trace).toEqual([])
      expect(tokens.after).toBe(tokens.before)
    })
  })

  it('[I14] changes a broken conversation only where the trace says so', () => {
    holds(brokenConversation(format), (messages) => {
      const result = attempt(messages, undefined, { format })
      if (result !== undefined) expect(untracedChanges(format, messages, result)).toEqual([])
    })
  })

  it('[S1] never costs more tokens than the conversation did, unless a repair added a notice', () => {
    holds(any, ({ messages, policy, options }) => {
      const result = attempt(messages, policy, options)
      if (result === undefined || hasNotice(result)) return
      const literal = result.trace.filter((change) => isLiteral(change, policy))
      const grown = literal.reduce((sum, line) => sum + line.tokensAfter - line.tokensBefore, 0)
      expect(result.tokens.after).toBeLessThanOrEqual(result.tokens.before + Math.max(0, grown))
    })
  })
})

it('[I8] keeps short messages rather than a longer note', () => {
  const { user, assistant, calls, result } = chatMessage
  const loop = [calls({ id: 'a' }), result('a', 'x y z '.repeat(2000))]
  const messages = [user('hello'), assistant('hi'), user('go'), ...loop]
  expectDigestPays(project(messages, undefined, { budget: 500 }), resolveCounter('estimate'))
})

it('[I8] needs no note where the conversation did not begin with a user', () => {
  const { calls, results } = anthropicMessage
  const texts = [
    { id: 'a', text: 'the '.repeat(200) },
    { id: 'b', text: '' },
  ]
  const messages = [
    { role: 'assistant', content: '' },
    calls({ id: 'a' }, { id: 'b' }),
    results(...texts),
  ]
  const options = { format: 'anthropic', to: 'openai-responses', budget: 105 } as const
  const { messages: shown, trace } = project<unknown>(messages, undefined, options)
  expect(stringsIn(shown).filter(isDigest)).toEqual([])
  expect(trace).toContainEqual(
    expect.objectContaining({ index: 0, reason: 'folded into the digest' }),
  )
})

it('[I8] keeps the first user message where the note in its place would cost more', () => {
  const { user, calls, results } = anthropicMessage
  const messages = [
    user('hi'),
    calls({ id: 'a' }),
    results({ id: 'a', text: 'x y z '.repeat(500) }),
    user('go'),
  ]
  const { messages: shown } = project<unknown>(messages, undefined, {
    format: 'anthropic',
    budget: 90,
  })
  expect(shown[0]).toEqual(user('hi'))
})

it('[I2] says so when nothing is left to send', () => {
  const { user, assistant } = anthropicMessage
  const messages = [user('hi'), assistant('hello'), user(' ')]
  const { messages: sent } = project(messages, undefined, { format: 'anthropic' })
  expect(sent).toEqual([user('hi')])
  const policy = { history: { policy: 'none' } } as const
  expect(() => project(messages, policy, { format: 'anthropic' })).toThrow(
    expect.objectContaining({ code: 'cannot-project' }),
  )
  expect(project([], policy, { format: 'anthropic' }).messages).toEqual([])
})

function holds<T>(arbitrary: fc.Arbitrary<T>, check: (value: T) => void): void {
  fc.assert(fc.property(arbitrary, check))
}

/** Broken conversations, any policy, with or without a budget, often to another format; seldom with the slow counter. */
function cases(format: FormatName): fc.Arbitrary<Case> {
  const frame = { system: 'You are helpful.', tools: [{ name: 'search' }] }
  const arbitrary = fc.record({
    messages: brokenConversation(format),
    policy: policyArbitrary(),
    to: fc.constantFrom(format, ...formatNames),
    /** A budget as such, or as a share of the conversation's size, so that often just a part of it must go. */
    budget: fc.option(budgetArbitrary(), { nil: undefined, freq: 2 }),
    share: fc.option(fc.double({ min: 0.02, max: 1.2, noNaN: true }), { nil: undefined, freq: 3 }),
    hasFrame: fc.boolean(),
    tokens: fc.oneof(
      { withCrossShrink: true },
      { weight: 15, arbitrary: fc.constant('estimate' as const) },
      { weight: 1, arbitrary: fc.constant('o200k' as const) },
    ),
  })
  return arbitrary.map(({ messages, policy, to, share, hasFrame, tokens, ...rest }) => {
    const size = JSON.stringify(messages).length / charactersPerToken
    const budget = share === undefined ? rest.budget : Math.ceil(size * share)
    return {
      messages,
      policy,
      options: {
        format,
        to,
        tokens,
        ...(budget === undefined ? {} : { budget }),
        ...(hasFrame ? { frame } : {}),
      },
    }
  })
}

/** Roughly; only there to make budgets that matter. */
const charactersPerToken = 4

/** Undefined where no valid view exists; any other error is a failure. */
function attempt(
  messages: Conversation,
  policy: PolicyInput | undefined,
  options: ProjectOptions,
): Projection<unknown> | undefined {
  try {
    return project<unknown>(messages, policy, options)
  } catch (error) {
    if (OrielError.is(error, 'cannot-project')) return undefined
    throw error
  }
}

function violations(to: FormatName, { messages, system }: Projection<unknown>): readonly unknown[] {
  return formatNamed(to).validate(system === undefined ? messages : { messages, system })
}

/** What is wrong with the account that the trace gives of each block. */
function unaccounted(
  input: Conversation,
  result: Projection<unknown>,
  projected: Projected,
): readonly string[] {
  const shown = shownTags(result)
  const blocks = blocksOf(input, projected)
  return blocks.flatMap(({ id, index, type, tags }) => {
    const lines = result.trace.filter((change) => change.id === id)
    const faults: string[] = []
    const gone = lines.filter(
      ({ form, reason }) =>
        form === 'dropped' || (form === 'omitted' && !reason.endsWith('moved next to its call')),
    )
    const isShown = tags.some((tag) => shown.includes(tag))
    if (lines.some((line) => line.index !== index)) faults.push('has a line with a wrong index')
    if (gone.length > 1) faults.push('is gone more than once')
    if (isShown && gone.length > 0) faults.push('is gone and shown')
    // A short form may be too short for the tag.
    const isExplained = lines.some(({ form }) => form !== 'full')
    if (tags.length > 0 && !isShown && !isExplained) faults.push('is gone without a line')
    for (const tag of tags) {
      if (shown.filter((other) => other === tag).length > 1) faults.push('is shown twice')
    }
    return faults.map((fault) => `${type} ${id} of message ${index} ${fault}`)
  })
}

/** The tokens of an answer, from nothing but the answer. */
function countAnew(
  to: FormatName,
  { messages, system }: Projection<unknown>,
  counter: Counter,
): number {
  const drafts = formatNamed(to).decode(messages, 'messages')
  const around = system === undefined ? 0 : counter.count(stringsIn(system).join('\n'))
  return drafts.reduce((sum, { draft: { content, role } }) => {
    const blocks =
      typeof content === 'string' ? [{ type: 'text', text: content } as const] : content
    return (
      sum + blocks.reduce((total, block) => total + countBlock(counter, block), overheadOf(role))
    )
  }, around)
}

function notFull({ trace }: Projection<unknown>): readonly string[] {
  return trace.filter(({ form }) => form !== 'full').map(({ id }) => id)
}

/** The texts of the newest message that a user wrote. */
function newestUserTexts(format: FormatName, input: Conversation): readonly string[] {
  const drafts = formatNamed(format).decode(input, 'messages')
  const newest = drafts.findLast(({ draft }) => draft.role === 'user' && draft.origin === 'user')
  const content = newest?.draft.content ?? []
  const texts =
    typeof content === 'string'
      ? [content]
      : content.flatMap((block) => (block.type === 'text' ? [block.text] : []))
  return texts.filter((text) => tagsIn(text).length > 0).map((text) => text.toWellFormed())
}

/** The literal [Omitted] that a policy asked for stands for results of any length. */
function isLiteral({ rule, form }: Change, policy: PolicyInput | undefined): boolean {
  const { toolResults } = parsePolicy(policy)
  return rule === 'toolResults' && form === 'omitted' && toolResults?.placeholder === 'plain'
}

/** Texts in place of a block that are longer than the block; pictures and files have no length in characters. */
function longerNotes(
  input: Conversation,
  result: Projection<unknown>,
  projected: Projected,
): readonly string[] {
  const blocks = blocksOf(input, projected).filter(({ hasMedia }) => !hasMedia)
  const lengths = new Map(blocks.map(({ id, length }) => [id, length]))
  return stringsIn(result.messages).filter((text) => {
    const isNote = text.startsWith('[Omitted: ') || /^Tq\d+z.*\n\[\.\.\. \d+ of/s.test(text)
    const id = isNote ? /expand (e[0-9a-z_]+)/.exec(text)?.[1] : undefined
    return id !== undefined && text.length > (lengths.get(id) ?? Infinity)
  })
}

/** The note must not cost more than the messages that it stands for. */
function expectDigestPays({ messages, trace }: Projection<unknown>, counter: Counter): void {
  const folded = trace.filter(({ reason }) => reason === 'folded into the digest')
  const digest = stringsIn(messages).find(isDigest)
  if (digest === undefined || folded.length === 0) return
  const count = new Set(folded.map(({ index }) => index)).size
  const gained = folded.reduce((sum, line) => sum + line.tokensBefore, count * messageTokens)
  expect(messageTokens + counter.count(digest)).toBeLessThanOrEqual(gained)
}

/** Whether a repair added a text: in place of a missing result, or of all that could not be shown. */
function hasNotice({ messages, trace }: Projection<unknown>): boolean {
  if (trace.some(({ reason }) => reason.includes('a notice stands in for it'))) return true
  const isFolded = trace.some(({ rule }) => rule === 'budget')
  return !isFolded && stringsIn(messages).some(isDigest)
}

/**
 * Pieces of messages without a line in the trace that are not in the answer as they were, in their order. A result whose call
 * was renamed has the line of its call.
 */
function untracedChanges(
  format: FormatName,
  input: Conversation,
  result: Projection<unknown>,
): readonly string[] {
  // Several items of openai-responses may be one message, which has the index of the first.
  const decoded = formatNamed(format).decode(input, 'messages')
  const touched = (lines: readonly Change[]): ReadonlySet<number> => {
    const indexes = new Set(lines.map(({ index }) => index))
    const ranges = decoded.filter(({ from }) => indexes.has(from))
    return new Set(ranges.flatMap(({ from, to }) => input.map((_, at) => at).slice(from, to)))
  }
  const traced = touched(result.trace)
  const renamed = touched(result.trace.filter(({ reason }) => reason.includes('renamed')))
  const renamedIds = new Set([...renamed].flatMap((index) => callIdsIn(input[index])))
  const expected = input.flatMap((message, index) => {
    const isCovered = traced.has(index) || callIdsIn(message).some((id) => renamedIds.has(id))
    return isCovered ? [] : piecesOf(format, message)
  })
  const sent = result.messages.flatMap((message) => piecesOf(format, message))
  let next = 0
  return expected.filter((piece) => {
    const found = sent.indexOf(piece, next)
    if (found === -1) return true
    next = found + 1
    return false
  })
}

/** Every id in a message by which a call and its result may know each other. */
function callIdsIn(message: unknown): readonly string[] {
  if (Array.isArray(message)) return message.flatMap(callIdsIn)
  if (!isObject(message)) return []
  return Object.entries(message).flatMap(([key, value]) =>
    typeof value === 'string' && /^(id|call_id|tool_call_id|tool_use_id|toolCallId)$/.test(key)
      ? [value]
      : callIdsIn(value),
  )
}

/**
 * What may stand in another message without being changed: the blocks of Anthropic's, whose messages are merged (A3), else the
 * whole message. Half a surrogate pair cannot be sent.
 */
function piecesOf(format: FormatName, message: unknown): readonly string[] {
  const { role, content }: { role?: unknown; content?: unknown } = isObject(message) ? message : {}
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : content
  const pieces =
    format === 'anthropic' && Array.isArray(blocks)
      ? blocks.map((block) => [role, block])
      : [message]
  return pieces.map((piece) => exactText(piece).replaceAll(/\\ud[89a-f]../g, '\ufffd'))
}
