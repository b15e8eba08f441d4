import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Json } from '../../core/log/json.ts'
import { canonicalJson } from '../../core/log/json.ts'
import { project } from '../../project.ts'
import type { FormatName } from '../../providers/format.ts'
import { validate } from '../../providers/registry.ts'
import { memoryStore } from '../../stores/memory/index.ts'
import type { ThreadEvent } from '../events.ts'
import { openThread, type Thread } from '../thread.ts'

const open = (options: object = {}): Promise<Thread> =>
  openThread({ id: 't', store: memoryStore(), now: () => 1000, policy: 'recommended', ...options })

/** One exchange about file `index`, with a result of about `size` tokens. */
const exchange = (index: number, size: number): object[] => [
  {
    role: 'assistant',
    content: null,
    tool_calls: [
      {
        id: `call_${index}`,
        type: 'function',
        function: { name: 'read', arguments: `{"path":"src/part_${index}.ts"}` },
      },
    ],
  },
  {
    role: 'tool',
    tool_call_id: `call_${index}`,
    content: `export const secretValue${index} = 'token-${index}-x7'\n${`filler ${index} here `.repeat(size / 3)}`,
  },
]

async function talk(thread: Thread, from: number, to: number, size = 900): Promise<void> {
  const messages = Array.from({ length: to - from }, (_, index) => exchange(from + index, size))
  for (const pair of messages) {
    await thread.append(pair, { format: 'openai-chat' })
    await thread.view()
  }
}

describe('a thread under the schedule cache-aware', () => {
  test('[M11] edits that were due before an open tool loop wait for its end, also when the cache is cold', async () => {
    let now = 1000
    const policy = { history: { policy: 'none' }, schedule: 'cache-aware' }
    const thread = await open({ policy, now: () => now })
    const format = 'anthropic'
    await thread.append({ role: 'user', content: 'one' }, { format })
    await thread.view({ format })
    const thought = { type: 'thinking', thinking: 'hm', signature: 'signed' }
    const use = { type: 'tool_use', id: 'c1', name: 'look', input: {} }
    const loop = [
      { role: 'assistant', content: [thought, use] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: 'found' }] },
    ]
    const answer = { role: 'assistant', content: 'two' }
    await thread.append([answer, { role: 'user', content: 'three' }, ...loop], { format })
    now += 3_600_000
    const view = await thread.view({ format })
    expect(view.messages.slice(-2)).toMatchObject([
      { content: [thought, use] },
      { content: [{ type: 'tool_result' }] },
    ])
    await thread.append([{ role: 'assistant', content: 'four' }], { format })
    await thread.append([{ role: 'user', content: 'five' }], { format })
    now += 3_600_000
    expect((await thread.view({ format })).messages).toMatchObject([{ role: 'user' }])
  })

  test('[EC2] [ME4] folds a long conversation once it pays, and keeps what matters in reach', async () => {
    const thread = await open()
    const say = (content: string): Promise<unknown> =>
      thread.append([{ role: 'user', content }], { format: 'openai-chat' })
    await say('Look for the token in all parts.')
    await talk(thread, 0, 12)
    await say('Use the third one, please, and mind ticket OPS-4711.')
    await talk(thread, 12, 60)
    const view = await thread.view()
    const text = JSON.stringify(view.messages)
    expect(view.tokens.after).toBeLessThan(view.tokens.before * 0.6)
    expect(validate('openai-chat', { messages: view.messages as Json[] })).toEqual([])
    expect(text).toContain('Look for the token in all parts.')
    expect(text).toContain('OPS-4711')
    expect(text).toContain("export const secretValue3 = 'token-3-x7'")
    expect(text).toMatch(/messages e\w+ to e\w+/)
  })

  test('[EC3] is folded seldom, and each decision is in the log with what was weighed', async () => {
    const policy = {
      toolResults: { strategy: 'keepRecent', max: 4, cutoff: 0 },
      schedule: 'cache-aware',
    }
    const thread = await open({ policy })
    await thread.append([{ role: 'user', content: 'go' }], { format: 'openai-chat' })
    await talk(thread, 0, 40)
    const requests = []
    for await (const entry of thread.log()) if (entry.type === 'request') requests.push(entry)
    const applied = requests.filter(({ epoch }) => epoch !== undefined)
    expect(applied.length).toBeGreaterThan(0)
    expect(applied.length).toBeLessThan(12)
    expect(applied.at(-1)?.details?.schedule).toMatchObject({
      cause: 'worth',
      pending: expect.any(Number),
      gain: expect.any(Number),
      rewritten: expect.any(Number),
      horizon: expect.any(Number),
    })
  })

  test('[EC3] a view that is asked for again is the same, also when the cache is cold by then', async () => {
    let now = 1000
    const policy = {
      toolResults: { strategy: 'keepRecent', max: 1, cutoff: 0 },
      schedule: 'cache-aware',
    }
    const thread = await open({ policy, now: () => now })
    await thread.append([{ role: 'user', content: 'go' }], { format: 'openai-chat' })
    await talk(thread, 0, 4)
    const view = await thread.view()
    now += 3_600_000
    expect(await thread.view()).toMatchObject({ id: view.id, epoch: { applied: 0 } })
    await thread.append(exchange(9, 900), { format: 'openai-chat' })
    const cold = await thread.view()
    expect(cold.epoch).toMatchObject({ cause: 'cold' })
    expect(cold.tokens.after).toBeLessThan(view.tokens.after)
  })

  test('[EC3] a policy for all messages at once decides as a thread would have, step by step', async () => {
    const messages = [
      { role: 'user', content: 'go' },
      ...Array.from({ length: 30 }, (_, index) => exchange(index, 900)).flat(),
    ]
    const thread = await open()
    await thread.append([messages[0] as object], { format: 'openai-chat' })
    for (let index = 1; index < messages.length; index += 2) {
      await thread.view()
      await thread.append(messages.slice(index, index + 2), { format: 'openai-chat' })
    }
    const view = await thread.view()
    const stateless = project(messages, 'recommended')
    // Handles derive from a thread's salt and positions; what is shown does not.
    const calls = (list: readonly unknown[]): readonly unknown[] =>
      list.flatMap((message) => (message as { tool_call_id?: string }).tool_call_id ?? [])
    expect(calls(stateless.messages)).toEqual(calls(view.messages))
    expect(calls(view.messages).length).toBeLessThan(30)
  })

  test('[EC5] a lost cache is told with its cause, and kept beside the numbers', async () => {
    const events: ThreadEvent[] = []
    const thread = await open({ policy: {}, on: (event: ThreadEvent) => events.push(event) })
    const frame = { system: 'You help.', tools: [{ name: 'read' }] }
    const send = async (cached: number, tools: Json[]): Promise<void> => {
      const { id } = await thread.view({ format: 'anthropic', frame: { ...frame, tools } })
      const usage = { input_tokens: 10, cache_read_input_tokens: cached, output_tokens: 5 }
      await thread.usage({ ...usage, cache_creation_input_tokens: 9000 - cached }, id)
    }
    await thread.append([{ role: 'user', content: 'go' }])
    await send(0, [{ name: 'read' }])
    await thread.append([
      { role: 'assistant', content: 'yes' },
      { role: 'user', content: 'on' },
    ])
    await send(8900, [{ name: 'read' }])
    expect(events.filter(({ type }) => type === 'cache-broken')).toEqual([])
    await thread.append([
      { role: 'assistant', content: 'yes' },
      { role: 'user', content: 'more' },
    ])
    await send(0, [{ name: 'write' }])
    expect(events.findLast(({ type }) => type === 'cache-broken')).toMatchObject({
      reason: 'tools',
    })
    const broken = []
    for await (const entry of thread.log()) {
      if (entry.type === 'usage' && entry.broken !== undefined) broken.push(entry.broken)
    }
    expect(broken).toEqual([{ cause: 'tools', lost: 9010, cost: expect.any(Number) }])
  })

  test.each(['openai-chat', 'openai-responses', 'anthropic'] as const)(
    '[EC3] between epochs the blocks of %s only grow at their end, whatever the rules',
    async (format) => {
      const step = fc.record({ size: fc.integer({ min: 10, max: 2500 }), asks: fc.boolean() })
      const policy = fc.constantFrom<object>(
        { preset: 'recommended' },
        { toolResults: { max: 2, cutoff: 0 }, schedule: 'cache-aware' },
        { history: { length: 2 }, toolResults: { max: 3, cutoff: 0 }, schedule: 'cache-aware' },
        { expiry: { tools: { '*': { after: 1, mode: 'compact' } } }, schedule: 'cache-aware' },
        { toolOutput: { maxChars: 900 }, compaction: {}, memory: {}, schedule: 'cache-aware' },
      )
      await fc.assert(
        fc.asyncProperty(
          fc.array(step, { minLength: 4, maxLength: 24 }),
          policy,
          async (steps, own) => {
            const thread = await open({ policy: own })
            await thread.append([{ role: 'user', content: 'go' }], { format: 'openai-chat' })
            let before: readonly string[] = []
            for (const [index, { size, asks }] of steps.entries()) {
              await thread.append(exchange(index, size), { format: 'openai-chat' })
              if (asks) {
                const talk = [
                  { role: 'assistant', content: 'so' },
                  { role: 'user', content: 'and?' },
                ]
                await thread.append(talk, { format: 'openai-chat' })
              }
              const view = await thread.view({ format })
              const body = { [bodyKey(format)]: view.messages, system: view.system }
              expect(validate(format, body as Json)).toEqual([])
              const blocks = blocksOf(view.messages as Json[])
              if (view.epoch.applied === 0) expect(blocks.slice(0, before.length)).toEqual(before)
              before = blocks
            }
          },
        ),
        { numRuns: 25 },
      )
    },
  )
})

function bodyKey(format: FormatName): string {
  return format === 'openai-responses' ? 'input' : 'messages'
}

/** Every block with its role, cache marks and grouping aside. */
function blocksOf(messages: readonly Json[]): readonly string[] {
  return messages.flatMap((message) => {
    const { role = '', content, ...rest } = message as { role?: string; content?: Json }
    const blocks = Array.isArray(content)
      ? content
      : content === null || content === undefined
        ? []
        : [{ type: 'text', text: content }]
    const own = Object.keys(rest).length > 0 ? [rest as Json] : []
    return [...blocks, ...own].map((block) => {
      const { cache_control: _, ...kept } = block as { cache_control?: Json }
      return `${role} ${canonicalJson(kept as Json)}`
    })
  })
}
