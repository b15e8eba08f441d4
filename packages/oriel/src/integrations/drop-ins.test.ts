import { type BaseMessage, trimMessages as langchainTrim } from '@langchain/core/messages'
import { pruneMessages as aiSdkPrune, type ModelMessage } from 'ai'
import * as fc from 'fast-check'
import { AIMessage, ClearToolUsesEdit, HumanMessage, SystemMessage, ToolMessage } from 'langchain'
import { describe, expect, it } from 'vitest'
import { OrielError } from '../core/log/errors.ts'
import type { JsonObject } from '../core/log/json.ts'
import { project } from '../project.ts'
import { validate } from '../providers/registry.ts'
import { aiSdkConversation, langchainConversation } from '../testing/arbitraries.ts'
import { mutate, mutationsArbitrary } from '../testing/mutations.ts'
import { pruneMessages } from './ai-sdk.ts'
import { clearToolUses } from './anthropic.ts'
import { trimMessages } from './langchain.ts'

/** Of each way to write a message down, the instance that LangChain makes of it. */
function instanceOf(message: JsonObject): BaseMessage {
  const { kwargs, data, id, type, role } = message
  const fields = JSON.parse(JSON.stringify(kwargs ?? data ?? message))
  const name = Array.isArray(id) ? id.at(-1) : (role ?? type)
  if (name === 'SystemMessage' || name === 'system') return new SystemMessage(fields)
  if (name === 'HumanMessage' || name === 'user' || name === 'human')
    return new HumanMessage(fields)
  if (name === 'ToolMessage' || name === 'tool') return new ToolMessage(fields)
  return new AIMessage(fields)
}
const messagesArbitrary = langchainConversation().map((messages) => messages.map(instanceOf))
const plain = (messages: readonly unknown[]): unknown => JSON.parse(JSON.stringify(messages))
const length = (messages: readonly BaseMessage[]): number =>
  messages.reduce((sum, message) => sum + 4 + JSON.stringify(message.content).length, 0)

describe("trimMessages with LangChain's arguments", () => {
  const type = fc.constantFrom('human', 'ai', 'tool', 'system')
  const fieldsArbitrary = fc
    .record(
      {
        share: fc.double({ min: 0, max: 1.2, noNaN: true }),
        strategy: fc.constantFrom('first', 'last'),
        allowPartial: fc.boolean(),
        endOn: fc.oneof(type, fc.array(type, { minLength: 1, maxLength: 2 })),
        startOn: type,
        includeSystem: fc.boolean(),
      },
      { requiredKeys: ['share'] },
    )
    .map(({ strategy, startOn, includeSystem, ...rest }) =>
      strategy === 'first'
        ? { ...rest, strategy }
        : {
            ...rest,
            ...(strategy === undefined ? {} : { strategy }),
            ...(startOn === undefined ? {} : { startOn }),
            ...(includeSystem === undefined ? {} : { includeSystem }),
          },
    )

  it('[DI1] gives what LangChain gives wherever that is valid, else a valid list that is not longer', async () => {
    const seen = { same: 0, mended: 0 }
    await fc.assert(
      fc.asyncProperty(
        messagesArbitrary,
        fieldsArbitrary,
        async (messages, { share, ...fields }) => {
          const maxTokens = Math.round(length(messages) * share)
          const options = { ...fields, maxTokens, tokenCounter: length } as never
          const before = plain(messages)
          const ours = await trimMessages(messages, options)
          expect(plain(messages)).toEqual(before)
          // Theirs writes into its input, so it comes second.
          const theirs = (await langchainTrim(messages, options)) as (BaseMessage | undefined)[]
          expect(validate('langchain', ours)).toEqual([])
          expect(length(ours)).toBeLessThanOrEqual(maxTokens)
          const isValid = !theirs.includes(undefined) && validate('langchain', theirs).length === 0
          seen[isValid ? 'same' : 'mended'] += 1
          if (isValid) expect(plain(ours)).toEqual(plain(theirs))
        },
      ),
    )
    expect(Math.min(seen.same, seen.mended)).toBeGreaterThan(0)
  })

  it('[DI1] leaves an exchange out whole, and what `startOn` refuses with it', async () => {
    const call = (id: string) => ({ id, name: 'read', args: {}, type: 'tool_call' as const })
    const messages = [
      new SystemMessage('Be brief.'),
      new HumanMessage('Read both.'),
      new AIMessage({ content: '', tool_calls: [call('a'), call('b')] }),
      new ToolMessage({ content: 'a', tool_call_id: 'a' }),
      new ToolMessage({ content: 'b', tool_call_id: 'b' }),
      new AIMessage('They agree.'),
      new HumanMessage('Thanks.'),
    ]
    const tokenCounter = (list: readonly unknown[]): number => list.length
    const options = { maxTokens: 5, tokenCounter, includeSystem: true }
    expect(validate('langchain', await langchainTrim(messages, options))).not.toEqual([])
    const texts = (list: readonly BaseMessage[]): readonly string[] => list.map(({ text }) => text)
    expect(texts(await trimMessages(messages, options))).toEqual([
      'Be brief.',
      'They agree.',
      'Thanks.',
    ])
    const runnable = trimMessages({ ...options, startOn: 'human' })
    expect(texts(await runnable.invoke(messages))).toEqual(['Be brief.', 'Thanks.'])
    expect(texts(await trimMessages(messages, { ...options, maxTokens: 0 }))).toEqual([])
  })

  it('[DI4] rejects an option that LangChain does not have', () => {
    const trim = (): unknown =>
      trimMessages({ maxTokens: 1, tokenCounter: length, maxToken: 1 } as never)
    expect(trim).toThrow(expect.objectContaining({ code: 'invalid-option', path: 'maxToken' }))
  })
})

describe("pruneMessages with the AI SDK's arguments", () => {
  const before = fc.oneof(
    fc.constantFrom('all' as const, 'before-last-message' as const),
    fc.nat({ max: 6 }).map((count) => `before-last-${count}-messages` as const),
  )
  const tools = fc.subarray(['search', 'read_file', 'run', 'bash'])
  const optionsArbitrary = fc.record(
    {
      reasoning: fc.constantFrom('all' as const, 'before-last-message' as const, 'none' as const),
      toolCalls: fc.oneof(
        before,
        fc.constant('none' as const),
        fc.array(fc.record({ type: before, tools }, { requiredKeys: ['type'] }), { maxLength: 3 }),
      ),
      emptyMessages: fc.constantFrom('keep' as const, 'remove' as const),
    },
    { requiredKeys: [] },
  )

  it('[DI2] gives what the AI SDK gives, for every valid conversation', () => {
    fc.assert(
      fc.property(aiSdkConversation(), optionsArbitrary, (messages, options) => {
        const list = messages as unknown as ModelMessage[]
        const theirs = aiSdkPrune({ messages: list, ...options } as never)
        const ours = pruneMessages({ messages: list, ...options })
        if (validate('ai-sdk', theirs).length === 0) expect(ours).toEqual(theirs)
        expect(validate('ai-sdk', ours)).toEqual([])
      }),
      { numRuns: 300 },
    )
  })

  it('[DI2] gives a valid list where the conversation is broken', () => {
    const mended = { count: 0 }
    const broken = fc
      .tuple(aiSdkConversation(), mutationsArbitrary('ai-sdk'))
      .map(([messages, mutations]) => mutate(messages, mutations))
    fc.assert(
      fc.property(broken, optionsArbitrary, (messages, options) => {
        const ours = orUndefined(() => pruneMessages({ messages, ...options }), OrielError.is)
        if (ours === undefined) return
        expect(validate('ai-sdk', ours)).toEqual([])
        const theirs = orUndefined(() =>
          aiSdkPrune({ messages: messages as never, ...options } as never),
        )
        if (theirs === undefined || validate('ai-sdk', theirs).length > 0) mended.count += 1
        else expect(ours).toEqual(theirs)
      }),
      { numRuns: 300 },
    )
    expect(mended.count).toBeGreaterThan(0)
  })

  it('[DI4] rejects what the AI SDK does not know', () => {
    const wrong = [{ toolCall: 'all' }, { toolCalls: 'before' }, { reasoning: 'some' }]
    for (const options of wrong) {
      const prune = (): unknown => pruneMessages({ messages: [], ...options } as never)
      expect(prune).toThrow(expect.objectContaining({ code: 'invalid-option' }))
    }
  })
})

/** Undefined where the work throws: ours where nothing valid is left, theirs for content that is null. */
function orUndefined<T>(
  work: () => T,
  isExpected: (error: unknown) => boolean = (error) => error instanceof TypeError,
): T | undefined {
  try {
    return work()
  } catch (error) {
    if (isExpected(error)) return undefined
    throw error
  }
}

describe("clearToolUses with Anthropic's settings", () => {
  const turn = (id: string, name = 'read') => [
    { role: 'assistant', content: [{ type: 'tool_use', id, name, input: { path: id } }] },
    {
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: id, content: `${id} `.repeat(300) }],
    },
  ]
  const messages = [
    { role: 'user', content: 'Go' },
    ...turn('a'),
    ...turn('b', 'search'),
    ...turn('c'),
    ...turn('d'),
    ...turn('e'),
  ]
  const trigger = { type: 'tool_uses', value: 3 } as const
  const cleared = (list: readonly unknown[]): string[] =>
    [...JSON.stringify(list).matchAll(/"tool_use_id":"(\w+)","content":"\[Omitted/g)].map(
      ([, id]) => id as string,
    )

  it('[DI3] clears all but the newest uses, above the trigger only', () => {
    const shown = clearToolUses({ messages }, { trigger })
    expect(cleared(shown.messages)).toEqual(['a', 'b'])
    expect(shown.applied_edits).toEqual([
      {
        type: 'clear_tool_uses_20250919',
        cleared_tool_uses: 2,
        cleared_input_tokens: expect.any(Number),
      },
    ])
    expect(shown.messages.slice(5)).toEqual(messages.slice(5))
    expect(clearToolUses({ messages }).messages).toEqual(messages)
    expect(clearToolUses({ messages }).applied_edits).toEqual([])
    const many = { type: 'tool_uses', value: 5 } as const
    expect(clearToolUses({ messages }, { trigger: many }).applied_edits).toEqual([])
  })

  it('[DI3] obeys keep, exclude_tools, clear_at_least and clear_tool_inputs', () => {
    const keep = (value: number) => ({ type: 'tool_uses', value }) as const
    const ids = (edit: object): string[] =>
      cleared(clearToolUses({ messages }, { trigger, ...edit }).messages)
    expect(ids({ keep: keep(1) })).toEqual(['a', 'b', 'c', 'd'])
    // The model has not seen the newest result yet.
    expect(ids({ keep: keep(0) })).toEqual(['a', 'b', 'c', 'd'])
    expect(ids({ exclude_tools: ['search'] })).toEqual(['a'])
    expect(ids({ clear_at_least: { type: 'input_tokens', value: 100_000 } })).toEqual([])
    const inputs = (edit: object): unknown[] =>
      clearToolUses({ messages }, { trigger, ...edit })
        .messages.flatMap(({ content }) => content as unknown[])
        .flatMap((block) => (block as { input?: unknown }).input ?? [])
    expect(inputs({})).toEqual(['a', 'b', 'c', 'd', 'e'].map((path) => ({ path })))
    expect(inputs({ clear_tool_inputs: true }).slice(0, 3)).toEqual([{}, {}, { path: 'c' }])
    const some = inputs({ clear_tool_inputs: ['search'] })
    expect(some.slice(0, 3)).toEqual([{ path: 'a' }, {}, { path: 'c' }])
  })

  it("[DI3] clears what LangChain's ClearToolUsesEdit clears, of what the model has seen", async () => {
    const tools = fc.array(fc.constantFrom('search', 'read', 'run'), { maxLength: 8 })
    const excluded = fc.subarray(['search', 'read', 'run'])
    const isSeen = fc.boolean()
    const settings = fc.record({ tools, excluded, isSeen, keep: fc.nat({ max: 4 }) })
    await fc.assert(
      fc.asyncProperty(
        settings,
        async ({ tools: names, excluded: excludeTools, isSeen: isOver, keep }) => {
          const list: BaseMessage[] = names.flatMap((name, index) => [
            new AIMessage({
              content: '',
              tool_calls: [{ id: `c${index}`, name, args: {}, type: 'tool_call' }],
            }),
            new ToolMessage({ content: `${index} `.repeat(300), tool_call_id: `c${index}` }),
          ])
          const asked = [new HumanMessage('Go'), ...list]
          const said = isOver ? [...asked, new AIMessage('Done'), new HumanMessage('And?')] : asked
          const theirs = [...said]
          const edit = new ClearToolUsesEdit({
            trigger: { messages: 1 },
            keep: { messages: keep },
            excludeTools,
          })
          await edit.apply({ messages: theirs, countTokens: async () => 0 } as never)
          const request = project<unknown>(said, {}, { format: 'langchain', to: 'anthropic' })
          const ours = clearToolUses(
            { messages: request.messages },
            {
              trigger: { type: 'tool_uses', value: 0 },
              keep: { type: 'tool_uses', value: keep },
              exclude_tools: excludeTools,
            },
          )
          expect(validate('anthropic', { messages: ours.messages })).toEqual([])
          const clearedByThem = theirs.flatMap((message) =>
            ToolMessage.isInstance(message) && message.text === '[cleared]'
              ? [message.tool_call_id]
              : [],
          )
          const unseen = isOver ? undefined : `c${names.length - 1}`
          expect(cleared(ours.messages)).toEqual(clearedByThem.filter((id) => id !== unseen))
        },
      ),
    )
  })

  it('[DI4] rejects a setting that Anthropic does not have', () => {
    const wrong = [{ keep: 3 }, { keep: { type: 'tool_uses', value: -1 } }, { exclude: [] }]
    for (const edit of wrong) {
      const clear = (): unknown => clearToolUses({ messages }, edit as never)
      expect(clear).toThrow(expect.objectContaining({ code: 'invalid-option' }))
    }
  })
})
