import { describe, expect, it } from 'vitest'
import { validate } from '../providers/registry.ts'
import { memoryStore } from '../stores/memory/index.ts'
import { openThread } from '../thread/thread.ts'
import { orielProcessor } from './mastra.ts'

// A real agent of Mastra runs in examples/mastra-agent, and 40 tool calls of one in packages/bench (`npm run bench:mastra`).
const turn = (index: number): readonly unknown[] => [
  {
    role: 'assistant',
    content: [
      { type: 'tool-call', toolCallId: `c${index}`, toolName: 'read', input: { page: index } },
    ],
  },
  {
    role: 'tool',
    content: [
      {
        type: 'tool-result',
        toolCallId: `c${index}`,
        toolName: 'read',
        output: { type: 'text', value: `page ${index} `.repeat(300) },
      },
    ],
  },
]
const prompt = [
  { role: 'system', content: 'Read.' },
  { role: 'user', content: [{ type: 'text', text: 'Go' }] },
  ...[1, 2, 3, 4].flatMap(turn),
]
const model = { modelId: 'scripted', specificationVersion: 'v2' }
const policy = { toolResults: { strategy: 'keepRecent', max: 1, cutoff: 0 } } as const

describe("Mastra's processor", () => {
  it('[MA1] shows the view in the request, and leaves the prompt that it got', async () => {
    const before = structuredClone(prompt)
    const shown = await orielProcessor({ policy }).processLLMRequest({ prompt, model, state: {} })
    expect(prompt).toEqual(before)
    expect(shown.prompt.length).toBe(prompt.length)
    expect(shown.prompt.at(-1)).toBe(prompt.at(-1))
    expect(JSON.stringify(shown.prompt[3])).toContain('[Omitted: read result')
    expect(validate('ai-sdk', shown.prompt)).toEqual([])
  })

  it('[MA1] records requests and usage in the thread', async () => {
    const thread = await openThread({ store: memoryStore(), policy })
    const processor = orielProcessor({ thread })
    const state = {}
    processor.processInputStep({ tools: { read: { description: 'Reads a page' } }, state })
    await processor.processLLMRequest({ prompt, model, state })
    const usage = { inputTokens: 900, cachedInputTokens: 100, outputTokens: 7 }
    const chunks = [{ type: 'finish', payload: { output: { usage } } }]
    await processor.processLLMResponse({ chunks, state })
    const log = await thread.log()
    expect(log.filter(({ type }) => type === 'message')).toHaveLength(9)
    expect(log.filter(({ type }) => type === 'request')).toHaveLength(1)
    expect(log.find(({ type }) => type === 'usage')).toMatchObject({
      sample: { uncached: 800, cacheRead: 100, output: 7 },
    })
  })

  it("[MA3] leaves out Mastra's own notes, so that a history passed again with new ones is the same", async () => {
    const store = memoryStore()
    const thread = await openThread({ store })
    const processor = orielProcessor({ thread })
    const cache = { anthropic: { cacheControl: { type: 'ephemeral' } } }
    const stamped = (createdAt: number): readonly unknown[] => [
      { role: 'system', content: 'Read.', providerOptions: { mastra: { createdAt } } },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Go', providerOptions: { mastra: { createdAt }, ...cache } },
        ],
      },
    ]
    const shown = await processor.processLLMRequest({ prompt: stamped(1), model, state: {} })
    await processor.processLLMRequest({ prompt: stamped(2), model, state: {} })
    expect(shown.prompt).toEqual([
      { role: 'system', content: 'Read.' },
      { role: 'user', content: [{ type: 'text', text: 'Go', providerOptions: cache }] },
    ])
    expect(await store.list('default')).toHaveLength(1)
    expect((await thread.log()).filter(({ type }) => type === 'message')).toHaveLength(1)
  })

  it('[MA2] rejects unknown options, and none at all', () => {
    const make = (options: object) => (): unknown => orielProcessor(options as never)
    expect(make({ policy, expand: true })).toThrow(
      expect.objectContaining({ code: 'invalid-option', path: 'expand' }),
    )
    expect(make({})).toThrow(expect.objectContaining({ code: 'invalid-option', path: 'thread' }))
  })
})
