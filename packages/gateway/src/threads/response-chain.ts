// Where each answer stands that a provider keeps under an id: a client that continues from it sends only what is new, and the rest is in the
// log of its thread.

import { LRUCache } from 'lru-cache'
import type { Json, Store } from 'oriel'
import type { Background } from '../background.ts'
import { isObject } from '../call/rewrite.ts'

/** The place of an answer in its conversation. */
export interface ChainLink {
  /** The branch that has it. */
  readonly thread: string
  /** The entry that ends it. */
  readonly seq: number
  /** Messages that the branch has with it. */
  readonly messages: number
}

/** Answers that are remembered in memory; the others are read from the store. */
const maxLinks = 50_000
const space = 'responses'

export class ResponseChain {
  readonly #store: Store
  readonly #background: Background
  readonly #links = new LRUCache<string, ChainLink>({ max: maxLinks })

  constructor(store: Store, background: Background) {
    this.#store = store
    this.#background = background
  }

  /** Where an answer stands; undefined for one that this gateway did not give to that tenant. */
  async find(tenant: string, id: string): Promise<ChainLink | undefined> {
    const known = this.#links.get(keyOf(tenant, id))
    if (known !== undefined || !isStorable(id)) return known
    return linkIn(await this.#store.values?.get({ tenant, space, name: id }))
  }

  /** Remembers an answer at once, and in the store soon after. */
  note(tenant: string, id: string, link: ChainLink): void {
    if (!isStorable(id)) return
    this.#links.set(keyOf(tenant, id), link)
    const value = { thread: link.thread, seq: link.seq, messages: link.messages }
    this.#background.run('thread-index', async () => {
      await this.#store.values?.put({ tenant, space, name: id }, value)
    })
  }

  /** Where the answer stands that has a compaction, by its key. */
  findCompaction(tenant: string, key: string): Promise<ChainLink | undefined> {
    return this.find(tenant, compactionName(key))
  }

  noteCompaction(tenant: string, key: string, link: ChainLink): void {
    this.note(tenant, compactionName(key), link)
  }

  /** Forgets the answers of a thread that was erased. In the store they name a thread that is empty. */
  forget(tenant: string, thread: string): void {
    for (const [key, link] of [...this.#links.entries()]) {
      if (link.thread === thread && key.startsWith(keyOf(tenant, ''))) this.#links.delete(key)
    }
  }
}

/** No id of a provider has this form. */
function compactionName(key: string): string {
  return `compaction:${key}`
}

function keyOf(tenant: string, id: string): string {
  return `${tenant}\0${id}`
}

/** Ids are the upstream's words. */
function isStorable(id: string): boolean {
  return /^[\w.:~-]{1,200}$/.test(id)
}

function linkIn(value: Json | undefined): ChainLink | undefined {
  if (!isObject(value)) return undefined
  const { thread, seq, messages } = value
  const isLink =
    typeof thread === 'string' && typeof seq === 'number' && typeof messages === 'number'
  return isLink ? { thread, seq, messages } : undefined
}
