import { describe, expect, it } from 'vitest'
import { memoryStore } from '../stores/memory/index.ts'
import type { ThreadOptions } from '../thread/options.ts'
import { openThread } from '../thread/thread.ts'
import { lexicalRelevance } from './relevance.ts'

const weather = Array.from(
  { length: 40 },
  (_, n) => `rain in Bergen on day ${n}, cloudy, 8 degrees`,
).join('\n')
const parser = Array.from(
  { length: 40 },
  (_, n) => `src/parser.ts:${n} function parseHeader(token)`,
).join('\n')
const step = (id: string, name: string, content: string) => [
  {
    role: 'assistant',
    content: [{ type: 'tool-call', callId: id, name, arguments: `{"q":"${name}"}` }],
  },
  { role: 'tool', content: [{ type: 'tool-result', callId: id, content }] },
]
const say = (text: string) => ({ role: 'assistant', content: text })
const conversation = [
  { role: 'user', content: 'Is it raining in Bergen?' },
  ...step('a', 'forecast', weather),
  say('Yes, rain all week.'),
  { role: 'user', content: 'Now fix parseHeader in src/parser.ts, it loses a token.' },
  ...step('b', 'read', parser),
  say('parseHeader in src/parser.ts drops the last token.'),
  say('I changed src/parser.ts: parseHeader keeps every token.'),
  say('The tests of the parser pass.'),
  say('parseHeader is fixed in src/parser.ts.'),
  { role: 'user', content: 'Also rename the token in src/parser.ts.' },
]
const forms = async (options: Partial<ThreadOptions> = {}, isStepwise = false) => {
  const thread = await openThread({
    id: 't',
    store: memoryStore(),
    now: () => 1,
    policy: { expiry: { relevance: {} } },
    ...options,
  })
  for (const message of conversation) {
    await thread.append(message)
    if (isStepwise) await thread.view()
  }
  const { trace } = await thread.view()
  return trace.map(({ index, form, rule }) => `${index} ${form} ${rule}`)
}

describe('results that have little to do with what came after', () => {
  it('[D12] expire; what is still spoken of stays', async () => {
    expect(await forms()).toEqual(['2 clipped expiry'])
  })

  it("[D12] expire by their tool's own mode, and only below the threshold", async () => {
    const tools = { forecast: { after: 100, mode: 'remove' } } as const
    expect(await forms({ policy: { expiry: { relevance: {}, tools } } })).toEqual([
      '2 omitted expiry',
    ])
    expect(await forms({ policy: { expiry: { relevance: { threshold: 0 } } } })).toEqual([])
  })

  it('[D12] the same whether one looks after each message or once at the end', async () => {
    expect(await forms({}, true)).toEqual(await forms())
  })

  it('[D12] the judge can be replaced; one that throws or answers nonsense keeps everything', async () => {
    const asked: string[] = []
    const all = await forms({
      relevance: ({ tool }, recent) => {
        asked.push(tool)
        expect(recent).toContain('src/parser.ts')
        return 0
      },
    })
    expect(all).toEqual(['2 clipped expiry', '6 clipped expiry'])
    expect(new Set(asked)).toEqual(new Set(['forecast', 'read']))
    const broken = () => {
      throw new Error('no')
    }
    expect(await forms({ relevance: broken })).toEqual([])
    expect(await forms({ relevance: () => Number.NaN })).toEqual([])
    await expect(forms({ relevance: 7 as never })).rejects.toMatchObject({ code: 'invalid-option' })
  })

  it('[D12] the lexical score is between 0 and 1, and counts ids and paths', () => {
    const score = (text: string, recent: string) => lexicalRelevance({ text, tool: 'x' }, recent)
    expect(score('the weather is fine', 'fix src/parser.ts')).toBe(0)
    expect(score('see src/parser.ts', 'fix src/parser.ts')).toBeGreaterThan(0.8)
    expect(score('', 'anything')).toBe(1)
    expect(
      score('order ORD-1234 was sent', 'what about ORD-1234 and the other one, the blue car?'),
    ).toBeGreaterThan(0.3)
  })
})
