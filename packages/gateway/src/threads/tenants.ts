// Which tenants have threads, for those who may see all of them.

import type { Store } from 'oriel'
import type { Background } from '../background.ts'
import { FactLog } from './fact-log.ts'

/** Logs of the gateway's own, beside those of its callers. */
const own = 'index:'
/** Tenants that are listed, and how many are read at once. */
const maxTenants = 10_000
const pageSize = 500

export class Tenants {
  readonly #store: Store
  readonly #log: FactLog
  readonly #known = new Set<string>()
  readonly #background: Background

  constructor(store: Store, background: Background) {
    this.#store = store
    this.#background = background
    this.#log = new FactLog(store, { tenant: own, thread: 'tenants' }, ({ tenant }) => {
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

  /** Those that came through the gateway, and those that the store has: an import, or a program of its own. */
  async all(): Promise<readonly string[]> {
    await this.#log.refresh()
    return [...new Set([...this.#known, ...(await this.#stored())])]
  }

  async #stored(): Promise<readonly string[]> {
    const found: string[] = []
    while (found.length < maxTenants) {
      const after = found.at(-1)
      const page = await this.#store.tenants?.({
        limit: pageSize,
        ...(after === undefined ? {} : { after }),
      })
      found.push(...(page ?? []))
      if (page === undefined || page.length < pageSize) break
    }
    return found.filter((tenant) => !tenant.startsWith(own))
  }
}
