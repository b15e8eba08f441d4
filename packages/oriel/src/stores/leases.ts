// Leases among the users of one store object, for stores that live in one process.

import type { Lease, LeaseOptions, ThreadKey } from './store.ts'

export class LocalLeases {
  readonly #held = new Map<string, { until: number }>()

  take(key: ThreadKey, { name, ttlMs }: LeaseOptions): Lease | undefined {
    const id = JSON.stringify([key.tenant, key.thread, name])
    const now = performance.now()
    const holder = this.#held.get(id)
    if (holder !== undefined && holder.until > now) return undefined
    const own = { until: now + ttlMs }
    this.#held.set(id, own)
    return {
      renew: async () => {
        const isHeld = this.#held.get(id) === own
        if (isHeld) own.until = performance.now() + ttlMs
        return isHeld
      },
      release: async () => {
        if (this.#held.get(id) === own) this.#held.delete(id)
      },
    }
  }
}
