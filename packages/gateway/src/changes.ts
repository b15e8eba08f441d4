// Tells live pages that a thread changed, whichever process on the store changed it.

import type { Store, Watch } from 'oriel'
import type { Hub } from './hub.ts'

/** Logs of the gateway's own, beside those of its callers. */
const ownTenants = 'index:'

export class Changes {
  readonly #store: Store
  readonly #hub: Hub
  #watch: Watch | undefined

  constructor(store: Store, hub: Hub) {
    this.#store = store
    this.#hub = hub
  }

  /** Listens to the store, if it can tell. Where that fails, pages still hear of what this process does. */
  async open(): Promise<void> {
    this.#watch = await this.#store
      .watch?.((change) => {
        if (change.type === 'missed' || change.tenant.startsWith(ownTenants)) return
        const { tenant, thread, version } = change
        this.#hub.tell({ tenant, type: 'thread-changed', data: { thread, version } })
      })
      .catch(() => undefined)
  }

  /** A change that this process made: told here only where the store does not tell. */
  tell(tenant: string, thread: string): void {
    if (this.#watch !== undefined) return
    this.#hub.tell({ tenant, type: 'thread-changed', data: { thread } })
  }

  async close(): Promise<void> {
    await this.#watch?.close()
  }
}
