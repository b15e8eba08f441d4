import { describe, expect, it } from 'vitest'
import type { Expiry } from '../core/log/entry.ts'
import { memoryStore } from '../stores/memory/index.ts'
import type { ThreadEvent } from '../thread/events.ts'
import type { ThreadOptions } from '../thread/options.ts'
import type { Summarize, SummaryJob } from '../thread/summaries/answer.ts'
import { openThread } from '../thread/thread.ts'

const original = Array.from({ length: 100 }, (_, n) => `fact ${n} about the order`).join('\n')
const setting: Expiry = { after: 0, mode: 'compact', compact: 'summary', length: 100 }
const result = (callId: string, content: string) => [
  {
    role: 'assistant',
    content: [{ type: 'tool-call', callId, name: 'look', arguments: `{"n":"${callId}"}` }],
  },
  { role: 'tool', content: [{ type: 'tool-result', callId, content }] },
]
const answer = { role: 'assistant', content: 'ok' }

const run = async (summarize: Summarize | undefined, options: Partial<ThreadOptions> = {}) => {
  const events: ThreadEvent[] = []
  const thread = await openThread({
    id: 't',
    store: memoryStore(),
    now: () => 1,
    policy: { expiry: { tools: { look: setting } } },
    ...(summarize === undefined ? {} : { summarize }),
    on: (event) => events.push(event),
    ...options,
  })
  await thread.append([{ role: 'user', content: 'go' }, ...result('a', original), answer])
  const view = await thread.view<{ role: string; content: string }>()
  const text = view.messages.find(({ role }) => role === 'tool')?.content ?? ''
  return { thread, view, text, failed: events.filter(({ type }) => type === 'job-failed') }
}

describe('summaries of results that expire (document 001)', () => {
  it('[D10] the default prompt is rendered with what it must know', async () => {
    const jobs: SummaryJob[] = []
    const { text, view } = await run(async (job) => {
      jobs.push(job)
      return 'A hundred facts.'
    })
    expect(text).toMatch(
      /^\[AI Summary of \d+ chars\. Agent can request full expansion if needed: e\w+\]\n\nA hundred facts\.$/,
    )
    expect(view.trace).toMatchObject([{ form: 'summarized', rule: 'expiry', canExpand: true }])
    expect(jobs).toHaveLength(1)
    expect(jobs[0]?.prompt).toContain(`(${original.length} characters, type: tool-result)`)
    expect(jobs[0]?.prompt).toContain('~100 characters')
    expect(jobs[0]?.prompt).not.toContain('{{')
    expect(jobs[0]?.text).toContain('fact 99 about the order')
  })

  it.each<[string, Summarize | undefined, RegExp | undefined]>([
    ['throws', () => Promise.reject(new Error('down')), /failed/],
    ['is empty', async () => '  ', /empty/],
    ['is an object without a summary', async () => ({}) as { summary: string }, /neither/],
    ['is longer than the original', async () => original.repeat(2), /ceiling/],
    ['is not there', undefined, undefined],
  ])('[D10] a summary that %s gives way to the first characters', async (_, summarize, reason) => {
    const { text, failed, thread } = await run(summarize)
    expect(text).toContain('[Compacted: showing first')
    expect(failed).toHaveLength(reason === undefined ? 0 : 1)
    if (reason !== undefined) expect(failed[0]?.reason).toMatch(reason)
    const length = (await thread.log()).length
    await thread.view()
    expect((await thread.log()).length).toBe(length)
  })

  it('[D10] what failed is not asked for again, also after a reopening', async () => {
    const store = memoryStore()
    let calls = 0
    const failing: Summarize = async () => {
      calls += 1
      throw new Error('down')
    }
    const { text } = await run(failing, { store })
    const again = await openThread({ id: 't', store, summarize: failing, now: () => 1 })
    for (let n = 0; n < 5; n++) {
      await again.append([answer])
      const { messages } = await again.view<{ role: string; content: string }>()
      expect(messages.find(({ role }) => role === 'tool')?.content).toBe(text)
    }
    expect(calls).toBe(1)
  })

  it('[D10] a prompt that nobody gave is an event, and the first characters serve', async () => {
    const policy = { expiry: { tools: { look: { ...setting, prompt: 'nowhere' } } } }
    let calls = 0
    const { text, failed } = await run(
      async () => {
        calls += 1
        return 'x'
      },
      { policy },
    )
    expect(text).toContain('[Compacted:')
    expect(failed[0]?.reason).toBe('no prompt has the id nowhere')
    expect(calls).toBe(0)
  })

  it("[D10] override > the tool's setting > the tool's default > the default prompt", async () => {
    const prompts = Object.fromEntries(
      ['over', 'own', 'tool', 'compactMessagePrompt'].map((id) => [
        id,
        { name: id, template: `prompt ${id} for {{originalContent}} at {{ turnAdded }}` },
      ]),
    )
    const used = async (expiry: object): Promise<string> => {
      let prompt = ''
      await run(
        async (job) => {
          prompt = job.prompt
          return 'x'
        },
        { prompts, policy: { expiry } },
      )
      return /^prompt (\w+) for \(the message that follows\) at 1\n/.exec(prompt)?.[1] ?? prompt
    }
    const tools = { look: { ...setting, prompt: 'own' } }
    const toolDefaults = { 'lo*': { prompt: 'tool' } }
    expect(await used({ tools, toolDefaults, override: { prompt: 'over' } })).toBe('over')
    expect(await used({ tools, toolDefaults })).toBe('own')
    expect(await used({ tools: { look: setting }, toolDefaults })).toBe('tool')
    expect(await used({ tools: { look: setting } })).toBe('compactMessagePrompt')
  })

  it('[DB16] a template with the content and its turn: the text comes once, as data, and so does the summary', async () => {
    const jobs: SummaryJob[] = []
    const template = 'Turn {{ turnAdded }}: {{ originalContent }}, {{ originalLength }} characters'
    const { thread } = await run(
      async (job) => {
        jobs.push(job)
        return 'A hundred facts.'
      },
      { prompts: { compactMessagePrompt: { name: 'own', template } } },
    )
    expect(jobs[0]?.prompt.split('\n')[0]).toBe(
      `Turn 1: (the message that follows), ${original.length} characters`,
    )
    expect(jobs[0]?.prompt).not.toContain('fact 99')
    expect(jobs[0]?.text.split('fact 99 about the order')).toHaveLength(2)
    await thread.append([...result('b', original), answer])
    const { messages } = await thread.view<{ role: string; content: string }>()
    const shown = messages.filter(({ role }) => role === 'tool')
    expect(shown.every(({ content }) => content.includes('A hundred facts.'))).toBe(true)
    expect(jobs).toHaveLength(1)
  })

  it('[DB16] a failure is a line of the log, without content', async () => {
    const lines: string[] = []
    await run(() => Promise.reject(new Error('secret words')), { log: (line) => lines.push(line) })
    expect(lines).toEqual([
      expect.stringMatching(/^\[Oriel\] 1 summaries failed: the deterministic form is used\. /),
    ])
    expect(lines.join()).not.toContain('secret')
  })

  it('[D10] the same content is summarized once, whenever it comes', async () => {
    let calls = 0
    const { thread } = await run(async () => `summary ${++calls}`)
    await thread.append([...result('b', original), answer, answer])
    const { messages } = await thread.view<{ role: string; content: string }>()
    const texts = messages.filter(({ role }) => role === 'tool').map(({ content }) => content)
    expect(texts.every((text) => text.endsWith('summary 1'))).toBe(true)
    expect(calls).toBe(1)
  })

  it('[D10] answers in the JSON that the source asks for are understood', async () => {
    const { text } = await run(async () => '```json\n{ "summary": "short and good" }\n```')
    expect(text.endsWith('\n\nshort and good')).toBe(true)
  })

  it('[D10] a wrong prompt is refused at once', async () => {
    const prompts = { bad: { name: 'bad' } } as unknown as NonNullable<ThreadOptions['prompts']>
    await expect(run(undefined, { prompts })).rejects.toMatchObject({
      code: 'invalid-option',
      path: 'prompts.bad',
    })
  })
})
