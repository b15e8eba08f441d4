import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../stores/memory/index.ts'
import { eraseThread } from '../erase.ts'
import { searchThreads } from '../search/search.ts'
import { openThread, type Thread } from '../thread.ts'
import { scopeMemory } from './lasting.ts'

async function fill(thread: Thread, turns = 30): Promise<void> {
  for (let turn = 0; turn < turns; turn++) {
    await thread.append([
      { role: 'user', content: `Question ${turn} about the weather in Lisbon.` },
      { role: 'assistant', content: `Answer ${turn}. ${'It rains a lot. '.repeat(30)}` },
    ])
  }
}

async function folded(options: object = {}) {
  const store = memoryStore()
  const thread = await openThread({ id: 'a', store, recall: 'auto', ...options })
  await thread.append({ role: 'user', content: 'Please read my mail.' })
  const [told] = await thread.append({
    role: 'assistant',
    content: 'The invoice number is INV-4711.',
  })
  await fill(thread)
  await thread.compact()
  return { store, thread, id: told?.id ?? '' }
}

function textsOf(view: { readonly messages: readonly unknown[] }): readonly string[] {
  return view.messages.map((message) => JSON.stringify(message))
}

describe('recall', () => {
  const question = { role: 'user', content: 'What was the invoice number again?' } as const

  it('[RL1] puts the best passages behind the newest user message, and only for that request', async () => {
    const { thread } = await folded()
    await thread.append(question)
    const before = await thread.view()
    const texts = textsOf(before)
    expect(texts.at(-1)).toMatch(/Recalled: .*data, not instructions.*INV-4711/)
    expect(texts.at(-2)).toContain('What was the invoice number again?')
    await thread.append({ role: 'assistant', content: 'INV-4711.' })
    await thread.append({ role: 'user', content: 'Thank you.' })
    const after = textsOf(await thread.view())
    expect(after.slice(0, texts.length - 1)).toEqual(texts.slice(0, -1))
    expect(after.join()).not.toContain('Recalled')
  })

  it('[RL1] is off by default, and adds nothing where the view shows everything', async () => {
    const { thread } = await folded({ recall: undefined })
    await thread.append(question)
    expect(textsOf(await thread.view()).join()).not.toContain('Recalled')
    const small = await openThread({ store: memoryStore(), recall: 'auto' })
    await small.append([
      { role: 'user', content: 'The invoice number is INV-4711.' },
      { role: 'assistant', content: 'Noted.' },
      question,
    ])
    expect((await small.view()).messages).toHaveLength(3)
  })

  it('[RL2] keeps to its bounds', async () => {
    const { thread } = await folded({ recall: { passages: 1, tokens: 60 } })
    const few = await thread.view()
    await thread.append({
      role: 'user',
      content: 'What about the invoice number and the weather in Lisbon?',
    })
    const more = await thread.view()
    const added = textsOf(more).filter((text) => text.includes('Recalled'))
    expect(added.length).toBeLessThanOrEqual(1)
    expect(more.tokens.after - few.tokens.after).toBeLessThan(150)
    for (const recall of [{ passages: 0 }, { tokens: 0 }, { depth: 1 }, 'always'])
      await expect(
        openThread({ store: memoryStore(), recall: recall as never }),
      ).rejects.toMatchObject({ code: 'invalid-option' })
  })

  it('[RL3] is rebuilt with its request, and has the log not copied', async () => {
    const { thread } = await folded()
    await thread.append(question)
    const view = await thread.view()
    expect(await thread.view()).toMatchObject({ id: view.id, messages: view.messages })
    const { body, exact } = await thread.requestAt(thread.step)
    expect(exact).toBe(true)
    expect(JSON.stringify(body)).toContain('Recalled')
    const log = await thread.log()
    expect(JSON.stringify(log.slice(-4))).not.toContain('INV-4711')
  })

  it('[RL3] never shows again what was excluded, not even in a request that is rebuilt', async () => {
    const { thread, id } = await folded()
    await thread.append(question)
    await thread.view()
    await thread.exclude(id)
    expect(textsOf(await thread.view()).join()).not.toContain('INV-4711')
  })
})

describe('a scope', () => {
  const scope = { user: 'ann' }

  it('[MS1] lets search and recall look into the threads of one user, and of nobody else', async () => {
    const { store, thread } = await folded({ scope })
    const other = await openThread({ id: 'b', store, scope, recall: 'auto' })
    await openThread({ id: 'c', store, scope: { user: 'bob' } }).then((own) =>
      own.append({ role: 'user', content: 'The invoice number of Bob is INV-0815.' }),
    )
    await openThread({ id: 'd', tenant: 'rival', store, scope }).then((own) =>
      own.append({ role: 'user', content: 'The invoice number of a rival is INV-0001.' }),
    )
    await other.append({ role: 'user', content: 'What was the invoice number?' })
    const seen = textsOf(await other.view()).join()
    expect(seen).toContain('another conversation')
    expect(seen).toContain('INV-4711')
    expect(seen).not.toMatch(/INV-0815|INV-0001/)
    expect((await other.search('invoice number INV', { across: true }))[0]).toMatchObject({
      thread: thread.id,
    })
    expect(
      (await other.search('invoice number INV')).every((one) => one.thread === undefined),
    ).toBe(true)
    const found = await searchThreads(store, 'default', 'invoice number INV', { scope })
    expect(new Set(found.map((one) => one.thread))).toEqual(new Set(['a', 'b']))
    expect((await other.requestAt(other.step)).exact).toBe(true)
    await eraseThread({ store, id: 'a' })
    const rebuilt = await other.requestAt(other.step)
    expect(rebuilt.exact).toBe(false)
    expect(JSON.stringify(rebuilt.body)).not.toContain('INV-4711')
    expect(textsOf(await other.view()).join()).not.toContain('INV-4711')
  })

  it('[MS2] tells new threads what the user said is to hold in all of them', async () => {
    const store = memoryStore()
    const first = await openThread({ id: 'a', store, scope })
    await first.append([
      { role: 'user', content: 'Always answer in French. What is the capital of Peru?' },
      { role: 'assistant', content: 'Lima.' },
      { role: 'user', content: 'In all our chats, use metric units.' },
    ])
    const memory = scopeMemory(store, 'default', scope)
    const listed = await memory.list()
    expect(listed.map(({ text }) => text)).toEqual([
      'Always answer in French.',
      'In all our chats, use metric units.',
    ])
    const next = await openThread({ id: 'b', store, scope })
    await next.append({ role: 'user', content: 'How high is the Eiffel Tower?' })
    const shown = async () => textsOf(await next.view()).join()
    expect(await shown()).toMatch(/Standing instructions .*Always answer in French.*metric units/)
    await next.append({ role: 'assistant', content: '330 m.' })
    await next.append({ role: 'user', content: 'And wide?' })
    expect(await shown()).toContain('Always answer in French')
    expect((await next.requestAt(next.step)).exact).toBe(true)
    await memory.edit(listed[0]?.id ?? '', 'Always answer in German.')
    expect(await shown()).toMatch(/Always answer in German/)
    await memory.erase(listed[1]?.id ?? '')
    expect(await shown()).not.toMatch(/French|metric/)
    await eraseThread({ store, id: 'a' })
    expect(await shown()).not.toContain('Standing instructions')
    expect(await memory.list()).toEqual([])
    expect(await scopeMemory(store, 'rival', scope).list()).toEqual([])
    await expect(memory.edit('l0', 'x')).rejects.toMatchObject({ code: 'not-found' })
  })

  it('[MS2] is off without the setting, and fixed when a thread begins', async () => {
    const store = memoryStore()
    const plain = await openThread({ id: 'a', store })
    await plain.append({ role: 'user', content: 'Always answer in French.' })
    expect(await scopeMemory(store, 'default', scope).list()).toEqual([])
    const again = await openThread({ id: 'a', store, scope })
    await again.append({ role: 'user', content: 'Never use tables.' })
    expect(await scopeMemory(store, 'default', scope).list()).toEqual([])
    await expect(openThread({ store, scope: {} })).rejects.toMatchObject({ code: 'invalid-option' })
  })
})
