// Which tenants have threads, for those who may see all of them.

import type { Store } from 'oriel'
import type { Background } from '../background.ts'
import { FactLog } from './fact-log.ts'

export class Tenants {
  readonly #log: FactLog
  readonly #known = new Set<string>()
  readonly #background: Background

  constructor(store: Store, background: Background) {
    this.#background = background
    this.#log = new FactLog(store, { tenant: 'index:', thread: 'tenants' }, ({ tenant }) => {
      this.#known.add(String(tenant))
    })
  }

  /** Remembers a tenant. Never fails: it is only for finding things. */
  note(tenant: string, at: number): void {
    if (this.#known.has(tenant)) return
    this.#known.add(tenant)
    this.#background.run('tenants', () => this.#add(tenant, at))
  }

  async #add(tenant: string, at: number): Promise<void> {
    // Whether the store has it is known after reading; one that could not be written is noted again by the next call.
    this.#known.delete(tenant)
    await this.#log.refresh()
    if (this.#known.has(tenant)) return
    this.#known.add(tenant)
    try {
      await this.#log.add({ tenant }, at)
    } catch (error) {
      this.#known.delete(tenant)
      throw error
    }
  }

  async all(): Promise<readonly string[]> {
    await this.#log.refresh()
    return [...this.#known]
  }
}
