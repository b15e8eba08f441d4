// The worked examples and unit tests of document 001, with our names. Its turns are our steps: one model call each.

import {
  type Expiry,
  expandTool,
  memoryStore,
  openThread,
  type SummaryJob,
  type Thread,
  type ThreadEvent,
  type ThreadOptions,
} from 'oriel'
import { describe, expect, it } from 'vitest'

const call = (callId: string, name: string, args = '{}') => ({
  role: 'assistant',
  content: [{ type: 'tool-call', callId, name, arguments: args }],
})
const result = (callId: string, content: string) => ({
  role: 'tool',
  content: [{ type: 'tool-result', callId, content }],
})
const items = Array.from({ length: 60 }, (_, n) => ({
  title: `Result ${n}`,
  url: `https://example.com/page-${n}`,
  text: 'A sentence about the subject.',
}))
const searchResults = JSON.stringify(items)
const open = (options: Partial<ThreadOptions>) =>
  openThread({ id: 't', store: memoryStore(), now: () => 1, ...options })
type Shown = { role: string; content: string }
/** The search result as the request of this step shows it. */
const shown = async (thread: Thread): Promise<string> => {
  const { messages } = await thread.view<Shown>()
  return messages.find(({ role }) => role === 'tool')?.content ?? ''
}
/** Step 1 calls the tool; the result belongs to it. */
const begin = async (thread: Thread, name = 'google_search', content = searchResults) => {
  await thread.append({ role: 'user', content: 'Tell me about it.' })
  await thread.append([call('c1', name), result('c1', content)])
}
const nextStep = (thread: Thread) => thread.append({ role: 'assistant', content: 'thinking' })
const search: Expiry = { after: 2, mode: 'compact', compact: 'first-chars', length: 500 }

describe("document 001's examples", () => {
  it('[D8] Example 1: Google Search with Quick Truncation: a search result is compacted in the fourth step, from the original', async () => {
    const thread = await open({ policy: { expiry: { tools: { google_search: search } } } })
    await begin(thread)
    expect(await shown(thread)).toBe(searchResults)
    await nextStep(thread)
    expect(await shown(thread)).toBe(searchResults)
    await nextStep(thread)
    const compacted = await shown(thread)
    expect(compacted).toMatch(
      /\[Compacted: showing first \d+ of \d+ characters\. These are \d+ of 60 items\. Agent can request expansion if needed: e\w+\]$/,
    )
    expect(compacted.length).toBeLessThan(700)
    for (let n = 0; n < 5; n++) {
      await nextStep(thread)
      expect(await shown(thread)).toBe(compacted)
    }
    const edits = (await thread.log()).filter(({ type }) => type === 'edit')
    expect(edits).toHaveLength(1)
    const [change] = (await thread.view()).trace
    expect(change).toMatchObject({ canExpand: true, originalLength: searchResults.length })
    expect(await thread.expand(change?.id ?? '')).toEqual({ ok: true, text: searchResults })
  })

  it('[D8] Example 2: Agent Expands Compacted Message: the agent expands what it needs, whole or only some items', async () => {
    const thread = await open({
      policy: { expiry: { tools: { google_search: { ...search, after: 0 } } } },
    })
    await begin(thread)
    await nextStep(thread)
    await thread.view()
    const { handle } = expandTool(thread)
    const request = {
      step: 'ExpandMessage',
      messageIndex: 2,
      reason: 'User asked about result #47',
    }
    expect(await handle(request)).toBe(searchResults)
    expect(JSON.parse(await handle({ ...request, itemRange: [40, 50] }))).toEqual(
      items.slice(40, 51),
    )
    await thread.expand(2, { inPlace: true })
    expect(await shown(thread)).toBe(searchResults)
  })

  it('[D8] Example 3: Runtime Override for Testing: an override for one run stands over every tool', async () => {
    const override = { after: 1, mode: 'compact', compact: 'first-chars', length: 200 } as const
    const thread = await open({ policy: { expiry: { override, preserveOriginals: true } } })
    await begin(thread, 'any_tool', 'x'.repeat(5000))
    await nextStep(thread)
    expect(await shown(thread)).toMatch(
      /^x{200}\.\.\.\n\n\[Compacted: showing first 200 of 5000 characters\./,
    )
  })

  it("[D8] Example 4: Cost Control with AI Summary: a summary by the tool's default prompt, made once", async () => {
    const jobs: SummaryJob[] = []
    const thread = await open({
      policy: {
        expiry: {
          tools: { query_database: { after: 3, mode: 'compact', compact: 'summary' } },
          toolDefaults: { query_database: { prompt: 'database-summary' } },
        },
      },
      prompts: {
        'database-summary': {
          name: 'Database',
          template:
            'Rows of a {{ messageType }}, {{ originalLength }} characters, to {{ targetLength }}:',
          models: ['small-model'],
        },
      },
      summarize: async (job) => {
        jobs.push(job)
        return { summary: '60 rows about one subject.' }
      },
    })
    await begin(thread, 'query_database')
    for (let n = 0; n < 3; n++) await nextStep(thread)
    const before = `[AI Summary of ${searchResults.length} chars. Agent can request full expansion if needed: `
    expect((await shown(thread)).startsWith(before)).toBe(true)
    expect(await shown(thread)).toMatch(/\]\n\n60 rows about one subject\.$/)
    for (let n = 0; n < 4; n++) {
      await nextStep(thread)
      await thread.view()
    }
    expect(jobs).toHaveLength(1)
    expect(jobs[0]?.prompt).toContain(
      `Rows of a tool-result, ${searchResults.length} characters, to 500:`,
    )
    expect(jobs[0]?.meta).toMatchObject({ models: ['small-model'] })
    expect(jobs[0]?.targetChars).toBe(500)
  })

  it('[D8] [DB14] Example 5: Lifecycle Monitoring: the lifecycle can be watched, word for word', async () => {
    const tokenSavings: number[] = []
    const compactionLog: string[] = []
    const expandable: boolean[] = []
    const on = (event: ThreadEvent) => {
      compactionLog.push(`[Turn ${event.turn}] ${event.type}: ${event.reason}`)
      if (event.tokensSaved) {
        tokenSavings.push(event.tokensSaved)
      }
      if (event.type === 'message-compacted') expandable.push(event.message.metadata.canExpand)
    }
    const tools = {
      google_search: { ...search, after: 0 },
      other: { after: 1, mode: 'remove' },
    } as const
    const thread = await open({ policy: { expiry: { tools } }, on })
    await begin(thread)
    await nextStep(thread)
    await thread.view()
    await thread.append([call('c2', 'other'), result('c2', 'words and words '.repeat(40))])
    await nextStep(thread)
    await thread.view()
    expect(compactionLog.filter((line) => !line.includes('added'))).toEqual([
      '[Turn 3] message-compacted: older than 0 steps: first 500 characters',
      '[Turn 3] epoch-applied: older than 0 steps: first 500 characters',
      '[Turn 5] message-expired: older than 1 step',
      '[Turn 5] message-removed: older than 1 step',
      '[Turn 5] epoch-applied: older than 1 step',
    ])
    expect(expandable).toEqual([true])
    // Each token is counted once.
    expect(tokenSavings.reduce((a, b) => a + b, 0)).toBe(thread.tokensSaved)
  })

  it('[DB14] an event has the message, and the index that expands it', async () => {
    const events: ThreadEvent[] = []
    const seen: unknown[] = []
    const tools = { google_search: { ...search, after: 0 } } as const
    const on = (event: ThreadEvent) => {
      events.push(event)
      if (event.type === 'message-compacted') seen.push(event.message)
    }
    const thread = await open({ policy: { expiry: { tools }, history: { length: 1 } }, on })
    await thread.append([
      { role: 'user', content: 'before' },
      { role: 'assistant', content: 'a' },
    ])
    await begin(thread)
    await nextStep(thread)
    await thread.view()
    const compacted = events.find(({ type }) => type === 'message-compacted')
    expect(seen).toMatchObject([
      {
        role: 'tool',
        content: [{ type: 'tool-result', content: expect.stringContaining('[Compacted:') }],
        metadata: {
          turnAdded: 2,
          wasCompacted: true,
          isExpired: true,
          canExpand: true,
          originalLength: searchResults.length,
        },
      },
    ])
    // Two messages before it left the view.
    expect(compacted?.index).toBe(2)
    expect(await thread.expand(compacted?.index ?? -1)).toEqual({ ok: true, text: searchResults })
    const expanded = events.find(({ type }) => type === 'message-expanded')
    expect(expanded?.index).toBe(2)
    // What is passed on as JSON has no content.
    expect(JSON.stringify(events)).not.toContain('A sentence about the subject')
    expect(events.every(({ text }) => text !== '')).toBe(true)
  })

  it('[DB14] of what is reduced twice, the second event counts what came on top', async () => {
    const saved: number[] = []
    const on = ({ tokensSaved = 0 }: ThreadEvent) => saved.push(tokensSaved)
    const tools = (mode: 'compact' | 'remove') => ({ '*': { after: 0, mode, length: 500 } })
    const thread = await open({ policy: { expiry: { tools: tools('compact') } }, on })
    await begin(thread)
    await nextStep(thread)
    await thread.view()
    await thread.setPolicy({ expiry: { tools: tools('remove') } })
    await thread.view()
    await thread.setPolicy({ history: { length: 1 } })
    await thread.append({ role: 'user', content: 'again' })
    await thread.view()
    expect(saved.filter((tokens) => tokens > 0).length).toBeGreaterThan(2)
    expect(saved.reduce((a, b) => a + b, 0)).toBe(thread.tokensSaved)
  })
})

describe("document 001's unit tests", () => {
  const tools = { look: { after: 0, mode: 'compact', length: 500 } } as const

  it('[D8] should compact message using First N Chars', async () => {
    const thread = await open({ policy: { expiry: { tools } } })
    await begin(thread, 'look', 'y'.repeat(5000))
    await nextStep(thread)
    const text = await shown(thread)
    expect(text.length).toBeLessThan(620)
    expect(text).toContain('[Compacted:')
    expect(text).toContain('Agent can request expansion')
  })

  it('[D8] should preserve original content when compacting: what is longer than the limit is compacted and can be expanded, what is short is left alone', async () => {
    const original = 'Very long search results... '.repeat(20)
    const thread = await open({ policy: { expiry: {} } })
    const message = {
      role: 'user',
      origin: 'host',
      kind: 'action-result',
      expiry: { after: 1, mode: 'compact', compact: 'first-chars', length: 50 },
    }
    await thread.append([
      { role: 'user', content: 'go' },
      { ...message, content: original },
      { ...message, content: 'Very long search results...' },
    ])
    for (let n = 0; n < 2; n++) await nextStep(thread)
    const { messages, trace } = await thread.view<Shown>()
    expect(messages[1]?.content).toContain('[Compacted: showing first 50 of 560 characters.')
    expect(messages[2]?.content).toBe('Very long search results...')
    expect(trace).toMatchObject([
      { index: 1, form: 'clipped', canExpand: true, originalLength: 560 },
    ])
    expect(await thread.expand(trace[0]?.id ?? '')).toEqual({ ok: true, text: original })
  })

  it('[D8] should expand compacted message on request: the original is back, and it cannot be expanded again', async () => {
    const thread = await open({ policy: { expiry: { tools } } })
    await begin(thread, 'look', 'Full content here... '.repeat(60))
    await nextStep(thread)
    const [change] = (await thread.view()).trace
    expect(
      await thread.expand(change?.id ?? '', { inPlace: true, reason: 'Need full details' }),
    ).toMatchObject({ ok: true })
    expect(await shown(thread)).toBe('Full content here... '.repeat(60))
    expect((await thread.view()).trace).toEqual([])
    expect(await thread.expand(change?.id ?? '', { inPlace: true })).toMatchObject({ ok: false })
  })
})

describe('what the source does, and we do better', () => {
  it('[D8] loops and tools do not age results: only model calls do', async () => {
    const thread = await open({
      policy: { expiry: { tools: { look: { after: 0, mode: 'remove' } } } },
    })
    await begin(thread, 'look', 'z'.repeat(900))
    for (let n = 0; n < 100; n++) {
      await thread.append({
        role: 'user',
        origin: 'host',
        kind: 'loop-result',
        content: `iteration ${n}`,
      })
    }
    expect(await shown(thread)).toBe('z'.repeat(900))
    await nextStep(thread)
    expect(await shown(thread)).toMatch(/^\[Omitted: look result, 900 characters/)
  })

  it('[D8] 10,000 rounds of expanding and compacting leave the original as it was', async () => {
    const thread = await open({
      policy: { expiry: { tools: { look: { after: 0, mode: 'compact', length: 60 } } } },
    })
    const original = 'ünï😀 "json\\u0000" \n'.repeat(30)
    await begin(thread, 'look', original)
    await nextStep(thread)
    const id = (await thread.view()).trace[0]?.id ?? ''
    const compacted = await shown(thread)
    for (let round = 0; round < 10_000; round++) {
      await thread.expand(id, { inPlace: true, steps: 1 })
      if (round % 500 === 0) expect(await shown(thread)).toBe(original)
      const [answer] = await nextStep(thread)
      if (round % 500 === 0) expect(await shown(thread)).toBe(compacted)
      // Out of sight, so that only the rounds are measured.
      await thread.exclude(answer?.id ?? '')
    }
    expect(await shown(thread)).toBe(compacted)
    expect(await thread.expand(id)).toEqual({ ok: true, text: original })
  })
})

describe("the document's own shapes, with default settings", () => {
  const long = 'found another line '.repeat(60)
  const picture = { type: 'image', mediaType: 'image/png', data: 'AAAA' }
  const noted = (expiry: Expiry, content: string | object[] = long) => ({
    role: 'user',
    origin: 'tool',
    kind: 'action-result',
    content,
    expiry,
  })
  const views = async (message: object, count: number) => {
    const thread = await open({})
    await thread.append([
      { role: 'user', content: 'go' },
      { role: 'assistant', content: 'calling' },
    ])
    await thread.append(message)
    const seen: string[] = []
    for (let step = 2; step < 2 + count; step++) {
      seen.push(JSON.stringify((await thread.view()).messages))
      await nextStep(thread)
    }
    return { thread, seen }
  }

  it('[DB10] a result in the user role is compacted in the same step as a tool result', async () => {
    const { seen } = await views(noted({ after: 2, mode: 'compact', length: 100 }), 4)
    // Added after step 1, limit 2: whole in steps 2 and 3, compacted in step 4.
    expect(seen.map((text) => text.includes('[Compacted'))).toEqual([false, false, true, true])
  })

  it('[DB11] a message that is only a picture expires, compacted or removed', async () => {
    const compacted = await views(noted({ after: 1, mode: 'compact' }, [picture]), 3)
    expect(compacted.seen.map((text) => text.includes('image_url'))).toEqual([true, false, false])
    expect(compacted.seen[1]).toContain('[Compacted: 1 picture or other part left out.')
    const removed = await views(noted({ after: 1, mode: 'remove' }, [picture]), 2)
    expect(removed.seen[1]).not.toContain('image_url')
  })

  it('[DB11] of a text with a picture both are compacted, and removal is one edit', async () => {
    const both = [{ type: 'text', text: long }, { type: 'text', text: long }, picture]
    const { seen } = await views(noted({ after: 1, mode: 'compact', length: 50 }, both), 2)
    expect(seen[1]).not.toContain('image_url')
    expect(seen[1]?.match(/\[Compacted/g)).toHaveLength(3)
    const { thread } = await views(noted({ after: 1, mode: 'remove' }, both), 2)
    const edits = (await thread.log()).filter(({ type }) => type === 'edit')
    expect(edits).toHaveLength(1)
  })

  it('[DB12] an override of one view stands over the policy and what is stored, field by field', async () => {
    const store = memoryStore()
    await store.settings.saveTool({ agent: 'a' }, 'read', { after: 50, mode: 'remove' })
    const policy = { expiry: { tools: { google_search: { ...search, after: 50 } } } } as const
    const thread = await open({ store, agent: 'a', policy })
    await begin(thread)
    await thread.append([
      call('c2', 'read'),
      result('c2', long),
      call('c3', 'x'),
      result('c3', long),
    ])
    for (let step = 0; step < 3; step++) await nextStep(thread)
    const forms = async (override: object) =>
      (await thread.view({ override })).trace.map(({ form }) => form)
    expect(await forms({ after: 1 })).toEqual(['clipped', 'omitted'])
    expect(await forms({ after: 1, mode: 'remove' })).toEqual(['omitted', 'omitted', 'omitted'])
    expect(await forms({ after: 1, mode: null, disable: true })).toEqual([])
    const { trace } = await thread.view({ override: { after: 1, preserveOriginals: false } })
    expect(trace.map(({ canExpand }) => canExpand)).toEqual([false, false])
    expect((await thread.view()).trace).toEqual([])
    await expect(thread.view({ override: { afer: 1 } as object })).rejects.toMatchObject({
      code: 'invalid-policy',
      path: 'policy.expiry.override.afer',
    })
  })
})
