// Tells live pages that a thread changed, whichever process on the store changed it.

import type { Store, StoreChange, Watch } from 'oriel'
import type { Background } from '../background.ts'
import type { EventBus } from './event-bus.ts'

/** Logs of the gateway's own, beside those of its callers. */
const ownTenants = 'index:'

export class StoreWatcher {
  readonly #store: Store
  readonly #hub: EventBus
  readonly #background: Background
  #watch: Watch | undefined
  #isClosed = false

  constructor(store: Store, hub: EventBus, background: Background) {
    this.#store = store
    this.#hub = hub
    this.#background = background
  }

  /** Listens to the store, if it can tell. Where that fails, pages still hear of what this process does. */
  async open(): Promise<void> {
    const hear = (change: StoreChange): void => {
      if (change.type === 'missed' || change.tenant.startsWith(ownTenants)) return
      const { tenant, thread, version } = change
      this.#hub.publish({ tenant, type: 'thread-changed', data: { thread, version } })
    }
    const watch = await this.#store.watch?.((change) =>
      this.#background.callback('changes', () => hear(change))(),
    )
    // It may take until the gateway is closed.
    if (this.#isClosed) await watch?.close()
    else this.#watch = watch
  }

  /** A change that this process made: told here only where the store does not tell. */
  tell(tenant: string, thread: string): void {
    if (this.#watch !== undefined) return
    this.#hub.publish({ tenant, type: 'thread-changed', data: { thread } })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#watch?.close()
  }
}
