import * as fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { assemble } from '../src/assemble.ts'
import type { Block } from '../src/core/log/block.ts'
import type { Draft } from '../src/core/log/entry.ts'
import { OrielError } from '../src/core/log/errors.ts'
import { fixedSalt, hash53 } from '../src/core/log/ids.ts'
import { isObject } from '../src/core/log/json.ts'
import { isResult } from '../src/core/state/exchange.ts'
import { State } from '../src/core/state/state.ts'
import { type Counter, countBlock, messageTokens, overheadOf } from '../src/core/tokens/counter.ts'
import type { Change } from '../src/core/view/view.ts'
import { resolveCounter } from '../src/counters.ts'
import { feed } from '../src/feed.ts'
import { parsePolicy } from '../src/policy/schema.ts'
import { type Projection, type ProjectOptions, project } from '../src/project.ts'
import type { Encoded, FormatName } from '../src/providers/format.ts'
import { formatNamed, formatNames } from '../src/providers/registry.ts'
import { sha256 } from '../src/sha256.ts'
import {
  budgetArbitrary,
  type Conversation,
  conversationOf,
  neutralConversation,
} from '../src/testing/arbitraries.ts'
import {
  aiSdkMessage,
  anthropicMessage,
  chatMessage,
  responsesItem,
} from '../src/testing/builders.ts'
import { exactText, frozen } from '../src/testing/compare.ts'
import { brokenConversation } from '../src/testing/mutations.ts'
import { scaledRuns } from './scaled-runs.ts'
import {
  blocksOf,
  isCheckpoint,
  isDigest,
  type Projected,
  shownTags,
  stringsIn,
  tagged,
  tagsIn,
} from './tagged.ts'
import { type WildPolicy, wildPolicyArbitrary, wildRules } from './wild-rule.ts'

interface Case {
  readonly messages: Conversation
  readonly policy: WildPolicy | undefined
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

  it('[I6] fits under a policy whatever fits without one', () => {
    holds(any, ({ messages, policy, options }) => {
      if (attempt(messages, undefined, options) === undefined) return
      const { budget } = options
      const result = failure(messages, policy, options)
      if (result?.details?.budget !== undefined) expect([budget, result.message]).toEqual([])
    })
  })

  it('[I15] puts no word into the mouth of the assistant', () => {
    holds(any, ({ messages, policy, options }) => {
      const input = lengthened(messages)
      const result = attempt(input, policy, options)
      if (result === undefined) return
      const said = answersIn(format, input)
      const isSaid = (text: string): boolean =>
        text === '' || said.some((whole) => whole.startsWith(text))
      const shown = answersIn(options.to, result.messages as Conversation)
      expect(shown.filter((text) => !isSaid(text))).toEqual([])
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

describe.each(formatNames)("Oriel's own messages, sent to %s", (to) => {
  const any = fc.record({
    from: fc.constantFrom(...formatNames),
    policy: wildPolicyArbitrary(),
    budget: fc.option(budgetArbitrary(), { nil: undefined }),
  })
  const marked = any.chain(({ from, ...rest }) =>
    neutralConversation(from).map((drafts) => ({ drafts, ...rest })),
  )

  it('[I2] [I3] make a request that the provider accepts, the same every time', () => {
    holds(
      marked,
      ({ drafts, ...rest }) => {
        const sent = sendDrafts(drafts, { ...rest, to })
        if (sent === undefined) return
        expect(violations(to, sent)).toEqual([])
        const copy = JSON.parse(JSON.stringify(drafts)) as readonly Draft[]
        expect(sendDrafts(copy, { ...rest, to })).toEqual(sent)
      },
      50,
    )
  })

  it('are not shown where they are for people only', () => {
    const hides = fc.array(fc.boolean(), { minLength: 1, maxLength: 8 })
    const share = fc.double({ min: 0.05, max: 1, noNaN: true })
    holds(
      fc.tuple(marked, hides, share),
      ([{ drafts, policy }, isHidden, part]) => {
        const hidden = withSecrets(drafts, isHidden)
        const size = JSON.stringify(hidden).length / charactersPerToken
        for (const budget of [undefined, Math.ceil(size * part)]) {
          const sent = sendDrafts(hidden, { policy, budget, to })
          expect(JSON.stringify(sent ?? {})).not.toContain(secret)
        }
      },
      50,
    )
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

it('[I8] [S1] weighs a note against what was said, not against notices of repairs', () => {
  const { calls, user } = anthropicMessage
  const twice = calls({ id: 'a' }, { id: 'a' })
  const messages = [twice, { role: 'assistant', content: '' }, user('the')]
  const options = { format: 'anthropic', to: 'openai-chat', budget: 35 } as const
  const { tokens } = project<unknown>(messages, undefined, options)
  expect(tokens.after).toBeLessThanOrEqual(tokens.before)
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
    budget: 95,
  })
  expect(shown[0]).toEqual(user('hi'))
})

it('[I5] tells of a reduced result whose message also answers a call that is folded', () => {
  const { user, calls, results, assistant } = aiSdkMessage
  const long = 'x y z '.repeat(200)
  const messages = [
    user('go'),
    calls({ id: 'a', input: { text: long } }),
    calls({ id: 'b' }),
    results({ id: 'a', text: '1' }, { id: 'b', text: long }),
    assistant('done'),
    user('thanks'),
  ]
  const { trace } = project<unknown>(messages, undefined, { format: 'ai-sdk', budget: 150 })
  const forms = trace.filter(({ index }) => index === 3).map(({ rule, form }) => [rule, form])
  expect(forms).toContainEqual(['budget', 'dropped'])
  expect(forms).toContainEqual(['budget', 'omitted'])
})

it('[I6] gives up the summary of a checkpoint where the budget has no room for it', () => {
  const { user, assistant } = chatMessage
  const turns = Array.from({ length: 12 }, (_, turn) => [
    user(`Question ${turn}: what about the thing number ${turn}?`),
    assistant(`Answer ${turn}: it is fine. `.repeat(3)),
  ])
  const messages = [...turns.flat(), user('And now?')]
  const policy = { compaction: { maxTokens: 300 } }
  const texts = (budget: number): readonly string[] =>
    stringsIn(project<unknown>(messages, policy, { budget }).messages)
  expect(texts(150).some(isCheckpoint)).toBe(true)
  expect(texts(30)).toContainEqual(expect.stringMatching(/^\[24 earlier messages left out/))
  expect(texts(20)).toEqual(['user', 'And now?'])
})

it('[R6] leaves out reasoning with half a character, wherever in it that is', () => {
  const summary = [{ type: 'summary_text', text: 'the' }]
  const content = [{ type: 'reasoning_text', text: '\udc00' }]
  const reasoning = { type: 'reasoning', id: 'rs_1', summary, content }
  const { user, assistant } = responsesItem
  const messages = [user('q'), reasoning, assistant('a'), user('r')]
  const { messages: sent } = project(messages, undefined, { format: 'openai-responses' })
  expect(sent).toEqual([user('q'), assistant('a'), user('r')])
})

it('[I5] tells of a part that stays behind when the result beside it moves to its call', () => {
  const { user, calls, assistant } = aiSdkMessage
  const output = { type: 'text', value: 'found' }
  const result = { type: 'tool-result', toolCallId: 'a', toolName: 'search', output }
  const part = { type: 'reasoning', text: 'misplaced' }
  const late = { role: 'tool', content: [result, part] }
  const messages = [calls({ id: 'a' }), user('q'), late, assistant('done')]
  const { trace } = project<unknown>(messages, undefined, { format: 'ai-sdk' })
  const forms = trace.filter(({ index }) => index === 2).map(({ form }) => form)
  expect(forms).toEqual(['full', 'dropped'])
})

it('[I14] renames a result that names no call with the call whose id is empty', () => {
  const { user, calls, result } = chatMessage
  const unnamed = { role: 'tool', content: 'a result without an id' }
  const messages = [user('go'), calls({ id: '' }, { id: 'b' }), unnamed, result('b', 'found')]
  const projected = project(messages, undefined, { format: 'openai-chat' })
  expect(projected.messages[2]).toMatchObject({ ...unnamed, tool_call_id: expect.any(String) })
  expect(projected.trace.map(({ index, form }) => ({ index, form }))).toEqual([
    { index: 1, form: 'full' },
  ])
  expect(untracedChanges('openai-chat', messages, projected)).toEqual([])
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

/** A text that only people may see. */
const secret = 'Sq0z9secret'

/** Drafts some of whose texts, in turn, are for people only and hold that text in words that a digest or a memory would quote. */
function withSecrets(drafts: readonly Draft[], isHidden: readonly boolean[]): readonly Draft[] {
  let count = 0
  const hide = (block: Block): Block => {
    if (block.type !== 'text' || isHidden[count++ % isHidden.length] !== true) return block
    const text = `Order ${secret} is in /var/log/${secret}.txt: ${block.text}`
    return { type: 'text', text, audience: { now: false, later: false } }
  }
  return drafts.map(({ content, ...draft }) => {
    const blocks: readonly Block[] =
      typeof content === 'string' ? [{ type: 'text', text: content }] : content
    return { ...draft, content: blocks.map(hide) }
  })
}

/** What a provider would get, as a thread does it; undefined where no valid view exists. */
function sendDrafts(
  drafts: readonly Draft[],
  { policy, budget, to }: Pick<Case, 'policy'> & { budget: number | undefined; to: FormatName },
): Encoded | undefined {
  const { profile, encode } = formatNamed(to)
  const state = new State({ counter: resolveCounter('estimate'), salt: fixedSalt })
  const around = { now: 0, frameTokens: 0, sha256, rules: wildRules }
  try {
    const planned = feed(state, drafts, parsePolicy(policy, 'policy', wildRules), around)
    return encode(assemble(state, planned, { profile, budget }).messages)
  } catch (error) {
    if (OrielError.is(error, 'cannot-project')) return undefined
    throw error
  }
}

function holds<T>(arbitrary: fc.Arbitrary<T>, check: (value: T) => void, numRuns = 100): void {
  fc.assert(fc.property(arbitrary, check), { numRuns: scaledRuns(numRuns) })
}

/** Broken conversations, any policy, with or without a budget, often to another format; seldom with the slow counter. */
function cases(format: FormatName): fc.Arbitrary<Case> {
  const frame = { system: 'You are helpful.', tools: [{ name: 'search' }] }
  const arbitrary = fc.record({
    messages: brokenConversation(format),
    policy: wildPolicyArbitrary(),
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
  policy: WildPolicy | undefined,
  options: ProjectOptions,
): Projection<unknown> | undefined {
  try {
    return project<unknown, typeof wildRules>(messages, policy, { ...options, rules: wildRules })
  } catch (error) {
    if (OrielError.is(error, 'cannot-project')) return undefined
    throw error
  }
}

/** The error where there is no valid view. */
function failure(
  ...[messages, policy, options]: Parameters<typeof attempt>
): OrielError | undefined {
  try {
    project<unknown, typeof wildRules>(messages, policy, { ...options, rules: wildRules })
    return undefined
  } catch (error) {
    if (OrielError.is(error, 'cannot-project')) return error
    throw error
  }
}

function violations(
  to: FormatName,
  { messages, system }: Pick<Projection<unknown>, 'messages' | 'system'> | Encoded,
): readonly unknown[] {
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
  return blocks.flatMap(({ id, index, type, tags, ownTags }) => {
    const lines = result.trace.filter((change) => change.id === id)
    const faults: string[] = []
    const gone = lines.filter(
      ({ form, reason }) =>
        form === 'dropped' || (form === 'omitted' && !reason.endsWith('moved next to its call')),
    )
    const isShown = tags.some((tag) => shown.includes(tag))
    if (lines.some((line) => line.index !== index)) faults.push('has a line with a wrong index')
    if (gone.length > 1) faults.push('is gone more than once')
    const isOmitted = gone.every(({ form }) => form === 'omitted')
    const goneTags = isOmitted ? ownTags : tags
    if (gone.length > 0 && goneTags.some((tag) => shown.includes(tag))) {
      faults.push('is gone and shown')
    }
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
function isLiteral({ rule, form }: Change, policy: WildPolicy | undefined): boolean {
  const { toolResults } = parsePolicy(policy, 'policy', wildRules)
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
  // Where the summary of a checkpoint is folded as well, the note stands for what that one stood for.
  const stoodFor = trace.filter(({ rule }) => rule === 'compaction')
  const lines = stringsIn(messages).some(isCheckpoint) ? folded : [...folded, ...stoodFor]
  const count = new Set(lines.map(({ index }) => index)).size
  const gained = lines.reduce((sum, line) => sum + line.tokensBefore, count * messageTokens)
  expect(messageTokens + counter.count(digest)).toBeLessThanOrEqual(gained)
}

/** A copy with some texts so long that a budget would cut them. */
function lengthened(messages: Conversation): Conversation {
  const longest = 2000
  const copy = JSON.stringify(messages, (key, value: unknown) => {
    const isText = (key === 'text' || key === 'content') && typeof value === 'string'
    if (!isText || value === '' || hash53(value) % 2 === 0) return value
    return value.repeat(Math.ceil(longest / value.length))
  })
  return JSON.parse(copy) as Conversation
}

/** The texts of all assistant messages. Half a surrogate pair cannot be sent. */
function answersIn(format: FormatName, messages: Conversation): readonly string[] {
  return formatNamed(format)
    .decode(messages, 'messages')
    .flatMap(({ draft: { role, content } }) => {
      if (role !== 'assistant') return []
      if (typeof content === 'string') return [content.toWellFormed()]
      return content.flatMap((block) => (block.type === 'text' ? [block.text.toWellFormed()] : []))
    })
}

/** Whether a repair added a text: in place of a missing result, or of all that could not be shown. */
function hasNotice({ messages, trace }: Projection<unknown>): boolean {
  const isAdded = ({ reason }: Change): boolean =>
    reason.includes('a notice stands in for it') ||
    // The call is left out as well, which its line says; the notice is still counted.
    reason.endsWith('a step that is no longer whole') ||
    reason.includes('leads to nothing in view')
  if (trace.some(isAdded)) return true
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
  // A result that names no call is read as one with the empty id.
  const unnamed = decoded.filter(({ draft: { content } }) =>
    (typeof content === 'string' ? [] : content).some(
      (block) => isResult(block) && block.callId === '',
    ),
  )
  const idsAt = (index: number): readonly string[] => {
    const ids = callIdsIn(input[index])
    const isUnnamed = unnamed.some(({ from, to }) => from <= index && index < to)
    return ids.length === 0 && isUnnamed ? [''] : ids
  }
  const expected = input.flatMap((message, index) => {
    const isCovered = traced.has(index) || idsAt(index).some((id) => renamedIds.has(id))
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
    typeof value === 'string' &&
    /^(id|call_id|tool_call_id|tool_use_id|toolCallId|approval_request_id)$/.test(key)
      ? [value]
      : callIdsIn(value),
  )
}

/**
 * What may stand in another message without being changed: the blocks of Anthropic's and the parts of Gemini's, whose messages are
 * merged (A3, GC3), else the whole message. Half a surrogate pair cannot be sent.
 */
function piecesOf(format: FormatName, message: unknown): readonly string[] {
  const fields: Readonly<Record<string, unknown>> = isObject(message) ? message : {}
  const { role = 'user', parts, content = parts } = fields
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : content
  const pieces =
    (format === 'anthropic' || format === 'gemini') && Array.isArray(blocks)
      ? blocks.map((block) => [role, block])
      : [message]
  return pieces.map((piece) => exactText(piece).replaceAll(/\\ud[89a-f]../g, '\ufffd'))
}

it('[I14] tells of a result that is paired with its call by name, under another id', () => {
  const call = { type: 'tool-call', toolCallId: 'by-name:1:search', toolName: 'search', input: {} }
  const output = { type: 'text', value: 'found' }
  const result = { type: 'tool-result', toolCallId: 'call_1', toolName: 'search', output }
  const history = [
    { role: 'user', content: 'Search.' },
    { role: 'assistant', content: [call] },
    { role: 'tool', content: [result] },
    { role: 'user', content: 'Go on.' },
  ]
  const { messages, trace } = project(history, undefined, { format: 'ai-sdk' })
  expect(messages[2]).toMatchObject({ content: [{ toolCallId: 'by-name:1:search' }] })
  expect(trace).toContainEqual(expect.objectContaining({ index: 2, form: 'full' }))
})

it('[UR3] the random rule of these properties really changes messages and blocks, in every form', () => {
  const wanted = new Set(['clipped', 'summarized', 'omitted', 'dropped'])
  const forms = new Set<string>()
  // Some are rare: as many cases as it takes, up to a number at which chance is no explanation any more.
  const { seed = 0 } = fc.readConfigureGlobal()
  for (let batch = 0; batch < 30 && forms.size < wanted.size; batch++) {
    const samples = fc.sample(cases('anthropic'), { numRuns: 100, seed: seed + batch })
    for (const { messages, policy, options } of samples) {
      const { trace = [] } = attempt(messages, policy, options) ?? {}
      for (const { rule, form } of trace) if (rule === 'wild') forms.add(form)
    }
  }
  expect(forms).toEqual(wanted)
})
