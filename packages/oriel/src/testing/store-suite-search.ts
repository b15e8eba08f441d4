// Cases: ranked search. Every store finds and ranks as the one in memory.

import fc from 'fast-check'
import { expect } from 'vitest'
import type { Entry } from '../core/log/entry.ts'
import { memoryStore } from '../stores/memory/index.ts'
import type { Store, StoreQuery } from '../stores/store.ts'
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
            (await one.search(asked)).passages.map(({ id: _, ...passage }) => passage)
          expect(await shown(store)).toEqual(await shown(memory))
        },
      ),
      property,
    )
  }),
]
