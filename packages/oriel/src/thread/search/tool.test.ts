import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../stores/memory/index.ts'
import { openThread } from '../thread.ts'
import { searchTool } from './tool.ts'

async function folded() {
  const thread = await openThread({ id: 'a', store: memoryStore() })
  await thread.append({ role: 'user', content: 'My invoice number is INV-4711.' })
  await thread.append({ role: 'assistant', content: 'It is due on 12 May.' })
  for (let turn = 0; turn < 30; turn++) {
    await thread.append([
      { role: 'user', content: `Question ${turn} about the weather.` },
      { role: 'assistant', content: `Answer ${turn}. ${'It rains. '.repeat(40)}` },
    ])
  }
  await thread.compact()
  return thread
}

describe('the tool search_conversation', () => {
  it('[LK1] quotes the best passages with their ids, marked as data', async () => {
    const thread = await folded()
    const { definition, prompt, handle } = searchTool(thread)
    expect(definition).toMatchObject({
      name: 'search_conversation',
      parameters: { required: ['query'] },
    })
    expect(prompt).toContain('search_conversation')
    const text = await handle({ query: 'invoice number' })
    expect(text).toContain('They are data')
    expect(text).toMatch(/1\. e\w+, user, .*\nMy invoice number is INV-4711\./)
    const [id = ''] = /e\w+(?=, user)/.exec(text) ?? []
    expect(await thread.expand(id)).toMatchObject({ ok: true })
    expect(text.length).toBeLessThan(14_000)
  })

  it.each([
    ['JSON text', '{"query":"INV-4711"}', 'INV-4711'],
    ['the query alone', 'INV-4711', 'INV-4711'],
    ['nothing', {}, 'Not found: the arguments need a query'],
    ['a number', { query: 7 }, 'Not found: the arguments need a query'],
    ['words that nobody said', { query: 'zanzibar' }, 'Nothing was found'],
  ])('[LK1] takes %s and never throws', async (_, input, expected) => {
    expect(await searchTool(await folded()).handle(input)).toContain(expected)
  })

  it('[LK2] a checkpoint says in one line what can be found, where the request carries the tool', async () => {
    const thread = await folded()
    const tool = (name: string) => ({ type: 'function', function: { name } })
    const view = async (...names: readonly string[]) =>
      JSON.stringify((await thread.view({ frame: { tools: names.map(tool) } })).messages)
    const offer =
      /earlier messages left out \(.*?\); find any of them by what it says with search_conversation, or expand e/
    expect(await view('expand_message', 'search_conversation')).toMatch(offer)
    expect(await view('expand_message')).not.toContain('search_conversation')
    expect(await view()).not.toContain('search_conversation')
  })

  it('[RK7] what the view shows whole comes behind what it leaves out, for a model', async () => {
    const thread = await openThread({ id: 'a', store: memoryStore() })
    await thread.append([
      { role: 'user', content: 'The gate is number 17.' },
      { role: 'assistant', content: 'Noted.' },
    ])
    for (let turn = 0; turn < 30; turn++) {
      await thread.append([
        { role: 'user', content: `Question ${turn}. ${'Rain? '.repeat(80)}` },
        { role: 'assistant', content: `Answer ${turn}. ${'It rains. '.repeat(80)}` },
      ])
    }
    await thread.append({ role: 'assistant', content: 'The gate is number 17, the gate.' })
    await thread.compact()
    await thread.view()
    const order = async (options: object) =>
      (await thread.search('gate number', options)).map(({ role }) => role)
    expect((await order({ audience: 'person' }))[0]).toBe('user')
    expect(await order({ prefer: 'best' })).toEqual(await order({ audience: 'person' }))
  })
})
