// Histories that clients resend, made of very few words, so that branches meet, repeat each other and part again.

import * as fc from 'fast-check'
import { expect } from 'vitest'
import { textOf } from '../../src/core/log/block.ts'
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
  /** Which process takes it: one of two that know what they saw, or a new one. */
  readonly by: 'first' | 'second' | 'new'
}

export function toldArbitrary(maxLength: number): fc.Arbitrary<Told> {
  return fc.array(fc.constantFrom('a', 'b'), { maxLength })
}

export function resentArbitrary(): fc.Arbitrary<readonly Resent[]> {
  const one = fc.record({
    base: fc.nat({ max: 9 }),
    keep: fc.nat({ max: 9 }),
    more: toldArbitrary(3),
    by: fc.constantFrom('first' as const, 'second' as const, 'new' as const),
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
  const continued = [...before.values()].filter((branch) => isPrefix(branch, told))
  const result = await thread.sync(told.map(chatOf))
  branches.add(result.thread)
  const shared = Math.max(...[...before.values()].map((branch) => sharedLength(branch, told)))
  // The longest branch that it continues, or a fork of one that shares most with it.
  expect(result.isForked).toBe(continued.length === 0)
  const matched = continued.length === 0 ? shared : Math.max(...continued.map(lengthOf))
  expect(result).toMatchObject({ matched, appended: told.length - matched })
  const joined = before.get(result.thread)
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

function lengthOf({ length }: Told): number {
  return length
}

function sharedLength(one: Told, other: Told): number {
  let length = 0
  while (length < one.length && one[length] === other[length]) length += 1
  return length
}
