import { describe, expect, it } from 'vitest'
import { historyKeys, memoryStore, OrielError, openThread } from '../../index.ts'

const format = 'openai-chat'
const system = { role: 'system', content: 'Be brief.' }
const question = { role: 'user', content: 'How many?' }
const call = (reasoning?: string) => ({
  role: 'assistant',
  content: null,
  ...(reasoning === undefined ? {} : { reasoning_content: reasoning }),
  tool_calls: [{ id: 'c1', type: 'function', function: { name: 'count', arguments: '{"a": 1}' } }],
})
const result = { role: 'tool', tool_call_id: 'c1', content: '3' }

describe('historyKeys', () => {
  it('[Y4] gives the same keys however the client rewrites what it resends', () => {
    const sent = historyKeys([system, question, call('Hm.'), result], { format })
    const again = historyKeys([question, { ...call(), content: '' }, result], { format })
    expect(again).toEqual(sent)
    expect(sent.map(({ role, hasCall }) => [role, hasCall])).toEqual([
      ['user', false],
      ['assistant', true],
      ['tool', true],
    ])
  })

  it('[Y4] covers everything before, and goes on from a key', () => {
    const whole = historyKeys([question, call()], { format })
    const other = historyKeys([{ role: 'user', content: 'How much?' }, call()], { format })
    expect(other[1]?.key).not.toBe(whole[1]?.key)
    expect(historyKeys([call()], { format, after: whole[0] })).toEqual([whole[1]])
  })
})

describe('match', () => {
  it('[Y5] tells where a history belongs and writes nothing', async () => {
    const thread = await openThread({ id: 't', store: memoryStore() })
    await thread.sync([question, call(), result])
    const before = await thread.log()
    expect(await thread.match([question, call(), result, question])).toEqual({
      thread: 't',
      matched: 3,
      behind: 0,
    })
    expect(await thread.match([question, question])).toEqual({
      thread: 't',
      matched: 1,
      behind: 2,
    })
    expect(await thread.log()).toEqual(before)
  })
})

describe('append with an expected number of messages', () => {
  it('[T10] appends only where nothing came in between', async () => {
    const store = memoryStore()
    const thread = await openThread({ id: 't', store })
    const { messages } = await thread.sync([question])
    await thread.append([call()], { format, expected: messages })
    const other = await openThread({ id: 't', store })
    const late = other.append([result], { format, expected: messages })
    await expect(late).rejects.toSatisfy((error) => OrielError.is(error, 'unexpected-head'))
    expect((await thread.log()).filter(({ type }) => type === 'message')).toHaveLength(2)
  })
})
