import { describe, expect, it } from 'vitest'
import type { FormatName } from '../../providers/format.ts'
import { memoryStore } from '../../stores/memory/index.ts'
import type { ThreadEvent } from '../events.ts'
import type { ThreadOptions } from '../options.ts'
import { openThread } from '../thread.ts'
import { expandTool } from './tool.ts'

const original = Array.from({ length: 80 }, (_, n) => `line ${n} of the output`).join('\n')
const user = (text: string) => ({ role: 'user', content: text })
const answer = { role: 'assistant', content: 'noted' }
const call = (...ids: string[]) => ({
  role: 'assistant',
  content: ids.map((callId) => ({ type: 'tool-call', callId, name: 'search', arguments: '{}' })),
})
const result = (callId: string, content = original) => ({
  role: 'tool',
  content: [{ type: 'tool-result', callId, content }],
})
const compact = { expiry: { tools: { '*': { after: 0, mode: 'compact', length: 100 } } } } as const

const open = async (options: Partial<ThreadOptions> = {}, format: FormatName = 'openai-chat') => {
  const thread = await openThread({
    id: 't',
    store: memoryStore(),
    policy: compact,
    now: () => 1,
    ...options,
  })
  await thread.append([
    user('go'),
    call('a', 'b'),
    result('a'),
    result('b', `${original} b`),
    answer,
  ])
  const view = await thread.view({ format })
  return { thread, view }
}
type Shown = { role: string; content: string; tool_call_id?: string }
const shown = async (thread: Awaited<ReturnType<typeof open>>['thread'], id: string) => {
  const { messages } = await thread.view<Shown>()
  return messages.find(({ tool_call_id }) => tool_call_id === id)?.content
}

describe('expanding in place (document 001)', () => {
  it('[X3] shows the original where it was for n requests; then the same form returns', async () => {
    const { thread, view } = await open()
    const id = view.trace[0]?.id ?? ''
    const before = await shown(thread, 'a')
    expect(before).toContain('[Compacted: showing first')
    expect(await thread.expand(id, { inPlace: true, steps: 2 })).toEqual({
      ok: true,
      text: original,
    })
    expect(await shown(thread, 'a')).toBe(original)
    expect(await shown(thread, 'b')).toContain('[Compacted:')
    expect((await thread.view()).trace.map(({ id: other }) => other)).not.toContain(id)
    await thread.append([user('and?'), answer])
    expect(await shown(thread, 'a')).toBe(original)
    await thread.append([user('and?'), answer])
    expect(await shown(thread, 'a')).toBe(before)
  })

  it('[X3] the default is three requests; what is shown can be rebuilt, undone edits aside', async () => {
    const { thread, view } = await open()
    await thread.expand(view.trace[0]?.id ?? '', { inPlace: true })
    const seen: boolean[] = []
    for (let n = 0; n < 4; n++) {
      seen.push((await shown(thread, 'a')) === original)
      await thread.append([user('and?'), answer])
    }
    expect(seen).toEqual([true, true, true, false])
    for (const step of [3, 4, 5, 6]) expect((await thread.requestAt(step)).exact).toBe(true)
  })

  it('[X3] an expansion outlives a reopening, a fork and a snapshot', async () => {
    const store = memoryStore()
    const { thread, view } = await open({ store, snapshotEvery: 1 })
    await thread.expand(view.trace[0]?.id ?? '', { inPlace: true })
    await thread.append([user('more')])
    await thread.settled()
    const again = await openThread({ id: 't', store, now: () => 1 })
    expect(await shown(again, 'a')).toBe(original)
    const fork = await again.fork((await again.log()).length)
    expect(await shown(fork, 'a')).toBe(original)
  })

  it('[X3] in a fork that begins before it was asked for, it lasts as many requests', async () => {
    const { thread, view } = await open()
    const head = (await thread.log()).length
    for (let n = 0; n < 5; n++) await thread.append([user('and?'), answer])
    await thread.expand(view.trace[0]?.id ?? '', { inPlace: true, steps: 2 })
    const fork = await thread.fork(head)
    const seen: boolean[] = []
    for (let n = 0; n < 4; n++) {
      seen.push((await shown(fork, 'a')) === original)
      await fork.append([user('and?'), answer])
    }
    expect(seen).toEqual([true, true, false, false])
  })

  it('[X3] a part can be shown in place too', async () => {
    const { thread, view } = await open()
    await thread.expand(view.trace[0]?.id ?? '', { inPlace: true, lines: [70, 71] })
    expect(await shown(thread, 'a')).toBe('line 70 of the output\nline 71 of the output')
    expect((await thread.view()).trace[0]).toMatchObject({ rule: 'expand', form: 'clipped' })
  })

  it('[X3] no rule touches it while it lasts', async () => {
    const { thread, view } = await open()
    await thread.expand(view.trace[0]?.id ?? '', { inPlace: true, steps: 2 })
    await thread.setPolicy({ toolResults: { strategy: 'dropAll', cutoff: 0 } })
    expect(await shown(thread, 'a')).toBe(original)
    expect(await shown(thread, 'b')).toMatch(/^\[Omitted/)
    await thread.append([user('x'), answer, user('x'), answer])
    expect(await shown(thread, 'a')).toMatch(/^\[Omitted/)
  })

  it.each([
    ['a window', { history: { length: 1 } }],
    ['a cap', { history: { policy: 'all', maxMessages: 2 } }],
    ['a checkpoint', { compaction: { maxTokens: 500, keepRecentTokens: 50 } }],
  ] as const)('[X3] %s does not take its message away while it lasts', async (_, policy) => {
    const { thread, view } = await open()
    await thread.append([user('first'), answer])
    await thread.expand(view.trace[0]?.id ?? '', { inPlace: true, steps: 2 })
    await thread.setPolicy(policy)
    const long = { ...answer, content: 'and so on '.repeat(200) }
    await thread.append([user('second'), long, user('third')])
    expect(await shown(thread, 'a')).toBe(original)
    await thread.append([long, user('fourth')])
    expect(await shown(thread, 'a')).toBeUndefined()
  })

  it('[X4] what cannot be expanded says why', async () => {
    const { thread, view } = await open()
    const [first] = view.trace
    const ask = (id: string | number, options = {}) => thread.expand(id, options)
    expect(await ask('e1zz')).toMatchObject({
      ok: false,
      reason: expect.stringContaining('nothing here has the id e1zz'),
    })
    await ask(first?.id ?? '', { inPlace: true })
    const again = await ask(first?.id ?? '', { inPlace: true })
    expect(again).toMatchObject({ ok: false })
    expect('reason' in again && again.reason).toMatch(/not expandable.*still shown/)
    const log = await thread.log()
    const goal = log.find(({ type }) => type === 'message')?.id ?? ''
    expect(await ask(goal)).toEqual({ ok: true, text: 'go' })
    const full = await ask(goal, { inPlace: true })
    expect('reason' in full && full.reason).toMatch(/not expandable: it is shown in full/)
    const wrong = await ask(first?.id ?? '', { inPlace: true, steps: 0 })
    expect('reason' in wrong && wrong.reason).toMatch(/steps must be/)
    const other = await openThread({ id: 'other', store: memoryStore() })
    expect(await other.expand(first?.id ?? '')).toMatchObject({ ok: false })
  })

  it('[X4] originals that are not preserved stay closed; empty ones open', async () => {
    const policy = { expiry: { ...compact.expiry, preserveOriginals: false } }
    const { thread, view } = await open({ policy })
    const closed = await thread.expand(view.trace[0]?.id ?? '')
    expect('reason' in closed && closed.reason).toMatch(
      /not expandable: the original was not preserved/,
    )
    await thread.append([call('c'), result('c', '')])
    const empty = (await thread.log()).findLast(({ type }) => type === 'message')?.id ?? ''
    expect(await thread.expand(empty)).toEqual({ ok: true, text: '' })
  })

  it('[X4] the trace does not promise an original that was not preserved, whichever rule took it away later', async () => {
    const expiry = { ...compact.expiry, preserveOriginals: false }
    const { thread, view } = await open({ policy: { expiry, history: { length: 1 } } })
    const lost = view.trace.map(({ id }) => id)
    await thread.append([user('next')])
    const { trace } = await thread.view()
    const dropped = trace.filter(({ id }) => lost.includes(id))
    expect(dropped).toMatchObject([
      { rule: 'history', form: 'dropped', canExpand: false },
      { rule: 'history', form: 'dropped', canExpand: false },
    ])
    expect(trace.find(({ index }) => index === 0)?.canExpand).toBe(true)
  })

  it('[X4] what is for people only is not expanded: alone, with its message, in a range, by a query', async () => {
    const thread = await openThread({ store: memoryStore() })
    const audience = { now: false, later: false, person: true }
    const [first, note, last] = await thread.append([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'question' },
          { type: 'text', text: 'secret one', audience },
        ],
      },
      { role: 'user', content: 'secret two', audience },
      answer,
    ])
    const { trace } = await thread.view()
    expect(trace).toMatchObject([
      { id: first?.blocks[1]?.id, rule: 'audience', canExpand: false },
      { id: note?.id, rule: 'audience', canExpand: false },
    ])
    const reason =
      'Not expanded: it is not expandable: it is for people only. Do not request this expansion again.'
    const { handle } = expandTool(thread)
    for (const { id } of trace) {
      expect(await thread.expand(id)).toEqual({ ok: false, reason })
      expect(await handle({ id })).toBe(reason)
    }
    const range = `${first?.id} to ${last?.id}`
    expect(await handle({ id: range })).toBe(
      `[${first?.id} user]\nquestion\n\n[${last?.id} assistant]\nnoted`,
    )
    expect(await thread.expand(range, { query: 'secret' })).toMatchObject({ ok: false })
  })

  it('[X4] nor does the trace offer it once it was dropped, also from a snapshot', async () => {
    const store = memoryStore()
    const policies = [
      { history: { policy: 'lastN', length: 1 } },
      { compaction: { maxTokens: 60, keepRecentTokens: 20 } },
    ] as const
    for (const [n, policy] of policies.entries()) {
      const options = { id: `t${n}`, store, policy, now: () => 1, snapshotEvery: 1 }
      const thread = await openThread(options)
      const audience = { now: false, later: false, person: true }
      const [first, note] = await thread.append([
        {
          role: 'user',
          content: [
            { type: 'text', text: 'question' },
            { type: 'text', text: 'secret one', audience },
          ],
        },
        { role: 'user', content: 'secret two', audience },
        { role: 'user', content: 'go on '.repeat(60) },
        answer,
        user('next'),
        answer,
      ])
      const rule = Object.keys(policy)[0]
      const { trace } = await thread.view()
      const noted = trace.find(({ id }) => id === note?.id)
      expect(noted).toMatchObject({ rule, form: 'dropped', canExpand: false })
      const hidden = trace.find(({ id }) => id === first?.blocks[1]?.id)
      expect(hidden).toMatchObject({ form: 'dropped', canExpand: false })
      expect(trace.find(({ index }) => index === 2)).toMatchObject({ rule, canExpand: true })
      await thread.settled()
      const again = await openThread(options)
      expect((await again.view()).trace).toEqual(trace)
    }
  })

  it('[X4] events name the message; the tokens saved are on the thread', async () => {
    const events: ThreadEvent[] = []
    const lines: string[] = []
    const { thread, view } = await open({
      on: (event) => events.push(event),
      log: (line) => lines.push(line),
      verbose: true,
    })
    const saved = view.trace.reduce((sum, one) => sum + one.tokensBefore - one.tokensAfter, 0)
    expect(thread.tokensSaved).toBe(saved)
    await thread.expand(view.trace[1]?.id ?? '', { reason: 'item 47' })
    expect(events.at(-1)).toEqual({
      type: 'message-expanded',
      thread: 't',
      turn: 3,
      step: 3,
      userTurn: 1,
      id: view.trace[1]?.id,
      index: 3,
      text: `${view.trace[1]?.id} was expanded.`,
      reason: 'item 47',
      canExpand: true,
    })
    expect(lines).toEqual([
      `[Turn 3] Message pruning: 2 compacted (saved ~${saved} tokens), 0 removed`,
      '[Turn 3] Expanded message at index 3',
    ])
  })
})

describe('expanding what a checkpoint stands for', () => {
  it('[X6] a checkpoint, or a range that a digest prints, can be searched and read', async () => {
    const thread = await openThread({ id: 'k', store: memoryStore(), now: () => 1, policy: {} })
    for (let n = 0; n < 30; n++) {
      await thread.append([user(`question ${n} ${'word '.repeat(60)}`), answer])
    }
    await thread.setPolicy({ compaction: { auto: false, keepRecentTokens: 200 } })
    await thread.compact()
    const edit = (await thread.log()).find(({ type }) => type === 'edit')
    const id = edit?.id ?? ''
    const found = await thread.expand(id, { query: 'QUESTION 7 ' })
    expect(found).toMatchObject({
      ok: true,
      text: expect.stringMatching(/^\[e\w+ user\]\n\d+: question 7 word/),
    })
    const line = (found.ok ? /e\w+/.exec(found.text)?.[0] : undefined) ?? ''
    expect(await thread.expand(line)).toMatchObject({
      ok: true,
      text: expect.stringMatching(/^question 7/),
    })
    expect(await thread.expand(id)).toMatchObject({
      ok: true,
      text: expect.stringContaining('question 9'),
    })
    expect(await thread.expand(id, { query: 'nowhere' })).toMatchObject({ ok: false })
    const text = JSON.stringify((await thread.view()).messages)
    const range = /messages (e\w+ to e\w+)/.exec(text)?.[1] ?? ''
    expect(await thread.expand(range, { query: 'question 7 ' })).toEqual(found)
  })
})

describe("the documents' own requests", () => {
  const where: Readonly<Record<FormatName, number>> = {
    'openai-chat': 2,
    'openai-responses': 3,
    anthropic: 2,
    'ai-sdk': 2,
    langchain: 2,
    gemini: 2,
  }

  it.each(Object.entries(where))(
    '[X5] an index means the newest view, in %s',
    async (format, index) => {
      const { thread } = await open({}, format as FormatName)
      const tool = expandTool(thread)
      const shapes = [
        { step: 'ExpandMessage', messageIndex: index, reason: 'item 47' },
        { step: 'expand-message', messageIndex: index },
        { taskComplete: false, nextStep: { type: 'expand-message', messageIndex: index } },
      ]
      for (const shape of shapes) expect(await tool.handle(shape)).toBe(original)
      expect(await tool.handle({ step: 'ExpandMessage', messageIndex: 0 })).toMatch(
        /not expandable/,
      )
      for (const wrong of [-1, 100, 1.5, undefined, null, 'first']) {
        expect(await tool.handle({ step: 'ExpandMessage', messageIndex: wrong })).toMatch(
          /out of bounds\. Do not request this expansion again/,
        )
      }
    },
  )

  it('[X5] an index means one of the messages that a message with several results is sent as', async () => {
    const policy = { toolOutput: { maxLines: 3 } }
    const thread = await openThread({ id: 'x', store: memoryStore(), policy, now: () => 1 })
    const ids = ['a', 'b']
    const said = (role: string, content: unknown) => ({ role, content })
    const uses = ids.map((id) => ({ type: 'tool_use', id, name: 'read', input: {} }))
    // Both are shown as the same few lines.
    const lines = (id: string): string => ['x', 'y', ...Array(20).fill(id), 'z', 'z'].join('\n')
    const results = ids.map((id) => ({ type: 'tool_result', tool_use_id: id, content: lines(id) }))
    const history = [said('user', 'go'), said('assistant', uses), said('user', results)]
    await thread.append(history, { format: 'anthropic' })
    await thread.view()
    const tool = expandTool(thread)
    for (const [at, id] of ids.entries()) {
      expect(await tool.handle({ step: 'ExpandMessage', messageIndex: 2 + at })).toBe(lines(id))
    }
  })

  it('[X5] an index still means the newest view after a reopening, and items can be asked for', async () => {
    const store = memoryStore()
    const list = JSON.stringify(
      Array.from({ length: 60 }, (_, n) => ({ item: n, text: 'words '.repeat(5) })),
    )
    const first = await openThread({ id: 'x', store, policy: compact, now: () => 1 })
    await first.append([user('go'), call('a'), result('a', list), answer, user('now')])
    await first.view()
    const thread = await openThread({ id: 'x', store, now: () => 1 })
    const found = await expandTool(thread).handle({
      step: 'ExpandMessage',
      messageIndex: 2,
      itemRange: [40, 41],
    })
    expect(JSON.parse(found).map(({ item }: { item: number }) => item)).toEqual([40, 41])
  })

  it('[X5] an index means the newest view of the branch that is worked on', async () => {
    const thread = await openThread({
      id: 't',
      store: memoryStore(),
      policy: { toolOutput: { maxLines: 3 } },
      now: () => 1,
    })
    const lines = (name: string) => `${name}\n`.repeat(20).trim()
    const history = (id: string, text: string) => [
      user('q'),
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id, type: 'function', function: { name: 'look', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: id, content: text },
    ]
    const [one, two] = [history('a', lines('one')), history('b', lines('two'))]
    await thread.sync(one)
    // One more entry, so that the requests of both branches stand at the same place of their logs.
    await thread.pin((await thread.log())[2]?.id ?? '')
    await thread.view()
    await thread.request(two)
    await thread.sync(one)
    expect(await thread.expand(2)).toEqual({ ok: true, text: lines('one') })
  })

  it('[X2] a model that asks and asks is stopped, whatever it asks for', async () => {
    const { thread, view } = await open()
    const tool = expandTool(thread)
    const id = view.trace[0]?.id ?? ''
    for (let n = 0; n < 3; n++) expect(await tool.handle({ id })).toBe(original)
    expect(await tool.handle({ id })).toMatch(/Do not request this expansion again/)
    const answers: string[] = []
    for (let n = 0; n < 20; n++) answers.push(await tool.handle({ id: `e${n}zz` }))
    expect(answers.slice(0, 7).every((text) => /nothing here has the id/.test(text))).toBe(true)
    expect(new Set(answers.slice(7)).size).toBe(1)
    expect(answers.at(-1)).toMatch(/Stop expanding messages/)
    // Something that works ends the series.
    expect(await tool.handle({ id, lines: [0, 0] })).toBe('line 0 of the output')
    expect(await tool.handle({ id: 'e9zz' })).toMatch(/nothing here has the id/)
  })
})
