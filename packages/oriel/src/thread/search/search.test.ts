import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { LogBackend } from '../../stores/backend.ts'
import { createStore } from '../../stores/create-store.ts'
import { MemoryBackend } from '../../stores/memory/backend.ts'
import { memoryStore } from '../../stores/memory/index.ts'
import { eraseThread } from '../erase.ts'
import { openThread } from '../thread.ts'
import { searchThreads } from './search.ts'

const long = Array.from({ length: 400 }, (_, line) => `line ${line}: nothing to see`).join('\n')
const story = [
  { role: 'user', content: 'My invoice number is INV-4711 and it is due on 12 May.' },
  { role: 'assistant', content: 'I noted the number of the invoice.' },
  { role: 'user', content: 'What is the weather in Lisbon?' },
  {
    role: 'assistant',
    content: [
      { type: 'tool-call', callId: 'c1', name: 'get_weather', arguments: '{"city":"Lisbon"}' },
    ],
  },
  {
    role: 'tool',
    tool: 'get_weather',
    content: [
      {
        type: 'tool-result',
        callId: 'c1',
        content: `${long}\nstation gate-17 reports hail\n${long}`,
      },
    ],
  },
  { role: 'assistant', content: 'It is raining.' },
] as const

async function opened(store = memoryStore(), id = 'a', tenant = 'acme') {
  const thread = await openThread({ id, tenant, store })
  await thread.append(story)
  return { thread, store }
}

describe('thread.search', () => {
  it('[RK2] answers the best messages with their best passage, ids and places', async () => {
    const { thread } = await opened()
    const [first, second] = await thread.search('invoice number')
    expect(first).toMatchObject({ index: 0, role: 'user', text: story[0].content })
    expect(second).toMatchObject({ index: 1, role: 'assistant' })
    expect(first?.score).toBeGreaterThan(second?.score ?? 0)
    const [hail] = await thread.search('Which station reports hail?')
    expect(hail).toMatchObject({ index: 4, role: 'tool', tool: 'get_weather' })
    expect(hail?.text).toContain('station gate-17 reports hail')
    expect(hail?.text.length).toBeLessThan(2000)
    expect(await thread.expand(hail?.id ?? '')).toMatchObject({ ok: true })
  })

  it('[RK2] keeps to a limit, a role and a tool', async () => {
    const { thread } = await opened()
    expect(await thread.search('invoice number', { limit: 1 })).toHaveLength(1)
    expect(await thread.search('invoice number', { role: 'assistant' })).toMatchObject([
      { index: 1 },
    ])
    const lisbon = await thread.search('Lisbon', { tool: 'get_weather' })
    expect(lisbon).toMatchObject([{ index: 3 }])
    expect(await thread.search('nowhere to be found')).toEqual([])
  })

  it.each([
    ['limit', { limit: 0 }],
    ['limit', { limit: 101 }],
    ['audience', { audience: 'all' }],
    ['embed', { embed: 7 }],
    ['depth', { depth: 1 }],
  ])('refuses a wrong %s', async (_, options) => {
    const { thread } = await opened()
    const searching = thread.search('x', options as object)
    await expect(searching).rejects.toMatchObject({ code: 'invalid-option' })
  })

  it('[RK2] finds what was folded, and shows a repeated passage once', async () => {
    const { thread } = await opened()
    await thread.append([story[0], { role: 'assistant', content: 'Again.' }])
    await thread.compact()
    const found = await thread.search('INV-4711')
    expect(found).toMatchObject([{ role: 'user', repeats: 1 }])
  })

  it('[RK3] never gives a model what was excluded, is for people only, or was not preserved', async () => {
    const { thread } = await opened()
    const [{ id = '' } = {}] = await thread.search('INV-4711')
    await thread.exclude(id)
    await thread.append([
      {
        role: 'user',
        content: [{ type: 'text', text: 'secret canary', audience: { now: false, later: false } }],
      },
      { role: 'user', content: 'canary of the host', audience: { later: false } },
    ])
    expect(await thread.search('INV-4711 canary')).toEqual([])
    const people = await thread.search('INV-4711 canary', { audience: 'person' })
    expect(people.map(({ index }) => index).toSorted()).toEqual([0, 6, 7])
    await thread.exclude(id, { excluded: false })
    expect(await thread.search('INV-4711')).toHaveLength(1)
  })

  it('[RK3] holds for random conversations: no canary of another tenant, of excluded or hidden content comes back', async () => {
    const kind = fc.constantFrom('open', 'hidden', 'excluded', 'inside')
    await fc.assert(
      fc.asyncProperty(fc.array(kind, { minLength: 1, maxLength: 10 }), async (kinds) => {
        const store = memoryStore()
        const foreign = await openThread({ id: 'a', tenant: 'rival', store })
        await foreign.append([{ role: 'user', content: 'canary foreign' }])
        const thread = await openThread({ id: 'a', tenant: 'acme', store })
        for (const [index, one] of kinds.entries()) {
          const text = `canary ${one} number ${index}`
          const audience = { later: false, now: false }
          const [entry] = await thread.append(
            one === 'inside'
              ? {
                  role: 'tool',
                  content: [
                    {
                      type: 'tool-result',
                      callId: `c${index}`,
                      content: [{ type: 'text', text, audience }],
                    },
                  ],
                }
              : { role: 'user', content: text, ...(one === 'hidden' ? { audience } : {}) },
          )
          if (one === 'excluded') await thread.exclude(entry?.id ?? '')
        }
        const found = [
          ...(await thread.search('canary', { limit: 100 })),
          ...(await searchThreads(store, 'acme', 'canary', { limit: 100 })),
        ]
        for (const { text } of found) expect(text).toMatch(/^canary open /)
        const open = kinds.filter((one) => one === 'open').length
        expect(found).toHaveLength(2 * open)
      }),
      { numRuns: 30 },
    )
  })

  it('[RK4] ranks by an embedder too, and does without one that fails', async () => {
    const { thread } = await opened()
    const embed = async (texts: readonly string[]) =>
      texts.map((text) => (text.includes('noted') || text === 'invoice number' ? [1, 0] : [0, 1]))
    const byWords = await thread.search('invoice number')
    const fused = await thread.search('invoice number', { embed })
    expect(fused.map(({ index }) => index).toSorted()).toEqual([0, 1])
    expect(byWords[0]?.index).toBe(0)
    const failing = async () => Promise.reject(new Error('no model'))
    expect(await thread.search('invoice number', { embed: failing })).toEqual(byWords)
  })

  it('[RK4] finds by meaning what shares no word with the query, in bounds, and nothing that its reader may not see', async () => {
    const thread = await openThread({ id: 'meaning', store: memoryStore() })
    const animals = /otter|badger|heron/
    const asked: string[][] = []
    const embed = async (texts: readonly string[]) => {
      asked.push([...texts])
      return texts.map((text) => (animals.test(text) || text === 'wildlife' ? [1, 0] : [0, 1]))
    }
    await thread.append([
      { role: 'user', content: 'We saw an otter by the river.' },
      { role: 'user', content: 'The bill was paid.' },
      { role: 'assistant', content: 'Lovely, a heron is next.' },
    ])
    const [withdrawn] = await thread.append({ role: 'user', content: 'A secret badger.' })
    expect(await thread.search('wildlife')).toEqual([])
    const texts = async (options: object = {}) =>
      (await thread.search('wildlife', { embed, ...options })).map(({ text }) => text)
    expect(await texts()).toHaveLength(3)
    expect(await texts({ role: 'assistant' })).toEqual(['Lovely, a heron is next.'])
    await thread.exclude(withdrawn?.id ?? '')
    asked.length = 0
    expect(await texts()).toEqual(['Lovely, a heron is next.', 'We saw an otter by the river.'])
    expect(asked.flat().join()).not.toContain('badger')
    expect(await texts({ audience: 'person' })).toContain('A secret badger.')
    await thread.append(
      Array.from({ length: 300 }, (_, at) => ({ role: 'user' as const, content: `Line ${at}.` })),
    )
    expect(await thread.search('wildlife', { embed, audience: 'person', limit: 2 })).toHaveLength(2)
  })

  it('[RK4] finds by meaning over the whole thread, also after a fold and in a thread opened again, and asks for each text once', async () => {
    const store = memoryStore()
    const asked: string[][] = []
    const embed = async (texts: readonly string[]) => {
      asked.push([...texts])
      return texts.map((text) => (/otter|wildlife/.test(text) ? [1, 0] : [0, 1]))
    }
    const opening = { id: 'long', store, snapshotEvery: 100 }
    const thread = await openThread(opening)
    await thread.append([{ role: 'user', content: 'We saw an otter by the river.' }])
    for (let from = 0; from < 1500; from += 300) {
      const lines = Array.from({ length: 300 }, (_, at) => `Line ${from + at}.`)
      await thread.append(lines.map((content) => ({ role: 'user' as const, content })))
    }
    await thread.compact()
    for (const [before, one] of [thread, await openThread(opening)].entries()) {
      asked.length = 0
      const [first] = await one.search('wildlife', { embed })
      expect(first).toMatchObject({ text: 'We saw an otter by the river.', index: 0 })
      expect(new Set(asked.flat()).size).toBe(1502 + before)
      expect(Math.max(...asked.map((texts) => texts.length))).toBeLessThanOrEqual(128)
      asked.length = 0
      await one.append({ role: 'user', content: `One more, ${before}.` })
      await one.search('wildlife', { embed })
      expect(asked.flat()).toEqual([expect.stringMatching(/^One more/)])
    }
  })

  it('[RK4] keeps the answers of an embedder apart that are asked for at once', async () => {
    const { thread } = await opened()
    const embed = async (texts: readonly string[]) =>
      texts.map((text) => (/hail|storm|raining/.test(text) ? [1, 0] : [0, 1]))
    const queries = ['storm', 'bookkeeping', 'storm']
    const found = await Promise.all(queries.map((query) => thread.search(query, { embed })))
    expect(found.map(([first]) => first?.text)).toEqual([
      'It is raining.',
      expect.not.stringMatching('It is raining.'),
      'It is raining.',
    ])
  })

  it('ends when it is aborted', async () => {
    const { thread } = await opened()
    const signal = AbortSignal.abort()
    await expect(thread.search('invoice', { signal })).rejects.toMatchObject({ name: 'AbortError' })
  })
})

describe('searchThreads', () => {
  it('[RK5] searches all threads of a tenant, forks too, and no other tenant', async () => {
    const { thread, store } = await opened()
    await opened(store, 'a', 'rival')
    const fork = await thread.fork(4)
    await fork.append([{ role: 'user', content: 'The invoice was paid.' }])
    expect(await fork.search('INV-4711')).toHaveLength(1)
    const found = await searchThreads(store, 'acme', 'invoice paid')
    expect(found[0]).toMatchObject({ thread: fork.id, text: 'The invoice was paid.' })
    expect(new Set(found.map((one) => one.thread))).toEqual(new Set(['a', fork.id]))
    expect(await searchThreads(store, 'nobody', 'invoice')).toEqual([])
  })

  it('[RK5] does not find what was erased', async () => {
    const { store } = await opened()
    expect(await searchThreads(store, 'acme', 'INV-4711')).toHaveLength(1)
    await eraseThread({ store, tenant: 'acme', id: 'a' })
    expect(await searchThreads(store, 'acme', 'INV-4711')).toEqual([])
  })

  it('[RK6] reads the logs where a backend has no index', async () => {
    const { search: _, ...methods } = backendMethods(new MemoryBackend())
    const { store } = await opened(createStore(methods as unknown as LogBackend))
    expect(await searchThreads(store, 'acme', 'INV-4711')).toMatchObject([
      { thread: 'a', index: 0 },
    ])
    expect(await searchThreads(store, 'rival', 'INV-4711')).toEqual([])
  })
})

/** The methods of a backend as an object of its own. */
function backendMethods(backend: MemoryBackend): Record<string, unknown> {
  const names = Object.getOwnPropertyNames(MemoryBackend.prototype)
  const own = backend as unknown as Record<string, (...values: unknown[]) => unknown>
  return {
    name: 'plain',
    keepsWhole: true,
    search: backend.search,
    ...Object.fromEntries(
      names.map((name) => [name, (...values: unknown[]) => own[name]?.(...values)]),
    ),
  }
}

describe('the analysis', () => {
  const texts = [
    '어제 서울에서 데이터베이스 이전을 논의했습니다.',
    'The total was 1,234.56 EUR.',
    'Commit b98e13a7c0ffee1234567890abcdef1234567890 broke the build.',
    'Вчера мы обсуждали миграцию в Москве.',
  ]

  it.each([
    ['서울', 0],
    ['데이터베이스를', 0],
    ['1234.56', 1],
    ['1,234.56', 1],
    ['b98e13a', 2],
    ['b98e13a7c0ffee1234567890abcdef1234567890', 2],
    ['Москва', 3],
    ['миграция', 3],
  ])('[RK1] [RK11] finds what %s is about', async (query, index) => {
    const thread = await openThread({ id: 'analysis', store: memoryStore() })
    await thread.append(texts.map((content) => ({ role: 'user' as const, content })))
    const [first] = await thread.search(query)
    expect(first?.index).toBe(index)
    expect(first?.marks).not.toEqual([])
  })
})

describe('a query that finds nothing', () => {
  it('[RK11] finds words with one slip or another ending, marks them, and never what was excluded', async () => {
    const thread = await openThread({ id: 't', store: memoryStore() })
    const [shown, hidden] = await thread.append([
      { role: 'user', content: 'The deployment of the Rechnung is tomorrow.' },
      { role: 'user', content: 'Another deployment, which nobody may see.' },
    ])
    await thread.exclude(hidden?.id ?? '')
    for (const query of ['deplyoment', 'Rechnungen']) {
      const [first, ...others] = await thread.search(query)
      expect([first?.id, others]).toEqual([shown?.id, []])
      const [from = 0, to = 0] = first?.marks[0] ?? []
      expect(first?.text.slice(from, to)).toMatch(/^(?:deployment|Rechnung)$/)
    }
    expect(await thread.search('deploymentally')).toEqual([])
  })
})
