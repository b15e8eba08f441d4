// `oriel simulate` as its users run it.

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { oriel } from '../../test/keeping.ts'

let folder: string
const file = (name: string): string => join(folder, name)

const hostile = '"><img src=x onerror=alert(1)></svg><script>alert(1)</script>'

/** An agent that reads long files and later needs what stood in the first. */
function messages(steps: number): object[] {
  const exchanges = Array.from({ length: steps }, (_, step) => [
    {
      role: 'assistant',
      content: null,
      tool_calls: [
        {
          id: `c${step}`,
          type: 'function',
          function: { name: 'read', arguments: JSON.stringify({ key: step < 9 ? 'a' : 'key_77' }) },
        },
      ],
    },
    {
      role: 'tool',
      tool_call_id: `c${step}`,
      content: `${step === 0 ? 'the secret is key_77' : 'nothing'}\n${'long text '.repeat(150)}`,
    },
  ])
  return [
    { role: 'user', content: 'Go.' },
    ...exchanges.flat(),
    { role: 'assistant', content: 'Done.' },
  ]
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'oriel-simulate-'))
  mkdirSync(file('logs/deep'), { recursive: true })
  const lines = [
    { id: 'one', source: 'alpha', messages: messages(14) },
    { id: hostile, source: hostile, messages: messages(6) },
  ]
  writeFileSync(file('logs/a.jsonl'), lines.map((line) => JSON.stringify(line)).join('\n'))
  const anthropic = [
    { role: 'user', content: 'Hi.' },
    { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'f', input: {} }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: 'ok' }] },
    { role: 'assistant', content: 'Done.' },
  ]
  writeFileSync(
    file('logs/deep/b.json'),
    JSON.stringify({ model: 'm', system: 'Be brief.', messages: anthropic }),
  )
  writeFileSync(
    file('keep.json'),
    JSON.stringify({
      toolResults: { strategy: 'keepRecent', max: 2, cutoff: 0, placeholder: 'plain' },
    }),
  )
})

afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})

interface Report {
  readonly conversations: number
  readonly requests: number
  readonly prices: { readonly read: number; readonly write: number }
  readonly policies: readonly {
    readonly name: string
    readonly cost: number
    readonly recall: number
    readonly dollars?: number
    readonly invalid: number
    readonly sources: Readonly<Record<string, { readonly requests: number }>>
  }[]
}

const simulate = (...words: readonly string[]) => oriel(['simulate', ...words, '--workers', '1'])

describe('oriel simulate', () => {
  it('[W7] shows something at once where no file is named', async () => {
    const { code, stdout, stderr } = await oriel(['simulate'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain('(the bundled samples)')
    for (const word of ['Cost', 'Facts', 'Cache breaks', 'recommended', 'regret', 'anchored']) {
      expect(stdout).toContain(word)
    }
  })

  it('[W7] reads folders, several formats and several policies, and prints JSON', async () => {
    const { code, stdout } = await simulate(
      file('logs'),
      '--policy',
      file('keep.json'),
      '--policy',
      'history-window',
      '--json',
    )
    expect(code).toBe(0)
    const report = JSON.parse(stdout) as Report
    expect(report).toMatchObject({ conversations: 3, requests: 24 })
    expect(report.policies.map(({ name }) => name)).toEqual([
      'none',
      file('keep.json'),
      'history-window',
    ])
    const [none, keep, window] = report.policies
    expect(none).toMatchObject({ cost: 1, recall: 1, invalid: 0 })
    expect(keep?.recall).toBeLessThan(1)
    expect(keep?.dollars).toBeGreaterThan(0)
    expect(window).toMatchObject({ cost: 1, recall: 1 })
    expect(Object.keys(none?.sources ?? {})).toEqual(['alpha', hostile, 'b.json'])
    expect(none?.sources['b.json']?.requests).toBe(2)
  })

  it('[W7] takes prices of a provider or a model', async () => {
    const of = async (prices: string) => {
      const { stdout } = await simulate(file('logs/deep'), '--prices', prices, '--json')
      return (JSON.parse(stdout) as Report).prices
    }
    expect(await of('openai')).toMatchObject({ provider: 'openai', model: 'gpt-5.6-terra' })
    expect(await of('anthropic/claude-opus-5')).toMatchObject({ inputDollars: 5 })
    expect(await of('gpt-4o')).toMatchObject({ provider: 'openai', read: 0.5 })
    const { code, stderr } = await simulate('--prices', 'nobody')
    expect({ code, stderr: stderr.slice(0, 56) }).toEqual({
      code: 2,
      stderr: "oriel: --prices: no provider or model is called 'nobody'",
    })
  })

  it('[W7] lets the cache die by the recorded times', async () => {
    const at = (index: number): string => new Date(index * 600_000).toISOString()
    const timed = messages(5).map((message, index) => ({ ...message, timestamp: at(index) }))
    writeFileSync(file('timed.json'), JSON.stringify(timed))
    const { stdout } = await simulate(file('timed.json'), '--policy', 'history-window')
    expect(stdout).toContain('the cache lives 5 minutes by the recorded times')
    expect(stdout).toContain('ttl 5')
  })

  it('[W7] reads session logs of agents, whose lines have the times, and messages of frameworks', async () => {
    const line = (message: object, minutes: number) =>
      JSON.stringify({ type: 'x', timestamp: new Date(minutes * 60_000).toISOString(), message })
    const say = (role: string, text: string) => ({ role, content: [{ type: 'text', text }] })
    const log = ['Hi.', 'Hello.', 'More.', 'Yes.', 'Later.', 'Still here.'].map((text, index) =>
      line(say(index % 2 === 0 ? 'user' : 'assistant', text), index < 4 ? index : index * 60),
    )
    writeFileSync(file('session.jsonl'), log.join('\n'))
    const timed = await simulate(file('session.jsonl'), '--policy', 'history-window')
    expect(timed.stdout).toContain('by the recorded times')
    expect(timed.stdout).toContain('ttl 1')
    const call = { type: 'tool-call', toolCallId: 'a', toolName: 'f', input: { key: 'x' } }
    const output = { type: 'text', value: 'the key is key_77' }
    const aiSdk = [
      { role: 'user', content: 'Go.' },
      { role: 'assistant', content: [call] },
      { role: 'tool', content: [{ type: 'tool-result', toolCallId: 'a', toolName: 'f', output }] },
      { role: 'assistant', content: [{ ...call, toolCallId: 'b', input: { key: 'key_77' } }] },
    ]
    writeFileSync(file('ai-sdk.json'), JSON.stringify(aiSdk))
    const { stdout } = await simulate(file('ai-sdk.json'), '--policy', 'history-window')
    expect(stdout).toContain('of 1 value that calls used')
  })

  it('[W8] ends with 1 where a policy meets the condition, and says why', async () => {
    const words = [file('logs'), '--policy', file('keep.json'), '--fail-if']
    const failed = await simulate(...words, 'cost>5 or recall<0.99')
    expect(failed.code).toBe(1)
    expect(failed.stderr).toContain('fails: recall is 0.')
    expect((await simulate(...words, 'recall<0.1')).code).toBe(0)
    const wrong = await simulate(...words, 'recal<1')
    expect(wrong.code).toBe(2)
    expect(wrong.stderr).toContain('--fail-if')
  })

  it('[W8] fails where nothing was judged, and the page shows no share', async () => {
    const html = file('nothing.html')
    const words = [file('logs/deep'), '--policy', 'recommended', '--rules', '0', '--html', html]
    const { code, stderr } = await simulate(...words, '--fail-if', 'recall<0.99')
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr:
        'oriel: recommended fails: recall cannot be judged: no call used a value that was said before.\n',
    })
    const page = readFileSync(html, 'utf8')
    expect(page).toContain('facts cannot be judged')
    expect(page).not.toContain('cost, relative to doing nothing')
    expect((await simulate(...words, '--fail-if', 'rules<0.9')).code).toBe(1)
  })

  it('[W11] states rules, and counts lookups and calls of a summarizer', async () => {
    const words = [file('logs/a.jsonl'), '--policy', 'recommended', '--summarizer', '--json']
    const { stdout } = await simulate(...words)
    const [none, own] = (JSON.parse(stdout) as { policies: { totals: object }[] }).policies
    expect(none?.totals).not.toHaveProperty('rules')
    expect(own?.totals).toMatchObject({
      rules: { stated: 17, replaced: 2 },
      lookups: { count: 0, cost: 0 },
      summaries: { calls: 0, cost: 0 },
    })
  })

  it('[W9] writes a page that runs nothing, loads nothing and takes names for text', async () => {
    const html = file('report.html')
    const { code, stdout } = await simulate(file('logs'), '--html', html)
    expect(code).toBe(0)
    expect(stdout).toContain('report.html')
    const page = readFileSync(html, 'utf8')
    expect(page).not.toMatch(/<script|<img|<\/svg><script/)
    expect(page).not.toMatch(/<[^>]*\b(?:src|href|on\w+)\s*=|https?:|@import|url\(/)
    expect(page).toContain('&#60;script&#62;')
    expect(page).toContain("default-src 'none'")
    expect(page.match(/<svg/g)).toHaveLength(4)
    expect(page.match(/<details/g)).toHaveLength(3)
    const tags = [...page.matchAll(/<(\/?)(details|svg|g|table|tbody|tr|p|h1|h2)\b[^>]*>/g)]
    const open = tags.reduce((depth, [, slash]) => depth + (slash === '' ? 1 : -1), 0)
    expect(open).toBe(0)
  })

  it('[W7] leaves out what cannot be replayed, with a note, and refuses nothing at all', async () => {
    const lines = [{ messages: messages(2) }, { messages: [{ role: 'user', content: 'Hi.' }] }]
    writeFileSync(file('some.jsonl'), lines.map((line) => JSON.stringify(line)).join('\n'))
    const { code, stdout } = await simulate(file('some.jsonl'), '--policy', 'history-window')
    expect(code).toBe(0)
    expect(stdout).toContain('conversation #2 was left out: no model answered')
    writeFileSync(file('none.json'), JSON.stringify([{ role: 'user', content: 'Hi.' }]))
    const none = await simulate(file('none.json'))
    expect(none.code).toBe(2)
    expect(none.stderr).toContain('No conversation to replay')
    mkdirSync(file('empty'))
    expect((await simulate(file('empty'))).stderr).toContain('the folder has no .json')
    const html = join(folder, 'nowhere', 'x.html')
    expect((await simulate(file('some.jsonl'), '--html', html)).stderr).toContain('--html')
  })
})
