// Cases: ranked search. Every store finds and ranks as the one in memory.

import fc from 'fast-check'
import { expect } from 'vitest'
import type { Entry } from '../core/log/entry.ts'
import { memoryStore } from '../stores/memory/index.ts'
import type { Store, StoreQuery } from '../stores/store.ts'
import { eraseThread } from '../thread/erase.ts'
import { scopeMemory } from '../thread/memory/lasting.ts'
import type { Embed } from '../thread/search/meaning.ts'
import { searchThreads } from '../thread/search/search.ts'
import { searchTool } from '../thread/search/tool.ts'
import { openThread, type Thread } from '../thread/thread.ts'
import type { StoreCase } from './store-suite.ts'
import { foreignKey, key, messageAt, messages } from './store-suite-data.ts'

type Searching = Store & Required<Pick<Store, 'search'>>

/** A case for stores that search. */
function searchCase(
  name: string,
  run: (store: Searching, context: Parameters<StoreCase['run']>[0]) => Promise<void>,
): StoreCase {
  return {
    name,
    async run(context) {
      if (context.store.search !== undefined) await run(context.store as Searching, context)
    },
  }
}

/** Where the matches stand, the best first. */
async function found(store: Searching, query: StoreQuery): Promise<readonly string[]> {
  const { passages } = await store.search(query)
  return passages.map(({ thread, seq }) => `${thread}/${seq}`)
}

const said = (...texts: readonly string[]): Entry[] =>
  texts.map((text, index) => messageAt(index + 1, text))

export const searchCases: readonly StoreCase[] = [
  searchCase(
    'a word with another ending or with one slip is found where nothing else is',
    async (store) => {
      const texts = [
        'Die Rechnung liegt bei.',
        'The deployment failed at noon.',
        'Les bateaux partent.',
        'A deploymentx of no interest.',
      ]
      await store.append(key, said(...texts), 0)
      const ask = (query: string): Promise<readonly string[]> => found(store, { ...key, query })
      expect(await ask('Rechnungen')).toEqual([`${key.thread}/1`])
      expect(await ask('bateau')).toEqual([`${key.thread}/3`])
      for (const slip of ['deplyoment', 'deplyment', 'deploymment', 'deploynent']) {
        expect(await ask(slip)).toEqual([`${key.thread}/2`])
      }
      expect(await ask('deplyoment noon')).toEqual([`${key.thread}/2`])
      expect(await ask('eployment')).toEqual([])
      expect(await ask('xyzzy')).toEqual([])
    },
  ),
  searchCase(
    'words, identifiers, paths, numbers and scripts without spaces are found',
    async (store) => {
      const texts = [
        'The invoice of Müller GmbH is 4711.',
        'call fetchUserProfile(userId) in src/api/user-client.ts',
        '明日の会議は東京で開かれます',
        'nothing of interest',
      ]
      await store.append(key, said(...texts), 0)
      const ask = (query: string): Promise<readonly string[]> => found(store, { ...key, query })
      expect(await ask('muller')).toEqual([`${key.thread}/1`])
      expect(await ask('Where is invoice 4711?')).toEqual([`${key.thread}/1`])
      expect(await ask('user profile')).toEqual([`${key.thread}/2`])
      expect(await ask('user-client.ts')).toEqual([`${key.thread}/2`])
      expect(await ask('fetchUserProfile')).toEqual([`${key.thread}/2`])
      expect(await ask('東京')).toEqual([`${key.thread}/3`])
      expect(await ask('')).toEqual([])
      expect(await ask('"\' OR * NEAR( : ^ -- \0')).toEqual([])
    },
  ),
  searchCase(
    'what was appended before the search is found, across reopening',
    async (store, context) => {
      await store.append(key, said('alpha'), 0)
      expect(await found(store, { ...key, query: 'alpha beta' })).toHaveLength(1)
      await store.append(key, [messageAt(2, 'alpha beta')], 1)
      const both = [`${key.thread}/2`, `${key.thread}/1`]
      expect(await found(store, { ...key, query: 'alpha beta' })).toEqual(both)
      const again = ((await context.reopen?.()) ?? store) as Searching
      expect(await found(again, { ...key, query: 'alpha beta' })).toEqual(both)
    },
  ),
  searchCase('a search sees its own tenant and its own thread only', async (store) => {
    const other = { ...key, thread: 'other' }
    for (const one of [key, other, foreignKey]) await store.append(one, said('canary word'), 0)
    expect(await found(store, { ...key, query: 'canary' })).toEqual([`${key.thread}/1`])
    const { tenant } = key
    const all = await found(store, { tenant, query: 'canary' })
    expect(all.toSorted()).toEqual(['other/1', `${key.thread}/1`])
    expect(await found(store, { tenant: 'nobody', query: 'canary' })).toEqual([])
  }),
  searchCase('an erased thread is not found, and neither are its words', async (store) => {
    await store.append(key, said('canary one', 'canary two'), 0)
    await store.append({ ...key, thread: 'stays' }, said('canary three'), 0)
    const { tenant } = key
    expect(await found(store, { tenant, query: 'canary' })).toHaveLength(3)
    await store.erase(key)
    expect(await found(store, { tenant, query: 'canary' })).toEqual(['stays/1'])
    expect(await found(store, { ...key, query: 'canary' })).toEqual([])
    await store.eraseTenant(tenant)
    expect(await found(store, { tenant, query: 'canary' })).toEqual([])
  }),
  searchCase('searches and appends at once lose nothing and find nothing twice', async (store) => {
    const query = { ...key, query: 'message', limit: 1000 }
    for (let seq = 1; seq <= 40; seq += 4) {
      await Promise.all([
        store.append(key, messages(seq, 4), seq - 1),
        store.search(query),
        store.search({ tenant: key.tenant, query: 'message' }),
      ])
    }
    const seqs = (await store.search(query)).passages.map(({ seq }) => seq)
    expect(seqs.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 40 }, (_, at) => at + 1))
  }),
  searchCase('ranks as the store in memory does', async (store, { property }) => {
    const word = fc.constantFrom(
      'alpha',
      'beta',
      'gammaDelta',
      'src/x.ts',
      '4711',
      '東京都',
      'caches',
    )
    const text = fc.array(word, { minLength: 1, maxLength: 12 }).map((words) => words.join(' '))
    let count = 0
    await fc.assert(
      fc.asyncProperty(
        fc.array(text, { minLength: 1, maxLength: 12 }),
        text,
        async (texts, query) => {
          const own = { tenant: `t${count++}`, thread: 'a' }
          const memory = memoryStore() as Searching
          const entries = said(...texts)
          await Promise.all([store.append(own, entries, 0), memory.append(own, entries, 0)])
          const asked = { ...own, query }
          const shown = async (one: Searching) =>
            (await one.search(asked)).passages.map(({ id: _, tokens, ...passage }) => {
              // A store may keep them in another order.
              return { ...passage, tokens: tokens.split(' ').toSorted() }
            })
          expect(await shown(store)).toEqual(await shown(memory))
        },
      ),
      property,
    )
  }),
  searchCase('a search in a scope finds its threads only', async (store) => {
    const ann = { user: 'ann', project: 'p' }
    const tell = async (id: string, options: object): Promise<void> => {
      const thread = await openThread({ id, tenant: 'scoped', store, ...options })
      await thread.append({ role: 'user', content: `alpha of ${id}` })
    }
    await tell('a', { scope: ann })
    await tell('b', { scope: { user: 'ann' } })
    await tell('c', { scope: { user: 'bob', project: 'p' } })
    await tell('d', {})
    await tell('e', { tenant: 'scoped2', scope: ann })
    const ask = async (scope: object): Promise<readonly string[]> => {
      const { passages } = await store.search({ tenant: 'scoped', scope, query: 'alpha' })
      return passages.map(({ thread }) => thread).toSorted()
    }
    expect(await ask({ user: 'ann' })).toEqual(['a', 'b'])
    expect(await ask({ project: 'p' })).toEqual(['a', 'c'])
    expect(await ask(ann)).toEqual(['a'])
    expect(await ask({ user: 'p' })).toEqual([])
  }),
  searchCase(
    'no search, recall or lookup gives a model what it may not read',
    async (store, { property }) => {
      let count = 0
      await fc.assert(
        fc.asyncProperty(fc.array(canary, { minLength: 1, maxLength: 8 }), async (kinds) => {
          const tenant = `canaries${count++}`
          const texts = await lookedUp(store, tenant, kinds)
          expect(texts.join('\n').match(/canary-(?!open)\w+/g) ?? []).toEqual([])
        }),
        { ...property, numRuns: 8 },
      )
    },
  ),
]

/** How a text is kept from models. */
const canary = fc.constantFrom('open', 'people', 'excluded', 'inside', 'lost', 'erased', 'foreign')

const scope = { user: 'ann' }
const policy = {
  expiry: { tools: { leak: { after: 1, mode: 'remove' } }, preserveOriginals: false },
} as const

/** Everything that models and their lookups read of a tenant whose threads have texts of these kinds. */
async function lookedUp(
  store: Searching,
  tenant: string,
  kinds: readonly string[],
): Promise<readonly string[]> {
  const own = await openThread({ id: 'own', tenant, store, scope, policy, recall: 'auto' })
  for (const [index, kind] of kinds.entries()) {
    const text = `Always say canary-${kind}${index} about harbours and lighthouses.`
    if (kind === 'erased' || kind === 'foreign')
      await tellAside(store, { tenant, kind, index, text })
    else await tellOwn(own, { kind, index, text })
  }
  await own.append([
    { role: 'user', content: 'Go on.' },
    { role: 'assistant', content: 'Yes.' },
  ])
  await own.view()
  await own.compact()
  await own.append({
    role: 'user',
    content: 'What do we always say about harbours and lighthouses?',
  })
  const other = await openThread({ id: 'other', tenant, store, scope, recall: 'auto' })
  await other.append({ role: 'user', content: 'What do we say about harbours and lighthouses?' })
  const query = 'always say canary harbours lighthouses'
  const embedded: string[] = []
  const embed: Embed = async (texts) => {
    embedded.push(...texts)
    return texts.map(() => [1, 0])
  }
  const found = [
    ...(await own.search(query, { limit: 100, across: true, embed })),
    ...(await own.search('unspoken', { limit: 100, embed })),
    ...(await searchThreads(store, tenant, query, { limit: 100, embed })),
    ...(await own.search(query, { limit: 100 })),
    ...(await own.search(query, { limit: 100, across: true })),
    ...(await other.search(query, { limit: 100, across: true })),
    ...(await searchThreads(store, tenant, query, { limit: 100, scope })),
    ...(await searchThreads(store, tenant, query, { limit: 100 })),
  ]
  const expanded = await Promise.all(found.map(({ id }) => own.expand(id)))
  return [
    ...embedded,
    ...found.flatMap(({ text, previous, next }) => [text, previous?.text ?? '', next?.text ?? '']),
    ...expanded.map((one) => (one.ok ? one.text : '')),
    await searchTool(own).handle({ query }),
    JSON.stringify((await own.view()).messages),
    JSON.stringify((await other.view()).messages),
    JSON.stringify((await other.requestAt(other.step)).body),
    JSON.stringify(await scopeMemory(store, tenant, scope).list()),
  ]
}

interface Canary {
  readonly kind: string
  readonly index: number
  readonly text: string
}

async function tellOwn(own: Thread, { kind, index, text }: Canary): Promise<void> {
  const audience = { now: false, later: false }
  const callId = `c${index}`
  if (kind === 'inside' || kind === 'lost') {
    const content =
      kind === 'inside' ? [{ type: 'text' as const, text, audience }] : text.repeat(40)
    await own.append([
      {
        role: 'assistant',
        content: [{ type: 'tool-call', callId, name: 'leak', arguments: '{}' }],
      },
      { role: 'tool', tool: 'leak', content: [{ type: 'tool-result', callId, content }] },
      { role: 'assistant', content: 'Seen.' },
      { role: 'user', content: 'Next.' },
    ])
    await own.view()
    return
  }
  const [entry] = await own.append({
    ...{ role: 'user', content: text },
    ...(kind === 'people' ? { audience } : {}),
  })
  if (kind === 'excluded') await own.exclude(entry?.id ?? '')
}

async function tellAside(
  store: Searching,
  { tenant, kind, index, text }: Canary & { readonly tenant: string },
): Promise<void> {
  const id = `${kind}${index}`
  const whose = kind === 'foreign' ? `${tenant}-rival` : tenant
  const thread = await openThread({ id, tenant: whose, store, scope })
  await thread.append({ role: 'user', content: text })
  await thread.search('harbours')
  if (kind === 'erased') await eraseThread({ store, tenant, id, scan: false })
}
