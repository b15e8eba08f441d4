import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openThread } from 'oriel'
import { describeStore } from 'oriel/testing'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { libsqlStore } from './libsql.ts'

let directory = ''
const url = (): string => `file:${join(directory, 'store.db')}`

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'oriel-libsql-'))
})
afterEach(() => rmSync(directory, { recursive: true }))

describe('[LB1] a backend that the guide writes', () => {
  // [suite]
  describeStore('libsql', async () => {
    let store = libsqlStore(url())
    return {
      store,
      reopen: async () => {
        await store.close()
        store = libsqlStore(url())
        return store
      },
      cleanup: () => store.close(),
    }
  })
  // [/suite]

  it('[LB1] keeps a thread, which another process goes on with', async () => {
    const store = libsqlStore(url())
    const thread = await openThread({ id: 'order-42', store })
    await thread.append([{ role: 'user', content: 'Where is order 42?' }])
    const other = libsqlStore(url())
    const again = await openThread({ id: 'order-42', store: other })
    await again.append([{ role: 'assistant', content: 'On its way.' }])
    const { messages } = await again.view()
    expect(messages).toEqual([
      { role: 'user', content: 'Where is order 42?' },
      { role: 'assistant', content: 'On its way.' },
    ])
    for (const one of [store, other]) await one.close()
  })
})
