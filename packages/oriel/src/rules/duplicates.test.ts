import { describe, expect, it } from 'vitest'
import { project } from '../project.ts'
import { memoryStore } from '../stores/memory/index.ts'
import { openThread } from '../thread/thread.ts'

const lines = (count: number, word: string) =>
  Array.from({ length: count }, (_, n) => `${word} line ${n} of the file`).join('\n')
const step = (id: string, name: string, args: object, content: string, isError = false) => [
  {
    role: 'assistant',
    content: [{ type: 'tool_use', id, name, input: args }],
  },
  { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content, is_error: isError }] },
]
const begin = { role: 'user', content: 'go' }
const placeholders = (messages: readonly object[], policy = { expiry: { duplicates: {} } }) => {
  const { trace, messages: sent } = project(messages, policy, { format: 'anthropic' })
  return {
    reasons: trace.map(({ index, reason }) => `${index}: ${reason.replace(/ e\w+$/, '')}`),
    sent: JSON.stringify(sent),
  }
}
const file = lines(60, 'alpha')

describe('results that a newer one repeats', () => {
  it('[D11] exactly the same text is folded into the next newer one, whatever the tool', () => {
    const { reasons, sent } = placeholders([
      begin,
      ...step('a', 'read', { path: 'x' }, file),
      ...step('b', 'cat', { file: 'x' }, file),
      ...step('c', 'other', { q: 1 }, lines(60, 'beta')),
    ])
    expect(reasons).toEqual(['2: same as the newer'])
    expect(sent).toMatch(
      /\[Omitted: read result, \d+ characters.*same as the newer e\w+; expand e\w+\]/,
    )
  })

  it('[D11] [T2] results are compared by what came in, so that their shorter forms are not taken for each other', async () => {
    const words = Array.from({ length: 90 }, (_, n) => `word${n % 13}`).join(' ')
    const compact = { after: 0, mode: 'compact', length: 200 } as const
    const expiry = { tools: { '*': compact }, duplicates: {}, preserveOriginals: false }
    const thread = await openThread({ store: memoryStore(), policy: { expiry } })
    const messages = [
      begin,
      ...step('a', 'read', { path: 'x' }, `c0 ${words}`),
      ...step('b', 'cat', { path: 'y' }, `c1 ${words}`),
      { role: 'assistant', content: 'done' },
      { role: 'user', content: 'and?' },
    ]
    await thread.append(messages, { format: 'anthropic' })
    const view = await thread.view()
    expect(await thread.view()).toEqual({
      ...view,
      epoch: { ...view.epoch, applied: 0, cause: 'none' },
    })
  })

  it('[D11] nearly the same is folded from the similarity on that was asked for', () => {
    const messages = [
      begin,
      ...step('a', 'read', { path: 'x' }, file),
      ...step('b', 'grep', { q: 'y' }, file.replace('alpha line 30', 'gamma row 30')),
    ]
    expect(placeholders(messages).reasons).toEqual(['2: nearly the same as the newer'])
    expect(
      placeholders(messages, { expiry: { duplicates: { similarity: 0.999 } } } as never).reasons,
    ).toEqual([])
  })

  it('[D11] what took the place of originals that were not kept is not compared', async () => {
    const words = Array.from({ length: 90 }, (_, n) => `word${n % 13}`).join(' ')
    const policy = {
      expiry: {
        tools: { '*': { after: 0, mode: 'compact', length: 200 } },
        duplicates: {},
        preserveOriginals: false,
      },
    } as const
    const thread = await openThread({ store: memoryStore(), policy })
    const calls = ['a', 'b'].map((id) => ({ type: 'tool_use', id, name: id, input: { id } }))
    const results = ['a', 'b'].map((id) => ({
      type: 'tool_result',
      tool_use_id: id,
      content: `${id} ${words}`,
      is_error: id === 'a',
    }))
    const messages = [
      begin,
      { role: 'assistant', content: calls },
      { role: 'user', content: results },
    ]
    await thread.append([...messages, { role: 'assistant', content: 'Done.' }], {
      format: 'anthropic',
    })
    const first = await thread.view({ format: 'anthropic' })
    expect(JSON.stringify(first.messages)).toContain('[Compacted: showing first')
    expect((await thread.view({ format: 'anthropic' })).messages).toEqual(first.messages)
  })

  it('[D11] the same call asked again supersedes the older answer; without arguments it does not', () => {
    const again = (args: object) => [
      begin,
      ...step('a', 'read', args, file),
      ...step('b', 'read', args, lines(60, 'rewritten')),
    ]
    expect(placeholders(again({ path: 'x', a: 1 })).reasons).toEqual(['2: superseded by the newer'])
    expect(placeholders(again({})).reasons).toEqual([])
  })

  it('[D11] arguments are compared by value, and a failure replaces nothing that worked', () => {
    const order = [
      begin,
      ...step('a', 'read', { path: 'x', n: 1 }, file),
      ...step('b', 'read', { n: 1, path: 'x' }, lines(60, 'new')),
    ]
    expect(placeholders(order).reasons).toHaveLength(1)
    const failed = [
      begin,
      ...step('a', 'read', { path: 'x' }, file),
      ...step('b', 'read', { path: 'x' }, `error: ${lines(20, 'trace')}`, true),
    ]
    expect(placeholders(failed).reasons).toEqual([])
  })

  it('[D11] what the model has not seen stays, also when it repeats itself', () => {
    const both = {
      role: 'assistant',
      content: ['a', 'b'].map((id) => ({ type: 'tool_use', id, name: 'read', input: { p: 1 } })),
    }
    const results = {
      role: 'user',
      content: ['a', 'b'].map((id) => ({ type: 'tool_result', tool_use_id: id, content: file })),
    }
    expect(placeholders([begin, both, results]).reasons).toEqual([])
  })

  it('[D11] looking after each step shows what one look at the end shows', async () => {
    const messages = [
      begin,
      ...['a', 'b', 'c', 'd'].flatMap((id) => step(id, 'read', { path: 'x' }, file)),
      { role: 'assistant', content: 'done' },
      { role: 'user', content: 'thanks' },
    ]
    const policy = {
      expiry: { duplicates: {}, tools: { read: { after: 1, mode: 'remove' } } },
    } as const
    const stepwise = await openThread({ id: 't', store: memoryStore(), policy })
    const whole = await openThread({ id: 't', store: memoryStore(), policy })
    for (const message of messages) {
      await stepwise.append([message], { format: 'anthropic' })
      await stepwise.view({ format: 'anthropic' })
    }
    await whole.append(messages, { format: 'anthropic' })
    const [a, b] = await Promise.all(
      [stepwise, whole].map((one) => one.view({ format: 'anthropic' })),
    )
    expect(a?.messages.map((m) => JSON.stringify(m).replaceAll(/e\w{3,5}\b/g, 'id'))).toEqual(
      b?.messages.map((m) => JSON.stringify(m).replaceAll(/e\w{3,5}\b/g, 'id')),
    )
  })
})

describe('a comparison of the host', () => {
  const words = (from: string) => Array.from({ length: 40 }, (_, n) => `${from}${n}`).join(' ')
  const run = async (similarity: (older: string, newer: string) => number) => {
    const lines: string[] = []
    const thread = await openThread({
      id: 't',
      store: memoryStore(),
      now: () => 1,
      policy: { expiry: { duplicates: {} } },
      similarity,
      log: (line) => lines.push(line),
    })
    for (const from of ['red', 'blue', 'green']) {
      await thread.append([
        { role: 'user', content: 'go' },
        {
          role: 'assistant',
          content: [
            { type: 'tool-call', callId: from, name: 'look', arguments: `{"q":"${from}"}` },
          ],
        },
        { role: 'tool', content: [{ type: 'tool-result', callId: from, content: words(from) }] },
        { role: 'assistant', content: 'ok' },
      ])
    }
    await thread.view()
    return { trace: (await thread.view()).trace, lines }
  }

  it('[DB17] decides what repeats, and is asked once for each pair', async () => {
    const asked: string[] = []
    const { trace } = await run((older, newer) => {
      asked.push(`${older.slice(0, 3)} ${newer.slice(0, 3)}`)
      return older.startsWith('red') && newer.startsWith('green') ? 1 : 0
    })
    expect(trace).toMatchObject([
      { index: 2, form: 'omitted', reason: expect.stringMatching(/^nearly the same/) },
    ])
    expect(asked.toSorted()).toEqual(['blu gre', 'red blu', 'red gre'])
  })

  it('[DB17] one that throws folds nothing, and the log says so', async () => {
    const { trace, lines } = await run(() => {
      throw new Error('no')
    })
    expect(trace).toEqual([])
    expect(lines).toContain('[Oriel] The function `similarity` threw: the result stays.')
  })
})
