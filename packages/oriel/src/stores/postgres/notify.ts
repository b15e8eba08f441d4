// Changes told from process to process by NOTIFY, with ids only. LISTEN needs a connection of its own, which no pooler may share.

import { hash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { isObject } from '../../core/log/json.ts'
import type { StoreChange, ThreadKey, Watch, WatchListener } from '../store.ts'
import { Watchers } from '../watchers.ts'
import type { PostgresConnections } from './connections.ts'
import type { PostgresClient } from './driver.ts'
import type { PostgresSql } from './sql.ts'

/**
 * NOTIFY takes one lock for the whole server until its transaction is on disk, so that appends which carried it would wait for each
 * other. It is sent apart from them, at most once in this time, for all that changed meanwhile.
 */
const gatherMs = 20

/** PostgreSQL takes 8000 bytes at once. */
const maxPayloadBytes = 7900

const maxPauseMs = 5000

export interface ChannelSettings {
  readonly schema: string
  readonly sql: PostgresSql
  /** For statements. */
  readonly connections: PostgresConnections
  /** For LISTEN: the same, or one that leads around a pooler. */
  readonly direct: PostgresConnections
}

export class PostgresChannel {
  readonly #settings: ChannelSettings
  readonly #name: string
  readonly #watchers = new Watchers()
  readonly #changed = new Map<string, readonly [string, string, number]>()
  #timer: NodeJS.Timeout | undefined
  #sending: Promise<void> = Promise.resolve()
  #listening: Promise<Listening> | undefined
  #isClosed = false

  constructor(settings: ChannelSettings) {
    this.#settings = settings
    // A channel's name has 63 bytes at most; a hash keeps long names of schemas apart.
    this.#name = `oriel_${hash('sha256', settings.schema).slice(0, 16)}`
  }

  /** Tells every process, a moment later, that a thread changed. */
  tell({ tenant, thread }: ThreadKey, version: number): void {
    this.#changed.set(JSON.stringify([tenant, thread]), [tenant, thread, version])
    this.#timer ??= setTimeout(() => this.#send(), gatherMs)
  }

  /** Listens, from when this resolves. */
  async watch(listener: WatchListener): Promise<Watch> {
    const watch = this.#watchers.add(listener, () => this.#maybeStop())
    try {
      this.#listening ??= this.#listen()
      await this.#listening
      return watch
    } catch (error) {
      this.#listening = undefined
      await watch.close()
      throw error
    }
  }

  /** Sends what is left, and ends listening. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#watchers.clear()
    if (this.#timer !== undefined) this.#send()
    await this.#sending
    await this.#maybeStop()
  }

  #send(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const payloads = payloadsOf([...this.#changed.values()])
    this.#changed.clear()
    const { connections, sql } = this.#settings
    this.#sending = this.#sending
      .then(() => connections.query(sql.notify, [this.#name, payloads]))
      // The entries are durable and acknowledged. A page that is open elsewhere shows them with the next change.
      .then(
        () => undefined,
        () => undefined,
      )
  }

  async #listen(): Promise<Listening> {
    // A server that is going away may accept a connection and never answer: the next attempt must not wait for this one.
    const client = await this.#settings.direct.take({ timeoutMs: maxPauseMs })
    const listening: Listening = { client, isOver: false }
    let isEstablished = false
    // Before that, whoever called tries again.
    const lost = (): void => {
      if (isEstablished) this.#lost(listening)
    }
    client.on('error', lost)
    client.on('end', lost)
    client.on('notification', (message) => {
      for (const change of changesIn(message.payload)) this.#watchers.tell(change)
    })
    try {
      await client.query({ text: `listen ${this.#name}`, query_timeout: maxPauseMs })
      isEstablished = true
      return listening
    } catch (error) {
      end(listening)
      throw error
    }
  }

  /** Listens again, however long it takes, as long as somebody wants to hear. */
  #lost(listening: Listening): void {
    if (listening.isOver) return
    end(listening)
    this.#listening = this.#again()
    // Whoever waits for it hears of the error; nobody has to.
    this.#listening.catch(() => undefined)
  }

  async #again(): Promise<Listening> {
    for (let pause = 50; ; pause = Math.min(pause * 2, maxPauseMs)) {
      await delay(pause, undefined, { ref: false })
      if (this.#isClosed || this.#watchers.count === 0) throw new Error('Nobody listens.')
      try {
        const listening = await this.#listen()
        this.#watchers.tell({ type: 'missed' })
        return listening
      } catch {
        // The server is still unreachable: the next attempt comes later.
      }
    }
  }

  async #maybeStop(): Promise<void> {
    if (this.#watchers.count > 0) return
    const listening = this.#listening
    this.#listening = undefined
    const current = await listening?.catch(() => undefined)
    if (current !== undefined) end(current)
  }
}

interface Listening {
  readonly client: PostgresClient
  isOver: boolean
}

/** The connection is closed, not given back: it still listens. */
function end(listening: Listening): void {
  if (listening.isOver) return
  listening.isOver = true
  listening.client.release(true)
}

/** As many changes in one payload as fit. */
function payloadsOf(changes: readonly (readonly [string, string, number])[]): readonly string[] {
  const payloads: string[] = []
  let texts: string[] = []
  let size = 2
  for (const change of changes) {
    const text = JSON.stringify(change)
    const bytes = Buffer.byteLength(text) + 1
    if (size + bytes > maxPayloadBytes) {
      payloads.push(`[${texts.join()}]`)
      texts = []
      size = 2
    }
    texts.push(text)
    size += bytes
  }
  return texts.length === 0 ? payloads : [...payloads, `[${texts.join()}]`]
}

/** Anybody who may connect may send on a channel: what is not ours is ignored. */
function changesIn(payload: string | undefined): readonly StoreChange[] {
  let value: unknown
  try {
    value = JSON.parse(payload ?? '')
  } catch {
    return []
  }
  if (!Array.isArray(value)) return []
  return value.flatMap((item: unknown): StoreChange[] => {
    if (!isObject(item) && !Array.isArray(item)) return []
    const [tenant, thread, version] = item as unknown as readonly unknown[]
    const isChange =
      typeof tenant === 'string' && typeof thread === 'string' && typeof version === 'number'
    return isChange ? [{ type: 'changed', tenant, thread, version }] : []
  })
}
