// A text index in memory: that of the memory store, and of one search over logs that are not indexed.

import { hints } from '../../core/search/hint.ts'
import type { IndexedPassage } from '../../core/search/rank.ts'
import type { IndexBatch, SearchScope } from '../backend.ts'

interface MemoryThread {
  indexed: number
  messages: number
  readonly ids: number[]
}

/** The passages of one tenant. */
export class MemoryIndex {
  readonly #passages = new Map<number, IndexedPassage>()
  readonly #postings = new Map<string, number[]>()
  readonly #threads = new Map<string, MemoryThread>()
  #newest = 0

  /** How much of a thread is indexed, and the messages in that. */
  progress(thread: string): { readonly indexed: number; readonly messages: number } {
    const { indexed = 0, messages = 0 } = this.#threads.get(thread) ?? {}
    return { indexed, messages }
  }

  add({ key, to, messages, passages }: IndexBatch): void {
    const thread = this.#threads.get(key.thread) ?? { indexed: 0, messages: 0, ids: [] }
    this.#threads.set(key.thread, thread)
    thread.indexed = to
    thread.messages = messages
    for (const passage of passages) {
      const id = ++this.#newest * hints + passage.hint
      thread.ids.push(id)
      this.#passages.set(id, { ...passage, id, thread: key.thread })
      for (const token of new Set(passage.tokens.split(' '))) {
        const ids = this.#postings.get(token)
        if (ids === undefined) this.#postings.set(token, [id])
        else ids.push(id)
      }
    }
  }

  erase(thread: string): void {
    const gone = new Set(this.#threads.get(thread)?.ids)
    this.#threads.delete(thread)
    const tokens = new Set<string>()
    for (const id of gone) {
      for (const token of this.#passages.get(id)?.tokens.split(' ') ?? []) tokens.add(token)
      this.#passages.delete(id)
    }
    for (const token of tokens) {
      const left = this.#postings.get(token)?.filter((id) => !gone.has(id)) ?? []
      if (left.length === 0) this.#postings.delete(token)
      else this.#postings.set(token, left)
    }
  }

  count({ thread }: SearchScope): number {
    return thread === undefined ? this.#passages.size : (this.#threads.get(thread)?.ids.length ?? 0)
  }

  find(
    { thread, groups = [] }: SearchScope,
    tokens: readonly string[],
    limit: number,
  ): readonly number[] {
    const ids = this.#having(tokens)
    const members = groups.map((group) => new Set(this.#postings.get(group)))
    const found: number[] = []
    for (let index = ids.length - 1; index >= 0 && found.length < limit; index--) {
      const id = ids[index] as number
      if (!members.every((group) => group.has(id))) continue
      if (thread === undefined || this.#passages.get(id)?.thread === thread) found.push(id)
    }
    return found
  }

  /** The passages with one of the tokens, in their order. */
  #having(tokens: readonly string[]): readonly number[] {
    const lists = tokens.flatMap((token) => {
      const ids = this.#postings.get(token)
      return ids === undefined ? [] : [ids]
    })
    if (lists.length < 2) return lists[0] ?? []
    return [...new Set(lists.flat())].sort((a, b) => a - b)
  }

  passages(ids: readonly number[]): readonly IndexedPassage[] {
    return ids.flatMap((id) => this.#passages.get(id) ?? [])
  }
}
