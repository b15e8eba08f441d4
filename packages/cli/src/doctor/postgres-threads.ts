// Threads of a PostgreSQL store, for the commands that read all of it.

import { type Entry, postgresStore, type Store, type ThreadState } from 'oriel'
import { type Choice, isChosen } from './store-options.ts'

/** Facts about a thread that the commands need. */
export type ThreadFacts = Pick<ThreadState, 'key' | 'salt' | 'version' | 'bytes'>

/** Lists and reads threads, from a file or a server. */
export interface Threads {
  threads(choice: Choice): Iterable<ThreadFacts> | AsyncIterable<ThreadFacts>
  entries(thread: ThreadFacts, last: number): Iterable<Entry> | AsyncIterable<Entry>
}

export class StoreServer implements Threads {
  readonly store: Store

  constructor(url: string) {
    this.store = postgresStore(url)
  }

  /** All threads that are not erased, tenant by tenant. */
  async *threads(choice: Choice): AsyncGenerator<ThreadFacts> {
    for await (const tenant of this.#tenants(choice)) {
      for (let after = ''; ; ) {
        const page = await this.store.list(tenant, after === '' ? {} : { after })
        for (const { thread, version, bytes } of page) {
          const key = { tenant, thread }
          if (isChosen(choice, key)) yield { key, salt: '', version, bytes }
        }
        const last = page.at(-1)
        if (last === undefined) break
        after = last.thread
      }
    }
  }

  entries({ key }: ThreadFacts, last: number): AsyncIterable<Entry> {
    return this.store.read(key, { to: last })
  }

  close(): Promise<void> {
    return this.store.close()
  }

  async *#tenants({ tenant }: Choice): AsyncGenerator<string> {
    if (tenant !== undefined) {
      yield tenant
      return
    }
    for (let after = ''; ; ) {
      const page = (await this.store.tenants?.(after === '' ? {} : { after })) ?? []
      yield* page
      const last = page.at(-1)
      if (last === undefined) return
      after = last
    }
  }
}
