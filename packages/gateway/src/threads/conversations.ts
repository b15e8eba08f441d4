// Conversations with a name that clients make here and add to: which thread each of them is, and where it continues.

import { randomBytes, randomUUID } from 'node:crypto'
import type { Json, JsonObject, Store } from 'oriel'
import { isObject } from '../call/rewrite.ts'
import { type RefusedError, refuse } from '../http/errors.ts'
import { type ChainLink, linkIn } from './response-chain.ts'

export interface NamedConversation {
  readonly id: string
  /** Seconds since the epoch. */
  readonly createdAt: number
  readonly metadata: JsonObject
  /** The thread that it begins in. */
  readonly thread: string
  /** Where it continues; undefined while nothing was said. */
  readonly link?: ChainLink | undefined
}

const space = 'conversations'

/**
 * They are in the store alone, and read for each request: unlike an answer's place, that of a conversation moves, and other processes move
 * it too.
 */
export class Conversations {
  readonly #store: Store
  readonly #now: () => number

  constructor(store: Store, now: () => number) {
    this.#store = store
    this.#now = now
  }

  /** Whether the store can keep them. */
  get isKept(): boolean {
    return this.#store.values !== undefined
  }

  /** A conversation that this gateway made for that tenant. */
  async find(tenant: string, id: string): Promise<NamedConversation | undefined> {
    if (!/^\w{1,100}$/.test(id)) return undefined
    return read(id, await this.#store.values?.get({ tenant, space, name: id }))
  }

  /** A new one, which nobody can find before it is put. */
  create(prefix: string, metadata: JsonObject): NamedConversation {
    const id = prefix + randomBytes(24).toString('hex')
    const createdAt = Math.floor(this.#now() / 1000)
    return { id, createdAt, metadata, thread: randomUUID() }
  }

  async put(tenant: string, conversation: NamedConversation): Promise<void> {
    const { id } = conversation
    await this.#store.values?.put({ tenant, space, name: id }, write(conversation))
  }

  /** Changes a conversation as it stands now. One that was deleted stays so: then the answer is undefined. */
  async change(
    tenant: string,
    id: string,
    changed: Partial<Pick<NamedConversation, 'metadata' | 'link'>>,
  ): Promise<NamedConversation | undefined> {
    const after = await this.#store.values?.update({ tenant, space, name: id }, (before) => {
      const known = read(id, before)
      return known === undefined ? before : write({ ...known, ...changed })
    })
    return read(id, after)
  }

  /** Forgets the name. The thread stays. */
  async delete(tenant: string, id: string): Promise<void> {
    await this.#store.values?.put({ tenant, space, name: id }, undefined)
  }
}

/** The refusal for a conversation that is not there, or not any more. */
export function noConversation(id: string): RefusedError {
  return refuse(404, 'not-found', `Conversation with id '${id}' not found.`)
}

function write({ createdAt, metadata, thread, link }: NamedConversation): Json {
  const at = link && { thread: link.thread, seq: link.seq, messages: link.messages }
  return { createdAt, metadata, thread, ...(at && { link: at }) }
}

function read(id: string, value: Json | undefined): NamedConversation | undefined {
  if (!isObject(value)) return undefined
  const { createdAt, metadata, thread } = value
  if (typeof createdAt !== 'number' || typeof thread !== 'string' || !isObject(metadata))
    return undefined
  return { id, createdAt, metadata, thread, link: linkIn(value.link) }
}
