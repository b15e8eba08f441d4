import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../stores/memory/index.ts'
import { openThread } from '../thread.ts'
import { expandTool } from './tool.ts'

const picture = { type: 'image', mediaType: 'image/png', data: 'aGVsbG8=' } as const
const policy = { expiry: { tools: { '*': { after: 0, mode: 'remove' } } } } as const

/** A thread whose one result has expired, and the id that its placeholder names. */
async function expired(content: string | readonly object[]) {
  const thread = await openThread({ id: 't', store: memoryStore(), policy, now: () => 1 })
  await thread.append([
    { role: 'user', content: 'go' },
    {
      role: 'assistant',
      content: [{ type: 'tool-call', callId: 'c', name: 's', arguments: '{}' }],
    },
    { role: 'tool', content: [{ type: 'tool-result', callId: 'c', content }] },
    { role: 'assistant', content: 'ok' },
  ])
  const { messages } = await thread.view()
  const id = /expand (e\w+)/.exec(JSON.stringify(messages))?.[1] ?? ''
  return { thread, id, tool: expandTool(thread) }
}

const rows = Array.from({ length: 9000 }, (_, n) => ({ id: n, name: `row number ${n}`, at: n * 7 }))
const oneLine = JSON.stringify(rows)

describe('parts of long lines', () => {
  it('[DB4] the tool reads any characters of an output in one line', async () => {
    const { id, tool } = await expired(oneLine)
    expect(oneLine.length).toBeGreaterThan(400_000)
    const chars = [oneLine.length - 50, oneLine.length - 1] as const
    expect(await tool.handle({ id, chars })).toBe(oneLine.slice(-50))
    expect(tool.definition.parameters.properties).toHaveProperty('chars')
    expect(tool.prompt).toContain('chars')
  })

  it('[DB4] a query in a long line answers with what stands around it, and where', async () => {
    const { id, tool, thread } = await expired(`first\n${oneLine}`)
    const found = await tool.handle({ id, query: 'ROW number 8765"' })
    expect(found).toContain('row number 8765"')
    expect(found.length).toBeLessThan(1000)
    const [, from, to] = /^1: \[chars (\d+) to (\d+)\]/.exec(found) ?? []
    const part = await thread.expand(id, { chars: [Number(from), Number(to)] })
    expect(part).toMatchObject({ ok: true, text: expect.stringContaining('row number 8765"') })
    const many = await thread.expand(id, { query: 'row number' })
    expect(many).toMatchObject({ ok: true, text: expect.stringContaining('row number 0') })
  })
})

describe('pictures', () => {
  it('[DB5] come with the original, in the answer and for the model in their place', async () => {
    const { id, tool, thread } = await expired([picture])
    const found = await thread.expand(id)
    expect(found).toEqual({ ok: true, text: '[image image/png]', media: [picture] })
    expect(JSON.stringify((await thread.view({ format: 'anthropic' })).messages)).not.toContain(
      picture.data,
    )
    expect(await tool.handle({ id })).toMatch(/^\[image image\/png\]\n\[1 picture or file: shown/)
    expect(JSON.stringify((await thread.view({ format: 'anthropic' })).messages)).toContain(
      picture.data,
    )
  })

  it('[DB5] beside a text leave the text as it was; parts of the text bring none', async () => {
    const { id, thread } = await expired([{ type: 'text', text: 'a\nb' }, picture])
    expect(await thread.expand(id)).toEqual({ ok: true, text: 'a\nb', media: [picture] })
    expect(await thread.expand(id, { lines: [1, 1] })).toEqual({ ok: true, text: 'b' })
  })
})

describe('items', () => {
  const items = JSON.stringify(rows.slice(3, 5))
  const some = rows.slice(0, 50)

  it.each([
    ['a list in an object', JSON.stringify({ total: 50, results: some })],
    ['a list behind a title', `Action results:\n${JSON.stringify(some, null, 2)}`],
    ['a list deep in an object', JSON.stringify({ data: { rows: some } })],
    ['a list in an object behind a title', `2 of 3 failed:\n${JSON.stringify({ results: some })}`],
  ])('[DB6] of %s are found', async (_, content) => {
    const { id, thread } = await expired(content)
    expect(await thread.expand(id, { items: [3, 4] })).toEqual({ ok: true, text: items })
    expect(await thread.hints(id)).toMatchObject({
      items: { count: 50 },
      keys: ['id', 'name', 'at'],
    })
  })

  it('[DB6] of several lists the one at the path, else a reason that names them', async () => {
    const { id, tool } = await expired(JSON.stringify({ a: some, b: { rows: [some, 1] } }))
    expect(await tool.handle({ id, items: [3, 4], path: '$.b.rows[0]' })).toBe(items)
    expect(await tool.handle({ id, items: [3, 4], path: 'b.rows.0' })).toBe(items)
    expect(await tool.handle({ id, path: 'a' })).toBe(JSON.stringify(some))
    expect(await tool.handle({ id, items: [3, 4], path: 'b' })).toMatch(/no list at b/)
    const two = await expired(JSON.stringify({ a: some, b: some }))
    expect(await two.tool.handle({ id: two.id, items: [0, 1] })).toMatch(/path: a, b;/)
    const { id: plain, tool: other } = await expired('plain words '.repeat(40))
    expect(await other.handle({ id: plain, items: [0, 1] })).toMatch(/it is not JSON; or ask/)
  })

  it('[DB6] wrong ranges and unknown options are answered with a reason', async () => {
    const { id, thread } = await expired(oneLine)
    const expand = (options: object) => thread.expand(id, options)
    expect(await expand({ lines: 5 })).toMatchObject({
      reason: expect.stringMatching(/^Not expanded: lines must be/),
    })
    expect(await expand({ range: [1, 2] })).toMatchObject({
      reason: expect.stringMatching(/there is no option range/),
    })
  })
})

describe('hints', () => {
  it('[DB7] say what an original holds, without showing it', async () => {
    const { id, thread } = await expired(oneLine)
    const length = (await thread.log()).length
    expect(await thread.hints(id)).toEqual({
      ok: true,
      id,
      summary: expect.stringMatching(/^\[\{"id":0,/),
      characters: oneLine.length,
      lines: 1,
      tokens: expect.any(Number),
      media: 0,
      items: { count: 9000, path: '' },
      keys: ['id', 'name', 'at'],
      canExpand: true,
    })
    expect((await thread.log()).length).toBe(length)
    expect(await thread.hints('e1zzz')).toMatchObject({ ok: false, canExpand: false })
  })
})

describe('repeats', () => {
  it('[DB8] what was asked for long ago may be asked for again', async () => {
    const { id, tool, thread } = await expired('words and more '.repeat(50))
    for (let times = 0; times < 3; times++) await tool.handle({ id })
    expect(await tool.handle({ id })).toMatch(/Do not request this expansion again/)
    for (let step = 0; step < 25; step++) await thread.append({ role: 'assistant', content: 'ok' })
    expect(await tool.handle({ id })).toMatch(/^words and more/)
  })
})
