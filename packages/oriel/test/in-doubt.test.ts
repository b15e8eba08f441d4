// An append that failed with an open outcome may be in the log all the same. Who asks again is answered only when it is there for good.

import { describe, expect, it } from 'vitest'
import { OrielError } from '../src/core/log/errors.ts'
import type { AppendBatch } from '../src/stores/backend.ts'
import { createStore } from '../src/stores/create-store.ts'
import { MemoryBackend } from '../src/stores/memory/backend.ts'
import type { ThreadKey } from '../src/stores/store.ts'
import { key, messages, readAll } from '../src/testing/store-suite-data.ts'
import { openThread } from '../src/thread/thread.ts'

/** A backend that writes an append and then fails, as where the disk refuses to sync. */
class Unsynced extends MemoryBackend {
  failsAfterWriting = false
  isDurable = true
  confirmed = 0

  override async append(batch: AppendBatch): Promise<boolean> {
    const isWritten = await super.append(batch)
    if (this.failsAfterWriting) throw new OrielError('storage-failed', 'The disk did not sync.')
    return isWritten
  }

  async confirm(_key: ThreadKey): Promise<void> {
    if (!this.isDurable) throw new OrielError('storage-failed', 'The disk still does not sync.')
    this.confirmed += 1
  }
}

function failing(): Unsynced {
  const backend = new Unsynced()
  backend.failsAfterWriting = true
  backend.isDurable = false
  return backend
}

const failed = expect.objectContaining({ code: 'storage-failed' })

describe('an append that failed after it was written', () => {
  it('[SQ7] of a store is acknowledged when it is repeated, but only after the backend has confirmed it', async () => {
    const backend = failing()
    const store = createStore(backend)
    await expect(store.append(key, messages(1, 2), 0)).rejects.toEqual(failed)
    await expect(store.append(key, messages(1, 2), 0)).rejects.toEqual(failed)
    await expect(store.append(key, [], 2)).rejects.toEqual(failed)
    // It can be read meanwhile: an export must be possible.
    expect(await readAll(store, key)).toEqual(messages(1, 2))
    backend.isDurable = true
    expect((await store.append(key, messages(1, 2), 0)).version).toBe(2)
    expect(backend.confirmed).toBe(1)
  })

  it('[SQ7] of a thread: a message whose id is there already counts only then', async () => {
    const backend = failing()
    const store = createStore(backend)
    const thread = await openThread({ id: 'chat', store })
    const said = [{ id: 'm1', role: 'user' as const, content: 'Remember this.' }]
    await expect(thread.append(said)).rejects.toEqual(failed)
    await expect(thread.append(said)).rejects.toEqual(failed)
    backend.isDurable = true
    expect(await thread.append(said)).toEqual([])
    expect(backend.confirmed).toBe(1)
    // Once confirmed, nothing asks the backend again.
    expect(await thread.append(said)).toEqual([])
    expect(backend.confirmed).toBe(1)
  })

  it('[SQ7] needs no confirmation of its own where a later append was acknowledged', async () => {
    const backend = failing()
    const thread = await openThread({ id: 'chat', store: createStore(backend) })
    const said = [{ id: 'm1', role: 'user' as const, content: 'Remember this.' }]
    await expect(thread.append(said)).rejects.toEqual(failed)
    backend.failsAfterWriting = false
    await thread.append([{ id: 'm2', role: 'user', content: 'And this.' }])
    expect(await thread.append(said)).toEqual([])
    expect(backend.confirmed).toBe(0)
  })
})
