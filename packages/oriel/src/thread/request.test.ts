import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Entry } from '../core/log/entry.ts'
import { OrielError } from '../core/log/errors.ts'
import { formatNames } from '../providers/registry.ts'
import { memoryStore } from '../stores/memory/index.ts'
import type { Store } from '../stores/store.ts'
import { conversationOf } from '../testing/arbitraries.ts'
import { readHistory } from './branches/read-history.ts'
import { openThread } from './thread.ts'

const user = (content: string) => ({ role: 'user', content })
const said = (content: string) => ({ role: 'assistant', content })

/** What a log says, without what tells one writer or moment from another. */
const plain = (log: readonly Entry[]) => log.map(({ by: _by, at: _at, ...entry }) => entry)

/** A store that counts appends, and fails those that `fails` names. */
function watched(fails: (count: number) => Error | undefined = () => undefined) {
  const store = memoryStore()
  let appends = 0
  const append: Store['append'] = async (...given) => {
    appends += 1
    const error = fails(appends)
    if (error !== undefined) throw error
    return store.append(...given)
  }
  return { store: { ...bound(store), append } as Store, count: () => appends }
}

function bound(store: Store): Store {
  const names = [
    'read',
    'info',
    'findExternalId',
    'list',
    'saveSnapshot',
    'loadSnapshot',
    'erase',
  ] as const
  return Object.assign(
    Object.create(store),
    Object.fromEntries(names.map((name) => [name, store[name].bind(store)])),
  )
}

describe('request', () => {
  it('[Y1] what a client answers to calls that are no functions is new, and reaches the model', async () => {
    const thread = await openThread({ store: memoryStore() })
    const history: object[] = [user('Book the flight.')]
    const format = 'openai-responses'
    const steps = [
      [
        { type: 'computer_call', id: 'cu_1', call_id: 'a', action: { type: 'screenshot' } },
        { type: 'computer_call_output', call_id: 'a', output: { image_url: 'https://e.org/1' } },
      ],
      [
        { type: 'shell_call', id: 'sh_1', call_id: 'b', action: { commands: ['ls'] } },
        { type: 'shell_call_output', call_id: 'b', output: [{ stdout: 'file', stderr: '' }] },
      ],
      [
        { type: 'mcp_approval_request', id: 'mcpr_1', name: 'pay', arguments: '{}' },
        { type: 'mcp_approval_response', approval_request_id: 'mcpr_1', approve: true },
      ],
    ] as const
    for (const [call, answer] of steps) {
      await thread.request(history, { format })
      await thread.append([call], { format })
      history.push(call, answer)
      const { view, ...synced } = await thread.request(history, { format })
      expect(synced).toMatchObject({ appended: 1, isForked: false })
      expect(view.messages).toEqual(history)
    }
  })

  it.each([
    ['anthropic', { type: 'document', source: { type: 'file', file_id: '?' } }],
    ['anthropic', { type: 'image', source: { type: 'file', file_id: '?' } }],
    ['anthropic', { type: 'document', source: { type: 'content', content: '?' } }],
    ['anthropic', { type: 'search_result', source: '?', title: 't', content: [] }],
    ['openai-chat', { type: 'file', file: { file_id: '?' } }],
    ['openai-chat', { type: 'input_audio', input_audio: { data: '?', format: 'wav' } }],
    ['openai-responses', { type: 'input_image', file_id: '?' }],
    ['openai-responses', { type: 'input_file', file_id: '?' }],
  ] as const)('[Y3] in %s, messages that differ in %o alone are two', async (format, part) => {
    const asking = (name: string) => [
      { role: 'user', content: [JSON.parse(JSON.stringify(part).replace('?', name))] },
    ]
    const thread = await openThread({ store: memoryStore() })
    await thread.request(asking('one'), { format })
    const { view, isForked } = await thread.request(asking('two'), { format })
    expect({ isForked, messages: view.messages }).toEqual({
      isForked: true,
      messages: asking('two'),
    })
    const again = await thread.request(asking('two'), { format })
    expect(again).toMatchObject({ isForked: false, appended: 0 })
  })

  it('[Y3] a picture in the place of another one in a result is not overlooked', async () => {
    const call = { type: 'function_call', call_id: 'a', name: 'look', arguments: '{}' }
    const history = (url: string) => [
      ...[user('Look.'), call],
      {
        type: 'function_call_output',
        call_id: 'a',
        output: [{ type: 'input_image', image_url: url }],
      },
    ]
    const thread = await openThread({ store: memoryStore() })
    const format = 'openai-responses'
    await thread.request(history('https://e.org/1'), { format })
    const { view } = await thread.request(history('https://e.org/2'), { format })
    expect(view.messages).toEqual(history('https://e.org/2'))
  })

  it('[T40] writes and answers what sync and view do one after the other', async () => {
    for (const format of formatNames) {
      await fc.assert(
        fc.asyncProperty(conversationOf(format), fc.nat(), async (conversation, at) => {
          const cut = at % (conversation.length + 1)
          const options = { id: 't', policy: { history: { policy: 'lastN', length: 3 } } } as const
          const [one, two] = [
            await openThread({ ...options, store: memoryStore(), now: () => 1 }),
            await openThread({ ...options, store: memoryStore(), now: () => 1 }),
          ]
          for (const history of [conversation.slice(0, cut), conversation]) {
            if (history.length === 0) continue
            const synced = await one.sync(history, { format })
            const view = await one.view({ format }).catch((error) => error.code)
            const asked = await two.request(history, { format }).catch((error) => error.code)
            if (typeof view === 'string') expect(asked).toBe(view)
            else {
              const { thread: _fork, ...counts } = synced
              expect(asked).toMatchObject(counts)
              expect({ ...asked.view, trace: 0 }).toEqual({ ...view, trace: 0 })
              // The names of forks are random.
              if (synced.isForked) return
              expect(plain(await two.log())).toEqual(plain(await one.log()))
            }
          }
        }),
        { numRuns: 20 },
      )
    }
  })

  it('[T40] is one append, and so is an answer with its numbers', async () => {
    const { store, count } = watched()
    const thread = await openThread({ id: 't', store })
    const { view, messages } = await thread.request([user('one')])
    expect(count()).toBe(1)
    const usage = { sample: { prompt_tokens: 10, completion_tokens: 2 }, view: view.id }
    await thread.append([said('yes')], { format: 'openai-chat', expected: messages, usage })
    expect(count()).toBe(2)
    const second = await thread.request([user('one'), said('yes'), user('two')])
    expect(second).toMatchObject({ matched: 2, appended: 1, isForked: false })
    expect(count()).toBe(3)
    const types = (await thread.log()).map(({ type }) => type)
    expect(types).toEqual([
      'setting',
      'message',
      'request',
      'message',
      'usage',
      'message',
      'request',
    ])
  })

  it('[T40] tells of messages when they are written, and not before', async () => {
    const events: string[] = []
    const { store } = watched((count) => (count === 1 ? new Error('disk') : undefined))
    const thread = await openThread({ id: 't', store, on: ({ type }) => events.push(type) })
    await expect(thread.request([user('one')])).rejects.toThrow('disk')
    expect(events).toEqual([])
    await thread.request([user('one')])
    expect(events.filter((type) => type === 'message-added')).toHaveLength(1)
  })

  it('[T40] keeps nothing of what the store refused, and goes on from what it has', async () => {
    const { store } = watched((count) => (count === 2 ? new Error('disk') : undefined))
    const thread = await openThread({ id: 't', store })
    await thread.request([user('one')])
    await expect(thread.request([user('one'), said('a'), user('two')])).rejects.toThrow('disk')
    const { appended, view } = await thread.request([user('one'), said('a'), user('two')])
    expect({ appended, shown: view.messages.length }).toEqual({ appended: 2, shown: 3 })
    const log = await thread.log()
    expect(log.map(({ seq }) => seq)).toEqual(log.map((_, index) => index + 1))
    expect(log.filter(({ type }) => type === 'message')).toHaveLength(3)
  })

  it('[T40] sees what another writer wrote meanwhile', async () => {
    const store = memoryStore()
    const [here, there] = [
      await openThread({ id: 't', store }),
      await openThread({ id: 't', store }),
    ]
    await here.request([user('one')])
    await there.request([user('one'), said('a'), user('two')])
    const { appended, thread, view } = await here.request([
      user('one'),
      said('a'),
      user('two'),
      said('b'),
      user('three'),
    ])
    expect({ appended, thread, shown: view.messages.length }).toEqual({
      appended: 2,
      thread: 't',
      shown: 5,
    })
    const numbers = { sample: { prompt_tokens: 1 }, view: view.id }
    await there.append([said('from there')], { format: 'openai-chat' })
    await here.append([said('c')], { format: 'openai-chat', usage: numbers })
    const texts = (await here.log()).flatMap((entry) =>
      entry.type === 'message' ? entry.blocks : [],
    )
    expect(texts.map((block) => (block.type === 'text' ? block.text : ''))).toEqual([
      'one',
      'a',
      'two',
      'b',
      'three',
      'from there',
      'c',
    ])
  })

  it('[T40] forks where another writer took the conversation elsewhere', async () => {
    const store = memoryStore()
    const [here, there] = [
      await openThread({ id: 't', store }),
      await openThread({ id: 't', store }),
    ]
    await here.request([user('one')])
    await there.request([user('one'), said('a'), user('two')])
    const other = await here.request([user('one'), said('other')])
    expect(other).toMatchObject({ isForked: true, matched: 1, appended: 1 })
    expect(other.thread).not.toBe('t')
  })

  it('[T40] keeps nothing of what could not be shown, and goes on beside other writers', async () => {
    const store = memoryStore()
    const thread = await openThread({ id: 't', store })
    await thread.request([user('one')])
    await thread.append([said('a')])
    const long = [user('one'), said('a'), user('much too long '.repeat(200))]
    const refused = thread.request(long, { budget: 50 })
    await expect(refused).rejects.toMatchObject({ code: 'cannot-project' })
    const other = await openThread({ id: 't', store })
    await other.append([user('from there')])
    await thread.append([user('two')])
    const { messages } = await thread.view()
    expect(messages).toEqual([user('one'), said('a'), user('from there'), user('two')])
  })

  it('[T40] [T1] after a failure, ids from before the snapshot are still known', async () => {
    let isFailing = false
    const { store } = watched(() => (isFailing ? new Error('disk') : undefined))
    const policy = { history: { length: 1 } }
    const thread = await openThread({ id: 't', store, policy, snapshotEvery: 1 })
    await thread.append([{ id: 'm1', ...user('one') }, said('a'), user('two')])
    await thread.view()
    await thread.settled()
    isFailing = true
    const longer = [user('one'), said('a'), user('two'), said('b'), user('three')]
    await expect(thread.request(longer)).rejects.toThrow('disk')
    isFailing = false
    expect(await thread.append([{ id: 'm1', ...user('one') }])).toEqual([])
  })

  it('[T40] sees what others did to a history of which nothing is new', async () => {
    const store = memoryStore()
    const [here, there] = [
      await openThread({ id: 't', store }),
      await openThread({ id: 't', store }),
    ]
    const history = [{ ...user('secret'), id: 'm1' }, said('ok'), user('go on')]
    await here.append(history)
    await there.exclude('m1')
    const { view } = await here.request(history)
    expect(view.messages).toEqual([said('ok'), user('go on')])
    await store.erase({ tenant: 'default', thread: 't' })
    await expect(here.request(history)).rejects.toMatchObject({ code: 'not-found' })
  })

  it('[T40] rejects for a thread that was erased meanwhile', async () => {
    const store = memoryStore()
    const thread = await openThread({ id: 't', store })
    await thread.request([user('one')])
    await store.erase({ tenant: 'default', thread: 't' })
    const error = await thread.request([user('one'), said('a')]).catch((reason) => reason)
    expect(OrielError.is(error, 'not-found')).toBe(true)
  })
})

describe('the keys of a log', () => {
  it('[T41] are the same whether a client brought them, an answer was appended or the log was read', async () => {
    const keysOf = async (snapshotEvery: number, history: readonly object[]) => {
      const store = memoryStore()
      const thread = await openThread({ id: 't', store, snapshotEvery })
      for (let end = 1; end <= history.length; end += 2) {
        await thread.request(history.slice(0, end))
        const answer = history[end]
        if (answer !== undefined) await thread.append(answer, { format: 'openai-chat' })
      }
      await thread.settled()
      const opened = await openThread({ id: 't', store, snapshotEvery })
      const next = [...history, user('next')]
      return [await thread.match(next), await opened.match(next)]
    }
    const calls = [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }]
    const history = [
      user('one'),
      { role: 'assistant', content: null, tool_calls: calls },
      { role: 'tool', tool_call_id: 'c', content: 'a result' },
      { ...said('a'), refusal: null },
      user('two'),
      said('b'),
    ]
    const met = { thread: 't', matched: 6, behind: 0 }
    expect(await keysOf(1, history)).toEqual([met, met])
    expect(await keysOf(0, history)).toEqual([met, met])
  })
})

describe('readHistory', () => {
  it('[T41] reads from where a history differs what it would read from its start', () => {
    for (const format of formatNames) {
      fc.assert(
        fc.property(conversationOf(format), conversationOf(format), fc.nat(), (one, two, at) => {
          const cut = at % (one.length + 1)
          const shared = one.slice(0, cut)
          const previous = readHistory([...shared, ...two], { format })
          const history = [...shared, ...one.slice(cut)]
          const [again, anew] = [
            readHistory(history, { format, previous }),
            readHistory(history, { format }),
          ]
          const details = ({ parts, keys }: typeof again) => ({
            keys,
            ...parts,
            sent: parts.sent.map(({ key, message, details: more }) => ({ key, message, more })),
          })
          expect(details(again)).toEqual(details(anew))
        }),
        { numRuns: 60 },
      )
    }
  })

  it('[T41] keeps all that was read of messages that a format reads alone, the newest too', () => {
    const shared = [user('one'), said('a'), user('two')]
    const previous = readHistory(shared)
    const { parts } = readHistory([...shared, said('b')], { previous })
    expect(parts.sent.slice(0, 3).map((one, at) => one === previous.parts.sent[at])).toEqual([
      true,
      true,
      true,
    ])
  })

  it('[T41] names the place of what is no message, wherever it began to read', () => {
    const shared = [user('one'), said('a'), user('two')]
    const previous = readHistory(shared)
    expect(() => readHistory([...shared, { role: 'nobody' }], { previous })).toThrow(/history\[3\]/)
  })
})
