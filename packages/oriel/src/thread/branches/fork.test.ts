import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../stores/memory/index.ts'
import { call, result, said, user } from '../../testing/chat.ts'
import type { Plugin } from '../plugins/plugin.ts'
import { openThread, type ThreadOptions } from '../thread.ts'

const format = 'openai-chat' as const
const open = (options: Partial<ThreadOptions> = {}) =>
  openThread({ id: 't', store: memoryStore(), now: () => 1000, ...options })

describe('a fork for a resent history', () => {
  const history = [user('look'), call('c1'), result('c1', 'found')]

  it('[F3] has what plugins added to the newest result, and asks them no more', async () => {
    let asked = 0
    const plugin: Plugin = {
      name: 'notes',
      message: () => {
        asked += 1
        return [{ displayOnCurrentMessage: true, saveToChatHistory: true, content: 'a note' }]
      },
    }
    for (const snapshotEvery of [0, 1]) {
      const options = { store: memoryStore(), plugins: [plugin], snapshotEvery }
      const thread = await open(options)
      const first = await thread.request(history, { format })
      expect(JSON.stringify(first.view.messages)).toContain('a note')
      // The answer is in the log, but its client never got it.
      await thread.append([said('done')], { format })
      await thread.settled()
      asked = 0
      const again = await open(options)
      const retry = await again.request(history, { format })
      expect(retry).toMatchObject({ isForked: true, matched: 3, appended: 0 })
      expect(retry.view.messages).toEqual(first.view.messages)
      expect(asked).toBe(0)
    }
  })

  it('[F3] has what the host put behind it, and nothing that came behind the answer', async () => {
    const thread = await open()
    await thread.sync(history, { format })
    await thread.append([{ role: 'user', origin: 'host', content: 'be quick' }])
    await thread.append([{ role: 'assistant', origin: 'host', content: 'at once' }])
    await thread.append([{ role: 'user', origin: 'host', content: 'too late' }])
    await thread.append([said('done')], { format })
    const { view } = await thread.request(history, { format })
    expect(view.messages).toEqual([...history, user('be quick')])
  })
})

describe('what the model has not answered in a fork', () => {
  const words = (count: number) => 'some words to say '.repeat(count)
  const later = [said('one'), user('and?'), said('two'), user('so?')]

  it('[F2] includes what the host put behind the newest result, although its kind expired later', async () => {
    const policy = { expiry: { kinds: { hint: { after: 0, mode: 'remove' } } } } as const
    const thread = await open({ policy })
    await thread.append([user('look'), call('c1'), result('c1', 'found')], { format })
    await thread.append([{ role: 'user', origin: 'host', kind: 'hint', content: words(50) }])
    const { messages } = await thread.view({ format })
    const head = (await thread.log()).length
    await thread.append(later)
    expect((await thread.view({ format })).messages).not.toContainEqual(messages.at(-1))
    const fork = await thread.fork(head)
    expect((await fork.view({ format })).messages).toEqual(messages)
  })

  it('[F2] includes every user message behind the newest answer, although one was folded later', async () => {
    const policy = { compaction: { auto: false, maxTokens: 400, keepRecentTokens: 100 } }
    const thread = await open({ policy })
    const asked = [user('goal'), said('ok'), user(`first ${words(120)}`), user('second')]
    await thread.append(asked)
    const head = (await thread.log()).length
    await thread.append(later)
    await thread.compact()
    expect((await thread.view({ format })).messages).not.toContainEqual(asked[2])
    const fork = await thread.fork(head)
    expect((await fork.view({ format })).messages).toEqual(asked)
  })

  it('[F2] includes a late result of an older call, although it was omitted later', async () => {
    const policy = { toolResults: { strategy: 'keepOne', cutoff: 0 } } as const
    const thread = await open({ policy })
    const late = result('c2', `late ${words(60)}`)
    const asked = [user('look'), call('c1', 'c2'), result('c1', 'found'), user('go on')]
    await thread.append([...asked, said('fine'), late], { format })
    const head = (await thread.log()).length
    const newer = [said('thanks'), call('c3'), result('c3', words(60)), ...later]
    await thread.append(newer, { format })
    expect((await thread.view({ format })).messages).not.toContainEqual(late)
    const fork = await thread.fork(head)
    expect((await fork.view({ format })).messages).toContainEqual(late)
  })
})

describe('a fork inside an open tool loop with signed reasoning', () => {
  const using = (id: string) => ({
    role: 'assistant',
    content: [
      { type: 'thinking', thinking: 'hm', signature: `signed ${id}` },
      { type: 'tool_use', id, name: 'read', input: {} },
    ],
  })
  const used = (id: string) => ({
    role: 'user',
    content: [{ type: 'tool_result', tool_use_id: id, content: `${id} ${'words '.repeat(60)}` }],
  })
  const anthropic = { format: 'anthropic' } as const
  const history = [
    ...[user('first'), using('old'), used('old'), said('ok')],
    ...[user('second'), using('new'), used('new')],
  ]
  const policy = { toolResults: { strategy: 'keepOne', cutoff: 0 } } as const

  it('[M11] sends it as it was: edits that were made later wait until the loop ends', async () => {
    const thread = await open({ policy })
    const first = await thread.request(history, anthropic)
    await thread.append([said('done'), user('third')], anthropic)
    expect((await thread.view(anthropic)).epoch.applied).toBeGreaterThan(0)
    const retry = await thread.request(history, anthropic)
    expect(retry).toMatchObject({ isForked: true })
    expect(retry.view.messages).toEqual(first.view.messages)
    await thread.append([said('done again'), user('third')], anthropic)
    expect((await thread.view(anthropic)).epoch.applied).toBeGreaterThan(0)
  })

  it('[M11] [T4] what was undone stays forbidden there', async () => {
    const thread = await open({ policy })
    const first = await thread.request(history, anthropic)
    await thread.append([said('done'), user('third')], anthropic)
    await thread.undo((await thread.view(anthropic)).epoch.id)
    const retry = await thread.request(history, anthropic)
    expect(retry.view.messages).toEqual(first.view.messages)
    await thread.append([said('done again'), user('third')], anthropic)
    const { messages } = await thread.view(anthropic)
    expect(JSON.stringify(messages)).toContain('old words')
  })
})
