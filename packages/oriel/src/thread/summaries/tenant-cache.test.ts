import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../stores/memory/index.ts'
import type { Store } from '../../stores/store.ts'
import { eraseThread } from '../erase.ts'
import { openThread, type Thread } from '../thread.ts'
import type { Summarize } from './answer.ts'

const long = 'A long report about the harbour, its cranes and its ships. '.repeat(60)

const messages = (text = long): readonly object[] => [
  { role: 'user', content: 'go' },
  ...['a', 'b'].flatMap((id) => [
    {
      role: 'assistant',
      content: 'working',
      tool_calls: [{ id, type: 'function', function: { name: 'look', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: id, content: id === 'a' ? text : 'short' },
  ]),
  { role: 'assistant', content: 'done' },
]

/** A model that numbers its answers, so that a second call is seen. */
function counting(): { readonly summarize: Summarize; readonly calls: () => number } {
  let calls = 0
  return { summarize: async () => `Summary number ${++calls}.`, calls: () => calls }
}

const compacted = {
  expiry: { tools: { '*': { after: 1, mode: 'compact', compact: 'summary' } } },
} as const
const waiting = { ...compacted, schedule: 'immediate' } as const

interface Around {
  readonly store: Store
  readonly id: string
  readonly summarize: Summarize
  readonly tenant?: string
}

async function viewed({
  policy = waiting,
  text,
  ...around
}: Around & {
  readonly policy?: object
  readonly text?: string
}): Promise<{ readonly thread: Thread; readonly shown: string }> {
  const thread = await openThread({ ...around, policy })
  await thread.append(messages(text), { format: 'openai-chat' })
  const shown = JSON.stringify((await thread.view()).messages)
  await thread.settled()
  return { thread, shown }
}

const kept = async (store: Store, tenant = 'default'): Promise<number> =>
  (await store.values?.list({ tenant, space: 'summaries' }))?.length ?? 0

describe('summaries of a tenant', () => {
  it('[M16] a model is asked once for the same content, in whichever thread it is', async () => {
    const store = memoryStore()
    const { summarize, calls } = counting()
    const one = await viewed({ store, id: 'one', summarize })
    const two = await viewed({ store, id: 'two', summarize })
    expect(calls()).toBe(1)
    for (const { shown } of [one, two]) expect(shown).toContain('Summary number 1.')
  })

  it('[M16] another content, another prompt or another tenant is another summary', async () => {
    const store = memoryStore()
    const { summarize, calls } = counting()
    await viewed({ store, id: 'one', summarize })
    await viewed({ store, id: 'two', summarize, text: `${long}!` })
    await viewed({ store, id: 'three', summarize, tenant: 'other' })
    const longer = { '*': { after: 1, mode: 'compact', compact: 'summary', length: 300 } }
    await viewed({
      store,
      id: 'four',
      summarize,
      policy: { ...waiting, expiry: { tools: longer } },
    })
    expect(calls()).toBe(4)
    expect([await kept(store), await kept(store, 'other')]).toEqual([3, 1])
  })

  it('[M16] a schedule that never waits shares what its jobs made', async () => {
    const store = memoryStore()
    const { summarize, calls } = counting()
    const policy = { ...compacted, schedule: 'cache-aware' }
    await viewed({ store, id: 'one', summarize, policy })
    await viewed({ store, id: 'two', summarize, policy })
    expect(calls()).toBe(1)
  })

  it('[M16] erasing the last thread that has the content erases its summary', async () => {
    const store = memoryStore()
    const { summarize, calls } = counting()
    await viewed({ store, id: 'one', summarize })
    await viewed({ store, id: 'two', summarize })
    await eraseThread({ store, id: 'one' })
    expect(await kept(store)).toBe(1)
    await eraseThread({ store, id: 'two' })
    expect(await kept(store)).toBe(0)
    await viewed({ store, id: 'three', summarize })
    expect(calls()).toBe(2)
  })

  it('[M16] a store whose values fail asks the model again', async () => {
    const store = memoryStore()
    const values = store.values
    const failing = new Proxy(store, {
      get(target, name) {
        if (name === 'values') {
          return { ...values, get: () => Promise.reject(new Error('away')) }
        }
        const value: unknown = Reflect.get(target, name, target)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    const { summarize, calls } = counting()
    const one = await viewed({ store: failing, id: 'one', summarize })
    const two = await viewed({ store: failing, id: 'two', summarize })
    expect(calls()).toBe(2)
    expect([one.shown, two.shown]).toEqual([
      expect.stringContaining('number 1.'),
      expect.stringContaining('number 2.'),
    ])
  })
})
