// Responses that the provider keeps: where the client knows one by the id of an earlier round, or a call of ours waits for its result in
// it, a client that goes on from there would be refused. What it needs then is remembered here, in memory.

import type { Json } from 'oriel'
import type { Answer, Provider } from 'oriel/providers'
import type { ClientBody } from '../call/client-body.ts'

interface StoredResponse {
  readonly thread: string
  /** The id under which the provider has the last round. */
  readonly id: string
  /** Results that it has not seen yet. */
  readonly owed: readonly Json[]
  readonly size: number
}

export interface HeldAnswer {
  readonly tenant: string
  readonly thread: string
  readonly provider: Provider
  /** The answer as the client got it. */
  readonly seen: Answer
  /** The last round, with the results of our calls. */
  readonly last: Answer
}

/** How many are remembered, and how many characters of them: the oldest give way. */
const maxHeld = 10_000
const maxCharacters = 32 * 1024 * 1024

export class HeldResponses {
  readonly #held = new Map<string, StoredResponse>()
  #characters = 0

  /** Remembers an answer of several rounds, where a client could not go on from it by itself. */
  keep({ tenant, thread, provider, seen, last }: HeldAnswer): void {
    const { id: known } = seen.response ?? {}
    const { id = known } = last.response ?? {}
    if (known === undefined || id === undefined) return
    const owed = provider.request.stored?.unseen(last.messages) ?? []
    if (id === known && owed.length === 0) return
    const key = keyOf(tenant, known)
    this.#drop(key)
    const size = JSON.stringify(owed).length
    this.#held.set(key, { thread, id, owed, size })
    this.#characters += size
    for (const oldest of this.#held.keys()) {
      if (this.#held.size <= maxHeld && this.#characters <= maxCharacters) break
      this.#drop(oldest)
    }
  }

  /** The bytes of a body that goes on from a response: from the last round, with what is owed to it. Every other byte stays. */
  restore(tenant: string, body: ClientBody, { request, fields }: Provider): Uint8Array {
    const { value, text, bytes, outline } = body
    const { key = '' } = request.stored ?? {}
    const previous = value[key]
    const held = typeof previous === 'string' ? this.#held.get(keyOf(tenant, previous)) : undefined
    const known = outline.fields.get(key)
    const given = outline.fields.get(fields.messages)
    if (held === undefined || known === undefined) return bytes
    const changes = [{ ...known, by: JSON.stringify(held.id) }]
    if (held.owed.length > 0 && given !== undefined) {
      const own = text.slice(given.start, given.end)
      const isList = Array.isArray(value[fields.messages])
      const items = isList
        ? [own.slice(1, -1)]
        : request.list(value).map((one) => JSON.stringify(one))
      const all = [...held.owed.map((item) => JSON.stringify(item)), ...items]
      changes.push({ ...given, by: `[${all.filter((one) => one.trim() !== '').join(',')}]` })
    }
    let changed = text
    // From the back, so that the places in front stay where they are.
    for (const { start, end, by } of changes.sort((a, b) => b.start - a.start)) {
      changed = changed.slice(0, start) + by + changed.slice(end)
    }
    return Buffer.from(changed)
  }

  /** Forgets what a thread's answers owe: it was erased. */
  forget(tenant: string, thread: string): void {
    for (const [key, held] of this.#held) {
      if (held.thread === thread && key.startsWith(keyOf(tenant, ''))) this.#drop(key)
    }
  }

  #drop(key: string): void {
    this.#characters -= this.#held.get(key)?.size ?? 0
    this.#held.delete(key)
  }
}

function keyOf(tenant: string, id: string): string {
  return `${tenant}\0${id}`
}
