import { describe, expect, it } from 'vitest'
import type { Json } from '../../core/log/json.ts'
import { memoryStore, validate } from '../../index.ts'
import { openThread, type Thread } from '../thread.ts'

const compaction = { type: 'compaction', content: 'They spoke of tea.', encrypted_content: null }
const before = [
  { role: 'user', content: 'Remember: the code is 4711.' },
  { role: 'assistant', content: 'Noted: 4711.' },
  { role: 'user', content: 'Which tea?' },
]
const answer = { role: 'assistant', content: [compaction, { type: 'text', text: 'Green tea.' }] }
const next = { role: 'user', content: 'Thanks. And milk?' }

async function compacted(): Promise<Thread> {
  const thread = await openThread({ store: memoryStore() })
  await thread.append([...before, answer, next], { format: 'anthropic' })
  return thread
}

const item = { type: 'compaction', id: 'cmp_1', encrypted_content: 'gAAAA' }

describe('compaction by a provider', () => {
  it('[PC1] the block stands for what came before it, in the format of its provider', async () => {
    const thread = await compacted()
    const view = await thread.view({ format: 'anthropic' })
    expect(view.messages).toEqual([answer, next])
    expect(validate('anthropic', { messages: view.messages })).toEqual([])
    expect(view.trace.map(({ form, rule }) => [form, rule])).toEqual(
      before.map(() => ['dropped', 'provider-compaction']),
    )
    const [edit] = await thread.edits()
    expect(edit).toMatchObject({ rule: 'provider-compaction', compactedBy: [5, 0] })
  })

  const call = { type: 'tool_use', id: 'a', name: 'read', input: {} }
  const result = { type: 'tool_result', tool_use_id: 'a', content: 'Tea.' }
  it.each<[string, Json, readonly Json[]]>([
    ['signed', [{ ...compaction, signature: 'sig' }], [next]],
    ['unsigned, with an answer', answer.content, [next]],
    [
      'with nothing behind it but its result',
      [compaction, call],
      [{ role: 'user', content: [result] }],
    ],
    [
      'in a tool loop, with a turn behind it',
      [compaction, call],
      [{ role: 'user', content: [result] }, { role: 'assistant', content: 'Read.' }, next],
    ],
  ])('[PC1] a pin before the block stands behind it: %s', async (_, content, after) => {
    const thread = await openThread({ store: memoryStore() })
    const said = { role: 'assistant', content }
    const entries = await thread.append([...before, said, ...after], { format: 'anthropic' })
    await thread.pin(entries[0]?.id ?? '')
    for (let time = 0; time < 2; time++) {
      const view = await thread.view({ format: 'anthropic' })
      expect(validate('anthropic', { messages: view.messages })).toEqual([])
      expect(view.messages[0]).toEqual(said)
      expect(JSON.stringify(view.messages).split('the code is 4711')).toHaveLength(2)
      expect(JSON.stringify(view.messages)).not.toContain('Which tea?')
    }
    const answered = entries.find(({ role }) => role === 'assistant')
    await thread.pin(answered?.id ?? '')
    const { messages, trace } = await thread.view({ format: 'anthropic' })
    expect(validate('anthropic', { messages })).toEqual([])
    expect(messages[0]).toEqual(said)
    if (after.includes(next)) expect(JSON.stringify(messages)).toContain('Noted: 4711.')
    // An answer cannot be the last message: it is back as soon as something follows.
    else expect(trace.some(({ reason }) => reason.includes('A6'))).toBe(true)
  })

  it('[PC2] elsewhere the originals are there, and back again the block is', async () => {
    const thread = await compacted()
    const native = await thread.view({ format: 'anthropic' })
    const chat = await thread.view({ format: 'openai-chat' })
    expect(JSON.stringify(chat.messages)).toContain('the code is 4711')
    expect(JSON.stringify(chat.messages)).not.toContain('compaction')
    expect((await thread.view({ format: 'anthropic' })).messages).toEqual(native.messages)
    const plain = await thread.view({ format: 'anthropic', sendsCompaction: false })
    expect(plain.messages).toEqual([...before, { role: 'assistant', content: 'Green tea.' }, next])
    expect((await thread.view({ format: 'anthropic' })).messages).toEqual(native.messages)
  })

  it('[PC3] undone, the originals are shown for good, and the block is not sent', async () => {
    const thread = await compacted()
    await thread.view({ format: 'anthropic' })
    const [edit] = await thread.edits()
    await thread.undo(edit?.id ?? '')
    for (let time = 0; time < 2; time++) {
      const view = await thread.view({ format: 'anthropic' })
      expect(JSON.stringify(view.messages)).toContain('the code is 4711')
      expect(JSON.stringify(view.messages)).not.toContain('compaction')
    }
    const again = { role: 'assistant', content: [{ ...compaction, content: 'Milk, 4711.' }] }
    await thread.append([again, { role: 'user', content: 'Go on.' }], { format: 'anthropic' })
    const view = await thread.view({ format: 'anthropic' })
    expect(view.messages).toEqual([again, { role: 'user', content: 'Go on.' }])
  })

  it.each<[string, readonly Json[]]>([
    ['without what came before', [answer, next]],
    ['whole', [...before, answer, next]],
  ])('[PC4] a history that is resent %s goes on in its thread', async (_, history) => {
    const thread = await openThread({ store: memoryStore() })
    await thread.append([...before, answer], { format: 'anthropic' })
    const synced = await thread.request(history, { format: 'anthropic' })
    expect([synced.isForked, synced.appended, synced.branch.id]).toEqual([false, 1, thread.id])
    expect(synced.view.messages).toEqual([answer, next])
    const found = await thread.search('code 4711')
    expect(found.length).toBeGreaterThan(0)
  })

  it('[PC4] so does one that keeps the user messages before an item of the Responses', async () => {
    const thread = await openThread({ store: memoryStore() })
    const first = { role: 'user', content: 'One' }
    const second = { role: 'user', content: 'Two' }
    const said = {
      type: 'message',
      role: 'assistant',
      content: [{ type: 'output_text', text: 'A' }],
    }
    const format = 'openai-responses'
    await thread.append([first, said, second, said], { format })
    const block = { type: 'opaque' as const, format, value: item, compaction: {} }
    await thread.append({
      ...{ role: 'assistant', content: [block], kind: 'compaction-window', source: { format } },
    })
    const third = { role: 'user', content: 'Three' }
    const history = [first, second, item, third]
    const { view, isForked } = await thread.request(history, { format })
    expect(isForked).toBe(false)
    expect(view.messages).toEqual(history)
    const chat = await thread.view({ format: 'openai-chat' })
    expect(chat.messages.map((one) => (one as { role: string }).role)).toEqual([
      ...['user', 'assistant', 'user', 'assistant', 'user'],
    ])
  })

  it('[PC3] what began elsewhere cannot be undone, and says so', async () => {
    const thread = await openThread({ store: memoryStore() })
    const [entry] = await thread.append([answer, next], { format: 'anthropic' })
    const view = await thread.view({ format: 'anthropic' })
    expect(view.messages).toEqual([answer, next])
    const id = entry?.blocks[0]?.id ?? ''
    await expect(thread.undo(id)).rejects.toMatchObject({
      code: 'cannot-undo',
      message: expect.stringContaining('never in this thread'),
    })
    const chat = await thread.view({ format: 'openai-chat' })
    expect(JSON.stringify(chat.messages)).toContain(compaction.content)
  })

  it('[PC1] a compaction that failed stands for nothing', async () => {
    const thread = await openThread({ store: memoryStore() })
    const failed = {
      role: 'assistant',
      content: [
        { type: 'compaction', content: null },
        { type: 'text', text: 'Ok' },
      ],
    }
    await thread.append([...before, failed, next], { format: 'anthropic' })
    const view = await thread.view({ format: 'anthropic' })
    expect(view.messages).toEqual([...before, failed, next])
  })

  it('[PC1] a newer compaction takes the place of an older one, and of our own checkpoints', async () => {
    const thread = await openThread({
      store: memoryStore(),
      policy: { compaction: { maxTokens: 60, keepRecentTokens: 20 } },
    })
    await thread.append(
      before.flatMap((one) => [one, { ...one, content: `${one.content} again` }]).concat(before),
      { format: 'anthropic' },
    )
    await thread.view({ format: 'anthropic' })
    await thread.append([answer, next], { format: 'anthropic' })
    const view = await thread.view({ format: 'anthropic' })
    expect(view.messages).toEqual([answer, next])
  })
})
