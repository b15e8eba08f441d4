// Reasoning that is signed for what came before it: in an open tool loop the provider demands it, and refuses it behind a change.

import { describe, expect, it } from 'vitest'
import { validate } from '../../providers/registry.ts'
import { memoryStore } from '../../stores/memory/index.ts'
import { openThread, type ThreadOptions } from '../thread.ts'

const words = (count: number) => 'some words to fill it '.repeat(count)
const thought = (n: number) => [
  { type: 'thinking', thinking: `thought ${n}`, signature: `c2lnbmF0dXJl${n}` },
  { type: 'text', text: `step ${n}` },
  { type: 'tool_use', id: `toolu_${n}`, name: 'look', input: { path: `src/${n}.ts` } },
]
const step = (n: number, size = 60) => [
  { role: 'assistant', content: thought(n) },
  {
    role: 'user',
    content: [{ type: 'tool_result', tool_use_id: `toolu_${n}`, content: `r${n} ${words(size)}` }],
  },
]
const open = (options: Partial<ThreadOptions> = {}) =>
  openThread({ id: 't', store: memoryStore(), now: () => 0, ...options })
const text = (value: unknown) => JSON.stringify(value)
const enabled = (messages: readonly unknown[]) =>
  validate('anthropic', {
    model: 'm',
    max_tokens: 10,
    thinking: { type: 'enabled', budget_tokens: 1024 },
    tools: [{ name: 'look', input_schema: { type: 'object' } }],
    messages,
  })
const history = [
  { role: 'user', content: `before ${words(40)}` },
  { role: 'assistant', content: `sure ${words(40)}` },
]

describe('an open tool loop with signed reasoning', () => {
  it('[M11] what a user says beside results does not end it: the provider sees one message', async () => {
    const policy = { toolResults: { max: 1, placeholder: 'plain', cutoff: 0 } } as const
    const thread = await open({ policy })
    await thread.append([...history, { role: 'user', content: 'go' }], { format: 'anthropic' })
    const [call, result] = step(2)
    const words = { type: 'text', text: 'and be quick' }
    const both = { role: 'user', content: [...((result?.content ?? []) as object[]), words] }
    await thread.append([...step(0), ...step(1), call, both], { format: 'anthropic' })
    const { messages } = await thread.view({ format: 'anthropic' })
    expect(text(messages).match(/c2lnbmF0dXJl/g)).toHaveLength(3)
    expect(enabled(messages)).toEqual([])
  })

  it('[M11] edits before it wait, and come when the loop ends', async () => {
    const thread = await open({
      policy: {
        toolResults: { max: 1, placeholder: 'plain', cutoff: 0 },
        compaction: { maxTokens: 300 },
      },
    })
    await thread.append([...history, { role: 'user', content: 'go' }], { format: 'anthropic' })
    for (let n = 0; n < 4; n++) {
      await thread.append(step(n), { format: 'anthropic' })
      const { messages, epoch } = await thread.view({ format: 'anthropic' })
      expect(epoch.applied).toBe(0)
      expect(text(messages).match(/c2lnbmF0dXJl/g)).toHaveLength(n + 1)
      expect(enabled(messages)).toEqual([])
    }
    await thread.append([{ role: 'assistant', content: [{ type: 'text', text: 'done' }] }], {
      format: 'anthropic',
    })
    await thread.append([{ role: 'user', content: 'thanks' }], { format: 'anthropic' })
    const { messages } = await thread.view({ format: 'anthropic' })
    expect(text(messages)).not.toContain('c2lnbmF0dXJl')
    expect(enabled(messages)).toEqual([])
  })

  it('[M11] under pressure it goes on as a record in the user role, valid and within the budget', async () => {
    const thread = await open()
    await thread.append([...history, { role: 'user', content: 'go' }], { format: 'anthropic' })
    await thread.append(
      [0, 1, 2].flatMap((n) => step(n)),
      { format: 'anthropic' },
    )
    const { messages, tokens } = await thread.view({ format: 'anthropic', budget: 700 })
    expect(tokens.after).toBeLessThanOrEqual(700)
    expect(text(messages)).not.toContain('c2lnbmF0dXJl')
    expect(enabled(messages)).toEqual([])
    const last = messages.at(-1) as unknown as { role: string; content: unknown }
    expect(last.role).toBe('user')
    expect(text(last)).toMatch(/Work of this turn so far, as a record/)
    expect(text(last)).toContain('[Assistant tool call]: look(')
  })

  it('[M11] a change by a person is answered in the same way, and later steps keep their own reasoning', async () => {
    const thread = await open()
    const [first] = await thread.append([...history, { role: 'user', content: 'go' }], {
      format: 'anthropic',
    })
    await thread.append(
      [0, 1].flatMap((n) => step(n)),
      { format: 'anthropic' },
    )
    await thread.exclude(first?.id ?? '')
    const record = await thread.view({ format: 'anthropic' })
    expect(text(record.messages)).not.toContain('c2lnbmF0dXJl')
    expect(enabled(record.messages)).toEqual([])
    await thread.append(step(2), { format: 'anthropic' })
    const next = await thread.view({ format: 'anthropic' })
    expect(text(next.messages).match(/c2lnbmF0dXJl\d/g)).toEqual(['c2lnbmF0dXJl2'])
    expect(enabled(next.messages)).toEqual([])
    await thread.exclude(first?.id ?? '', { excluded: false })
    const restored = await thread.view({ format: 'anthropic' })
    expect(text(restored.messages).match(/c2lnbmF0dXJl\d/g)).toBeNull()
    // What the model saw when it thought again is there as it was.
    expect(text(next.messages.at(-3))).toBe(text(record.messages.at(-1)))
  })

  it('[M11] a host that may turn reasoning off is told when it must', async () => {
    const thread = await open()
    await thread.append([...history, { role: 'user', content: 'go' }], { format: 'anthropic' })
    await thread.append(
      [0, 1, 2].flatMap((n) => step(n)),
      { format: 'anthropic' },
    )
    const options = { format: 'anthropic', mayTurnReasoningOff: true } as const
    expect((await thread.view(options)).reasoning).toBeUndefined()
    const view = await thread.view({ ...options, budget: 700 })
    expect(view.reasoning).toBe('off')
    expect(text(view.messages)).toContain('"tool_use"')
    expect(text(view.messages)).not.toContain('c2lnbmF0dXJl')
    expect((await thread.requestAt(5)).exact).toBe(true)
  })

  it.each(['openai-chat', 'openai-responses'] as const)(
    '[M11] %s binds no reasoning: the loop stays as it is',
    async (format) => {
      const thread = await open()
      const chat = [
        { role: 'user', content: 'go' },
        {
          role: 'assistant',
          content: null,
          reasoning_content: 'thought',
          tool_calls: [{ id: 'c', type: 'function', function: { name: 'look', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'c', content: words(200) },
      ]
      const items = [
        { role: 'user', content: 'go' },
        { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'c2lnbmF0dXJl' },
        { type: 'function_call', id: 'fc_1', call_id: 'c', name: 'look', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c', output: words(200) },
      ]
      await thread.append(format === 'openai-chat' ? chat : items, { format })
      const { messages } = await thread.view({ format, budget: 400 })
      expect(validate(format, messages)).toEqual([])
      expect(text(messages)).not.toMatch(/as a record/)
    },
  )
})
