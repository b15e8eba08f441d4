import { describe, expect, it } from 'vitest'
import { validate } from '../providers/registry.ts'
import { memoryStore } from '../stores/memory/index.ts'
import type { ThreadEvent } from './events.ts'
import type { ThreadOptions } from './options.ts'
import { openThread } from './thread.ts'

const user = (text: string) => ({ role: 'user', content: text })
const assistant = (text: string) => ({ role: 'assistant', content: text })
const call = (id: string, args = '{"path":"a.ts"}') => ({
  role: 'assistant',
  content: null,
  tool_calls: [{ id, type: 'function', function: { name: 'read', arguments: args } }],
})
const result = (id: string, content: string) => ({ role: 'tool', tool_call_id: id, content })
const contents = (messages: readonly unknown[]) =>
  messages.map((message) => (message as { content: unknown }).content)

const open = (options: Partial<ThreadOptions> = {}) =>
  openThread({ id: 't', store: memoryStore(), now: () => 1000, ...options })

describe('append and view', () => {
  it('[T1] shows what was appended, in the format asked for', async () => {
    const thread = await open()
    await thread.append([{ role: 'system', content: 'Be brief.' }, user('hello')])
    await thread.append([assistant('hi'), user('again')], { format: 'openai-chat' })
    const chat = await thread.view({ format: 'openai-chat' })
    expect(chat.messages).toEqual([
      { role: 'system', content: 'Be brief.' },
      user('hello'),
      assistant('hi'),
      user('again'),
    ])
    const claude = await thread.view({ format: 'anthropic' })
    expect(claude.system).toBe('Be brief.')
    expect(claude.messages).toEqual([user('hello'), assistant('hi'), user('again')])
  })

  it('[T1] a message whose id is already there is a no-op', async () => {
    const thread = await open()
    await thread.append([{ id: 'm1', ...user('once') }])
    await thread.append([
      { id: 'm1', ...user('once') },
      { id: 'm2', ...assistant('yes') },
    ])
    expect((await thread.view()).messages).toEqual([user('once'), assistant('yes')])
  })

  it('[T1] messages of a chat are read as such without being told: nothing of them is lost', async () => {
    const thread = await open()
    const chat = [user('look'), call('c1'), { id: 'r1', ...result('c1', 'found') }]
    await thread.append(chat)
    await thread.append(chat.slice(2))
    expect((await thread.view()).messages).toEqual([
      user('look'),
      call('c1'),
      result('c1', 'found'),
    ])
  })

  it('[T2] a view at an unchanged head returns the same bytes and adds nothing', async () => {
    const thread = await open({ policy: { history: { length: 1 } } })
    await thread.append([user('one'), assistant('1'), user('two')])
    const first = await thread.view()
    const length = (await thread.log()).length
    const second = await thread.view()
    expect(second.messages).toEqual(first.messages)
    expect(second.id).toBe(first.id)
    expect((await thread.log()).length).toBe(length)
    expect(first.epoch).toMatchObject({ applied: 1, cause: 'policy' })
    expect(second.epoch).toMatchObject({ id: first.epoch.id, applied: 0, cause: 'none' })
  })

  it("[T2] a view is the caller's own: what is changed in it changes nothing else", async () => {
    const thread = await openThread({ store: memoryStore() })
    const said = { role: 'user', content: [{ type: 'text', text: 'Hi', own: [1] }], more: { a: 1 } }
    await thread.append([said], { format: 'openai-chat' })
    const first = await thread.view<typeof said>()
    const body = JSON.stringify(first.messages)
    for (const { content, more } of first.messages) {
      content[0]?.own.push(2)
      content.push({ type: 'text', text: 'Injected', own: [] })
      more.a = 2
    }
    expect(JSON.stringify((await thread.view()).messages)).toBe(body)
  })

  it('[T2] what the host keeps and what append answers are copies too', async () => {
    const thread = await openThread({ store: memoryStore() })
    const kept = { list: [1] }
    await thread.set('kept', kept)
    kept.list.push(2)
    const seen = thread.setting('kept') as { list: number[] }
    seen.list.push(3)
    expect(thread.setting('kept')).toEqual({ list: [1] })
    const [entry] = await thread.append({ role: 'user', content: 'Hi' })
    const [block] = entry?.blocks ?? []
    Object.assign(block ?? {}, { text: 'Changed' })
    expect((await thread.view()).messages).toEqual([{ role: 'user', content: 'Hi' }])
  })

  it('[T2] a dry run and a policy for one call keep no edit', async () => {
    const thread = await open({ policy: { history: { length: 1 } } })
    await thread.append([user('one'), assistant('1'), user('two')])
    const length = (await thread.log()).length
    expect(contents((await thread.view({ dryRun: true })).messages)).toEqual(['two'])
    expect((await thread.log()).length).toBe(length)
    const all = await thread.view({ policy: { history: { policy: 'all' } } })
    expect(contents(all.messages)).toEqual(['one', '1', 'two'])
    expect((await thread.log()).some((entry) => entry.type === 'edit')).toBe(false)
  })

  it('[T8] wrong input rejects with a typed error and changes nothing', async () => {
    const thread = await open()
    await thread.append([user('hello')])
    const before = await thread.log()
    const wrong = [
      thread.append([{ role: 'nobody', content: 'x' }]),
      thread.append([{ role: 'user', content: 7 }]),
      thread.append([{ role: 'user', content: [{ type: 'text' }] }]),
      thread.append(['x'], { format: 'openai-chat' }),
      thread.sync([{ role: 'user', content: Number.NaN }]),
      thread.view({ budget: -1 }),
      thread.view({ format: 'no-such' as 'anthropic' }),
      thread.view({ policy: { history: { length: -1 } } }),
      thread.setPolicy({ nonsense: {} } as object),
      thread.usage({}, 'v'),
      thread.fork(99),
      thread.sync(null as never),
      thread.view(null as never),
      thread.view({ frame: 'be brief' as never }),
      thread.view({ model: 5 as never }),
      thread.pin(undefined as never),
      thread.undo(undefined as never),
      openThread(undefined as never),
      openThread({ id: 't' } as never),
      open({ on: 5 as never }),
    ]
    for (const attempt of wrong) await expect(attempt).rejects.toMatchObject({ name: 'OrielError' })
    expect(await thread.log()).toEqual(before)
  })

  it('[T9] a thread opened from its snapshot is the same thread', async () => {
    const store = memoryStore()
    const options = { store, snapshotEvery: 5, policy: { history: { length: 2 } } } as const
    const thread = await open(options)
    for (let index = 0; index < 12; index++) {
      await thread.append([{ id: `u${index}`, ...user(`u${index}`) }, assistant(`a${index}`)])
      await thread.view()
    }
    await thread.settled()
    const again = await open(options)
    expect((await again.view()).messages).toEqual((await thread.view()).messages)
    await again.append([{ id: 'u0', ...user('u0') }])
    expect((await again.view()).messages).toEqual((await thread.view()).messages)
    expect(await again.expand('u0')).toEqual({ ok: true, text: 'u0' })
    await again.pin('u0')
    expect(contents((await again.view()).messages)[0]).toBe('u0')
    const history = Array.from({ length: 12 }, (_, n) => [user(`u${n}`), assistant(`a${n}`)]).flat()
    const synced = await (await open(options)).sync([...history, user('more')])
    expect(synced).toMatchObject({ matched: 24, appended: 1, isForked: false })
  })

  it('[T3] a second process sees the same thread, and writes that race are all kept', async () => {
    const store = memoryStore()
    const threads = await Promise.all([1, 2, 3].map(() => open({ store })))
    await Promise.all(
      threads.flatMap((thread, n) =>
        Array.from({ length: 5 }, (_, i) =>
          thread.append([{ id: `${n}-${i}`, ...user(`${n}-${i}`) }]),
        ),
      ),
    )
    const views = await Promise.all(threads.map((thread) => thread.view({ dryRun: true })))
    expect(views[0]?.messages).toHaveLength(15)
    expect(views[1]?.messages).toEqual(views[0]?.messages)
    expect(new Set(contents(views[2]?.messages ?? [])).size).toBe(15)
  })
})

describe('undo, pin, exclude', () => {
  it('[T4] view(log + edit + undo) = view(log), and the rule does not come back', async () => {
    const thread = await open({ policy: { history: { length: 1 } } })
    await thread.append([user('one'), assistant('1'), user('two')])
    const { epoch } = await thread.view()
    await thread.undo(epoch.id)
    expect(contents((await thread.view()).messages)).toEqual(['one', '1', 'two'])
    await expect(thread.undo(epoch.id)).rejects.toMatchObject({ code: 'cannot-undo' })
  })

  it('[T5] a pinned message outlives the window, an excluded one leaves every view', async () => {
    const thread = await open({ policy: { history: { length: 1 } } })
    const [goal] = await thread.append([
      user('goal'),
      assistant('1'),
      { id: 'bad', ...user('bad') },
    ])
    await thread.pin(goal?.id ?? '')
    await thread.exclude('bad')
    await thread.append([user('now')])
    expect(contents((await thread.view()).messages)).toEqual(['goal', 'now'])
    await thread.exclude('bad', { excluded: false })
    await thread.setPolicy({})
    expect(contents((await thread.view()).messages)).toContain('bad')
    await expect(thread.pin('e9zzz')).rejects.toMatchObject({ code: 'not-found' })
  })

  it.each([
    ['a window', { history: { length: 1 } }],
    ['a cap', { history: { policy: 'all', maxMessages: 3 } }],
  ] as const)(
    '[T5] [H1] behind %s, what is pinned keeps the user message that opens its turn',
    async (_, policy) => {
      const thread = await open({ policy })
      const begun = [user('one'), call('c1'), result('c1', 'pinned'), assistant('1')]
      const [, exchange] = await thread.append(begun, { format: 'openai-chat' })
      await thread.pin(exchange?.id ?? '')
      await thread.append([
        user('two'),
        assistant('2'),
        user('three'),
        assistant('3'),
        user('four'),
      ])
      const { messages } = await thread.view({ format: 'openai-chat' })
      expect(messages).toEqual([...begun.slice(0, 3), user('four')])
      const claude = await thread.view({ format: 'anthropic' })
      expect(contents(claude.messages)[0]).toBe('one')
      expect(JSON.stringify(claude.messages)).toContain('pinned')
    },
  )

  it('[T5] [H1] what is pinned after a window dropped it comes back with the user message that opens its turn', async () => {
    const thread = await open({ policy: { history: { length: 1 } } })
    const begun = [user('one'), call('c1'), result('c1', 'seen'), assistant('1')]
    const [, exchange, , answer] = await thread.append(begun, { format: 'openai-chat' })
    await thread.append([user('two'), assistant('2'), user('three')])
    expect(contents((await thread.view({ format: 'anthropic' })).messages)).toEqual(['three'])
    for (const pinned of [exchange, answer]) {
      await thread.pin(pinned?.id ?? '')
      const { messages } = await thread.view({ format: 'anthropic' })
      expect(validate('anthropic', messages)).toEqual([])
      const text = JSON.stringify(messages)
      expect(text).toContain(pinned === exchange ? 'seen' : '"1"')
      expect(text).not.toContain('two')
      expect(contents(messages)[0]).toBe('one')
      await thread.pin(pinned?.id ?? '', { pinned: false })
      expect(contents((await thread.view({ format: 'anthropic' })).messages)).toEqual(['three'])
    }
  })
})

describe('sync', () => {
  it('[Y1] appends only what is new, and nothing on a retry', async () => {
    const thread = await open()
    const history = [
      { role: 'system', content: 'S' },
      user('read it'),
      call('c1'),
      result('c1', 'text'),
    ]
    expect(await thread.sync(history)).toMatchObject({ matched: 0, appended: 3, isForked: false })
    expect(await thread.sync(history)).toMatchObject({ matched: 3, appended: 0, isForked: false })
    const grown = [...history, assistant('done'), user('thanks')]
    expect(await thread.sync(grown)).toMatchObject({ matched: 3, appended: 2, isForked: false })
    expect((await thread.view()).messages).toEqual(grown)
  })

  it('[Y2] an assistant message that comes back altered still matches', async () => {
    const thread = await open()
    const original = { ...call('c1', '{"path":"a.ts","n":1}'), reasoning_content: 'hm' }
    await thread.sync([user('read'), original, result('c1', 'text')])
    const altered = { ...call('c1', '{ "n": 1, "path": "a.ts" }'), content: '', refusal: null }
    const synced = await thread.sync([user('read'), altered, result('c1', 'text'), assistant('ok')])
    expect(synced).toMatchObject({ matched: 3, appended: 1, isForked: false })
  })

  it('[Y3] an edited history forks, and later requests find their own branch', async () => {
    const store = memoryStore()
    const thread = await open({ store })
    const first = [user('a'), assistant('1'), user('b'), assistant('2')]
    await thread.sync(first)
    const edited = [user('a'), assistant('1'), user('B!')]
    const forked = await thread.sync(edited)
    expect(forked).toMatchObject({ matched: 2, appended: 1, isForked: true })
    expect((await thread.view()).messages).toEqual(edited)
    const later = await open({ store })
    const back = await later.sync([...edited, assistant('3')])
    expect(back).toMatchObject({ thread: forked.thread, matched: 3, appended: 1, isForked: false })
    const original = await (await open({ store })).sync([...first, user('c')])
    expect(original).toMatchObject({ thread: 't', matched: 4, appended: 1, isForked: false })
  })

  it('[Y3] the policy in force goes along to another branch, and back', async () => {
    const store = memoryStore()
    const [one, two] = [
      [user('a'), assistant('1'), user('b')],
      [user('a'), assistant('1'), user('B!')],
    ]
    const before = await open({ store, policy: { history: { length: 7 } } })
    await before.request(one)
    await before.request(two)
    const policy = { history: { length: 1 } }
    const thread = await open({ store, policy })
    for (const history of [one, two, one]) {
      const { view } = await thread.request([...history, assistant('2'), user('c')])
      expect(thread.policy).toEqual(policy)
      expect(view.messages).toEqual([user('c')])
    }
  })

  it('[Y3] a history that shares nothing with the thread never joins it', async () => {
    const thread = await open()
    await thread.sync([user('the real work'), assistant('ok')])
    const other = await thread.sync([user('Write a title for this chat')])
    expect(other).toMatchObject({ matched: 0, isForked: true })
    expect((await thread.view()).messages).toEqual([user('Write a title for this chat')])
  })
})

describe('fork', () => {
  it('[F1] keeps ids and the live forms of what it kept', async () => {
    const thread = await open({ policy: { history: { length: 1 } } })
    const appended = await thread.append([user('one'), assistant('1'), user('two'), assistant('2')])
    await thread.view()
    const fork = await thread.fork(appended[2]?.seq ?? 0)
    expect(contents((await fork.view()).messages)).toEqual(['two'])
    await fork.append([assistant('other')])
    expect(contents((await fork.view()).messages)).toEqual(['two', 'other'])
    expect(contents((await thread.view()).messages)).toEqual(['two', '2'])
    const same = (await fork.log()).find((entry) => entry.seq === appended[0]?.seq)
    expect(same?.id).toBe(appended[0]?.id)
  })

  it('[F2] shows results that the model has not answered there, although a checkpoint folded them later', async () => {
    const policy = { compaction: { auto: false, maxTokens: 400, keepRecentTokens: 20 } }
    const thread = await open({ policy })
    const words = 'some words to say '.repeat(40)
    const asked = [user(`Goal. ${words}`), assistant(words), user('Look.'), call('c1')]
    await thread.append([...asked, result('c1', 'found it')], { format: 'openai-chat' })
    const head = (await thread.log()).at(-1)?.seq ?? 0
    await thread.append([assistant('There.'), user(words), assistant(words), user('And now?')])
    await thread.compact()
    expect(JSON.stringify((await thread.view()).messages)).not.toContain('"c1"')
    const fork = await thread.fork(head)
    expect((await fork.view()).messages.slice(-2)).toEqual([call('c1'), result('c1', 'found it')])
  })

  it('[F2] shows them whole, although they were shortened later', async () => {
    const policy = {
      expiry: { tools: { '*': { after: 1, mode: 'compact', length: 10 } } },
    } as const
    const thread = await open({ policy })
    const found = 'a long result '.repeat(20)
    await thread.append([user('Look.'), call('c1'), result('c1', found)], { format: 'openai-chat' })
    const head = (await thread.log()).at(-1)?.seq ?? 0
    await thread.append([assistant('There.'), user('And?'), assistant('That.'), user('So?')])
    expect(JSON.stringify((await thread.view()).messages)).not.toContain(found)
    const fork = await thread.fork(head)
    expect((await fork.view()).messages.at(-1)).toEqual(result('c1', found))
  })
})

describe('past requests', () => {
  it('[Q1] what was sent at every step can be rebuilt and compared', async () => {
    const thread = await open({ policy: { history: { length: 1 } } })
    const frame = { system: 'Be brief.', tools: [{ name: 'read' }] }
    const sent: unknown[] = []
    for (const text of ['one', 'two', 'three']) {
      await thread.append([user(text)])
      sent.push((await thread.view({ frame, model: 'm' })).messages)
      await thread.append([assistant(`re ${text}`)])
    }
    for (const [index, messages] of sent.entries()) {
      const { body, exact } = await thread.requestAt(index + 1)
      expect(exact).toBe(true)
      expect(body).toEqual({ model: 'm', system: 'Be brief.', tools: [{ name: 'read' }], messages })
    }
    const { change } = await thread.requestAt(2)
    expect(change).toEqual({
      index: 0,
      cause: 'edit',
      rule: 'history',
      reason: 'before the last 1 user turn',
    })
    await expect(thread.requestAt(9)).rejects.toMatchObject({
      code: 'not-found',
      message: 'No request was made at step 9: they go from 1 to 3.',
    })
  })
})

describe('usage and estimate', () => {
  it('[Q1] also where the prefix was marked for the cache, and under a policy for one call', async () => {
    const thread = await open({ policy: 'recommended' })
    await thread.append([user('one')])
    const marked = await thread.view({ format: 'anthropic' })
    expect(JSON.stringify(marked)).toContain('cache_control')
    expect(await thread.requestAt(1)).toMatchObject({ exact: true })
    const plain = await open()
    await plain.append([user('one')])
    await plain.view({ format: 'anthropic', policy: 'recommended' })
    expect(await plain.requestAt(1)).toMatchObject({ exact: true })
  })

  it('[U1] a usage sample counts only for the view it measured', async () => {
    const thread = await open()
    await thread.append([user('hello there')])
    const view = await thread.view()
    const plain = thread.estimate()
    await thread.usage({ prompt_tokens: 500, completion_tokens: 9 }, view.id)
    expect(thread.estimate()).toBe(500)
    await thread.append([assistant('hi')])
    expect(thread.estimate()).toBeGreaterThan(500)
    await thread.usage({ prompt_tokens: 999 }, 'another view')
    expect(thread.estimate()).toBeLessThan(500)
    expect(thread.estimate()).toBeGreaterThan(plain)
  })
})

describe('events', () => {
  it('[V1] tell what happened; a listener that throws changes nothing', async () => {
    const events: ThreadEvent[] = []
    const lines: string[] = []
    const thread = await open({
      policy: { history: { length: 1 } },
      verbose: true,
      log: (line) => lines.push(line),
      on: (event) => {
        events.push(event)
        throw new Error('listener')
      },
    })
    await thread.append([user('one'), assistant('1'), user('two')])
    expect(contents((await thread.view()).messages)).toEqual(['two'])
    expect(events.map(({ type }) => type)).toEqual([
      'message-added',
      'message-added',
      'message-added',
      'message-removed',
      'message-removed',
      'epoch-applied',
    ])
    expect(lines).toContain('[History] Trimmed messages from 3 to 1')
    const settings = '{policy: "lastN", length: 1, messageCount: 3}'
    expect(lines).toContain(`[History] Agent t history settings: ${settings}`)
    const added = events.slice(0, 3).map(({ turn, step, reason }) => ({ turn, step, reason }))
    expect(added).toEqual([
      { turn: 1, step: 1, reason: 'from user' },
      { turn: 1, step: 1, reason: 'from assistant' },
      { turn: 2, step: 2, reason: 'from user' },
    ])
  })

  it('[V1] [DA7] the lines of a window count the whole conversation, at every view and for a policy of one view', async () => {
    const lines: string[] = []
    const log = (line: string): void => void lines.push(line)
    const thread = await open({ policy: { history: { length: 2 } }, verbose: true, log })
    for (const name of ['one', 'two', 'three', 'four']) {
      await thread.append([user(name)])
      await thread.view()
      await thread.append([assistant(name)])
    }
    const trimmed = (): readonly string[] => lines.filter((line) => line.includes('Trimmed'))
    expect(trimmed()).toEqual([
      '[History] Trimmed messages from 5 to 3',
      '[History] Trimmed messages from 7 to 3',
    ])
    await thread.view({ policy: { history: { policy: 'none' } } })
    expect(trimmed().at(-1)).toBe('[History] Trimmed messages from 8 to 2')
    expect(lines.at(-1)).toMatch(/^\[History\] Tokens: \d+ in the conversation, \d+ sent$/)
  })

  it('[V1] a listener that fails later, and a log that fails, change nothing either', async () => {
    const thread = await open({
      verbose: true,
      log: () => {
        throw new Error('log')
      },
      on: async () => {
        throw new Error('listener')
      },
    })
    await thread.append([user('one')])
    await new Promise((resolve) => setTimeout(resolve, 5))
    expect(contents((await thread.view()).messages)).toEqual(['one'])
  })
})

describe('expand', () => {
  it('[X1] gives originals by id, by range, by query, and a reason when it cannot', async () => {
    const thread = await open()
    const lines = Array.from({ length: 5 }, (_, index) => `line ${index}`).join('\n')
    await thread.append([user('read'), call('c1'), result('c1', lines)], { format: 'openai-chat' })
    const [, , , entry] = await thread.log()
    const id = entry?.id ?? ''
    expect(await thread.expand(id)).toEqual({ ok: true, text: lines })
    expect(await thread.expand(id, { lines: [1, 2] })).toEqual({ ok: true, text: 'line 1\nline 2' })
    expect(await thread.expand(id, { chars: [0, 3] })).toEqual({ ok: true, text: 'line' })
    expect(await thread.expand(id, { query: 'LINE 4' })).toEqual({ ok: true, text: '4: line 4' })
    expect(await thread.expand(id, { lines: [9, 9] })).toMatchObject({ ok: false })
    expect(await thread.expand('e1xx')).toMatchObject({ ok: false })
  })
})
