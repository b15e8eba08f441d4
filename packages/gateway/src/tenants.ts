// Which tenants have threads, for those who may see all of them.

import type { Store } from 'oriel'
import { KeyLog } from './key-log.ts'

export class Tenants {
  readonly #log: KeyLog
  readonly #known = new Set<string>()

  constructor(store: Store) {
    this.#log = new KeyLog(store, { tenant: 'index:', thread: 'tenants' }, ({ tenant }) => {
      this.#known.add(String(tenant))
    })
  }

  /** Remembers a tenant. Never fails: it is only for finding things. */
  note(tenant: string, at: number): void {
    if (this.#known.has(tenant)) return
    this.#known.add(tenant)
    this.#add(tenant, at).catch(() => this.#known.delete(tenant))
  }

  async #add(tenant: string, at: number): Promise<void> {
    this.#known.delete(tenant)
    await this.#log.refresh()
    if (this.#known.has(tenant)) return
    this.#known.add(tenant)
    await this.#log.add({ tenant }, at)
  }

  async all(): Promise<readonly string[]> {
    await this.#log.refresh()
    return [...this.#known]
  }
}
