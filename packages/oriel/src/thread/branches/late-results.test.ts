// Results that come long after their call, when the conversation has continued without them.

import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../stores/memory/index.ts'
import { call, result, said, user } from '../../testing/chat.ts'
import type { Summarize } from '../summaries/answer.ts'
import { openThread, type ThreadOptions } from '../thread.ts'

const format = 'openai-chat' as const
const words = (count: number) => 'some words to fill it '.repeat(count)
const open = (options: Partial<ThreadOptions> = {}) =>
  openThread({
    id: 't',
    store: memoryStore(),
    now: () => 1000,
    policy: { compaction: { maxTokens: 500, keepRecentTokens: 100 } },
    ...options,
  })
const begun = [user('goal'), call('c1', 'c2'), result('c1', words(40)), user('go on without c2')]
const turn = (n: number) => [said(`fine ${n} ${words(60)}`), user(`then ${n}`)]
const shown = (messages: readonly unknown[]) => JSON.stringify(messages)

describe('a call that waits for its result', () => {
  it('[M13] is not folded, so that the result is shown when it comes', async () => {
    const thread = await open()
    await thread.append([...begun, ...turn(1)], { format })
    const before = await thread.view({ format })
    expect(shown(before.messages)).toContain('Previous conversation summary')
    expect(shown(before.messages)).toContain('"c2"')
    await thread.append([result('c2', 'late'), user('now?')], { format })
    const { messages } = await thread.view({ format })
    expect(messages).toContainEqual(result('c2', 'late'))
  })

  it('[M13] is not folded before the model has seen the late result', async () => {
    const thread = await open()
    const late = [said(`fine ${words(60)}`), result('c2', 'late')]
    await thread.append([user('hello'), ...begun, ...late], { format })
    const { messages } = await thread.view({ format })
    expect(messages).toContainEqual(result('c2', 'late'))
  })

  it('[M13] is folded when it has waited for three turns, or a newer call has its id', async () => {
    const old = await open()
    await old.append([...begun, ...turn(1), ...turn(2)], { format })
    expect(shown((await old.view({ format })).messages)).not.toContain('"c1"')
    const waiting = await open()
    const twice = [call('c2'), said(words(60)), call('c2'), ...turn(1)]
    await waiting.append([user('goal'), ...twice], { format })
    const { messages } = await waiting.view({ format })
    expect(shown(messages).match(/"tool_calls"/g)).toHaveLength(1)
  })

  it('[M13] gives way where the provider refused the request', async () => {
    const thread = await open({ policy: { compaction: { auto: false, keepRecentTokens: 100 } } })
    await thread.append([...begun, ...turn(1)], { format })
    const { messages } = await thread.view({ format })
    expect(shown(messages)).toContain('"c2"')
    const error = { status: 400, error: { code: 'context_length_exceeded', message: 'too long' } }
    const smaller = await thread.recover(error, { format })
    expect(shown(smaller.messages)).not.toContain('"c2"')
  })

  it('[M13] that is answered while a checkpoint is under way is not folded by it', async () => {
    let answer: (text: string) => void = () => undefined
    const summarize: Summarize = () => new Promise((resolve) => (answer = resolve))
    const thread = await open({ summarize })
    await thread.append([...begun, ...turn(1), ...turn(2), said('done')], { format })
    await thread.append([result('c2', 'late')], { format })
    answer('A summary.')
    await thread.settled()
    expect((await thread.log()).filter(({ type }) => type === 'edit')).toEqual([])
  })
})
