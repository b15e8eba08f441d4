// Histories that clients resend, made of very few words, so that branches meet, repeat each other and part again.

import * as fc from 'fast-check'
import { expect } from 'vitest'
import { textOf } from '../../src/core/block.ts'
import type { Store } from '../../src/stores/store.ts'
import { openThread, type Thread } from '../../src/thread/thread.ts'

/** What was said, in order: users and the assistant take turns. */
export type Told = readonly string[]

/** One request: an earlier history, cut, with more at its end. */
export interface Resent {
  /** Which earlier request it begins from. */
  readonly base: number
  readonly keep: number
  readonly more: Told
  /** Whether another process takes it, which knows only the first thread. */
  readonly isFresh: boolean
}

export function toldArbitrary(maxLength: number): fc.Arbitrary<Told> {
  return fc.array(fc.constantFrom('a', 'b'), { maxLength })
}

export function resentArbitrary(): fc.Arbitrary<readonly Resent[]> {
  const one = fc.record({
    base: fc.nat({ max: 9 }),
    keep: fc.nat({ max: 9 }),
    more: toldArbitrary(3),
    isFresh: fc.boolean(),
  })
  return fc.array(one, { minLength: 1, maxLength: 10, size: 'max' })
}

/** Every branch of a thread as the plain list of what was told on it. */
export class Branches {
  readonly #store: Store
  readonly #tenant: string
  readonly #ids = new Set(['t'])

  constructor(store: Store, tenant: string) {
    this.#store = store
    this.#tenant = tenant
  }

  open(): Promise<Thread> {
    return openThread({ id: 't', tenant: this.#tenant, store: this.#store, now: () => 1000 })
  }

  add(id: string): void {
    this.#ids.add(id)
  }

  async told(id: string): Promise<Told> {
    const told: string[] = []
    for await (const entry of this.#store.read({ tenant: this.#tenant, thread: id })) {
      if (entry.type === 'message') told.push(textOf(entry.blocks))
    }
    return told
  }

  async all(): Promise<ReadonlyMap<string, Told>> {
    const all = new Map<string, Told>()
    for (const id of this.#ids) all.set(id, await this.told(id))
    return all
  }
}

/** Sends one history and compares what happened with the plain lists. */
export async function resend(branches: Branches, thread: Thread, told: Told): Promise<void> {
  const before = await branches.all()
  const current = before.get(thread.id) ?? []
  const result = await thread.sync(told.map(chatOf))
  branches.add(result.thread)
  const shared = Math.max(...[...before.values()].map((branch) => sharedLength(branch, told)))
  const isContinuing = [...before.values()].some((branch) => isPrefix(branch, told))
  expect(result.isForked).toBe(!isContinuing)
  if (isPrefix(current, told)) expect(result.thread).toBe(thread.id)
  const joined = before.get(result.thread)
  const matched = joined === undefined ? shared : joined.length
  expect(result).toMatchObject({ matched, appended: told.length - matched })
  if (joined !== undefined) expect(isPrefix(joined, told)).toBe(true)
  const after = await branches.all()
  expect(after).toEqual(new Map([...before, [result.thread, told]]))
}

export function chatOf(word: string, index: number): object {
  return { role: index % 2 === 0 ? 'user' : 'assistant', content: word }
}

export function isPrefix(short: Told, long: Told): boolean {
  return sharedLength(short, long) === short.length
}

function sharedLength(one: Told, other: Told): number {
  let length = 0
  while (length < one.length && one[length] === other[length]) length += 1
  return length
}
