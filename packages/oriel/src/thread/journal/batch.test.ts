import { describe, expect, it } from 'vitest'
import type { Entry } from '../../core/log/entry.ts'
import { Setting } from '../../core/log/settings.ts'
import type { State } from '../../core/state/state.ts'
import { memoryStore } from '../../stores/memory/index.ts'
import { openThread } from '../thread.ts'
import { Journal, type Stamp } from './journal.ts'

const key = { tenant: 'default', thread: 't' }

const open = (store = memoryStore()): Promise<Journal> =>
  Journal.open({ store, key, tokens: undefined, now: () => 1 })

const numberNamed = (name: string): Setting<number> =>
  new Setting(name, (value): value is number => typeof value === 'number')

const named =
  (...names: readonly string[]) =>
  (_: State, stamp: Stamp): readonly Entry[] =>
    names.map((name) => stamp.entry(numberNamed(name).body(1)))

/** Names of the settings in the store, behind the header. */
async function stored({ store }: Pick<Journal, 'store'>): Promise<readonly string[]> {
  const names: string[] = []
  for await (const entry of store.read(key)) if (entry.type === 'setting') names.push(entry.name)
  return names.slice(1)
}

describe('a batch', () => {
  it('[T40] is in the state at once, and in the store when it is committed, in one append', async () => {
    const journal = await open()
    const batch = await journal.begin()
    batch.add(named('a'))
    expect([journal.setting(numberNamed('a')), batch.isEmpty]).toEqual([1, false])
    expect(await stored(journal)).toEqual([])
    await batch.commit(named('b'))
    expect(await stored(journal)).toEqual(['a', 'b'])
    await journal.commit(named('c'))
    expect([await stored(journal), journal.state.version]).toEqual([['a', 'b', 'c'], 4])
  })

  it('[T40] that is dropped was never there, for a new log and for an old one', async () => {
    for (const before of [[], ['old']]) {
      const journal = await open()
      if (before.length > 0) await journal.commit(named(...before))
      const batch = await journal.begin()
      batch.add(named('a'))
      batch.drop()
      await journal.ready()
      expect([journal.setting(numberNamed('a')), await stored(journal)]).toEqual([
        undefined,
        before,
      ])
      await journal.commit(named('b'))
      expect(await stored(journal)).toEqual([...before, 'b'])
    }
  })

  it('[T40] takes along what is committed while it is open', async () => {
    const journal = await open()
    const written: string[] = []
    const batch = await journal.begin(() => written.push('batch'))
    batch.add(named('a'))
    await journal.commit(named('b'))
    expect([await stored(journal), written]).toEqual([['a', 'b'], ['batch']])
    batch.drop()
    await journal.commit(named('c'))
    expect([await stored(journal), written]).toEqual([['a', 'b', 'c'], ['batch']])
  })

  it('[T40] is lost where another writer was first, and leaves the log as that one left it', async () => {
    const journal = await open()
    await journal.commit(named('old'))
    const other = await open(journal.store)
    const batch = await journal.begin()
    batch.add(named('a'))
    await other.commit(named('other'))
    await expect(journal.commit(named('b'))).rejects.toMatchObject({ code: 'version-conflict' })
    expect(batch.isLost).toBe(true)
    await journal.refresh()
    const known = ['a', 'other'].map((name) => journal.setting(numberNamed(name)))
    expect(known).toEqual([undefined, 1])
    // A batch of one is made again.
    await other.commit(named('more'))
    await journal.commit(named('c'))
    expect(await stored(journal)).toEqual(['old', 'other', 'more', 'c'])
  })

  it('[T40] an answer and its numbers stay one append beside another writer', async () => {
    const store = memoryStore()
    const [here, there] = [
      await openThread({ id: 't', store }),
      await openThread({ id: 't', store }),
    ]
    const { view } = await here.request([{ role: 'user', content: 'one' }])
    await there.append({ role: 'user', content: 'from there' })
    const usage = { sample: { prompt_tokens: 1, completion_tokens: 1 }, view: view.id }
    await here.append({ role: 'assistant', content: 'a' }, { usage })
    const log = await here.log()
    expect(log.slice(-3).map(({ type }) => type)).toEqual(['message', 'message', 'usage'])
    const [answer, numbers] = log.slice(-2)
    expect(answer?.by).toBe(numbers?.by)
  })
})
