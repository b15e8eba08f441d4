// A store whose process dies, without a process: from some write on, nobody gets an answer any more.

import type { Store } from 'oriel'

/** What becomes of the last write: lost, kept, or kept and read for a while although it was never acknowledged. */
export type Death = 'before' | 'after' | 'late'

export interface MortalStore {
  readonly store: Store
  readonly isAlive: () => boolean
  readonly died: Promise<void>
}

const lateMs = 30

/** Dies at the n-th write. What it kept stays in the store behind it. */
export function mortalStore(inner: Store, n: number, death: Death): MortalStore {
  let left = n
  let isAlive = true
  const end = Promise.withResolvers<void>()
  const silence = new Promise<never>(() => {})
  const answer = <T>(value: T): T | Promise<never> => (isAlive ? value : silence)
  const write =
    (call: Call): Call =>
    async (...given) => {
      left -= 1
      if (left > 0) return answer(await call(...given))
      if (left === 0) {
        if (death !== 'before') await call(...given)
        if (death === 'late') await new Promise((resolve) => setTimeout(resolve, lateMs))
        isAlive = false
        end.resolve()
      }
      return silence
    }
  const read = (call: Call): Call => {
    return async (...given) => answer(isAlive ? await call(...given) : await silence)
  }
  const store = new Proxy(inner, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      const call: Call = value.bind(target)
      if (name === 'append' || name === 'saveSnapshot') return write(call)
      return name === 'read' || name === 'verify' ? iterate(call, answer) : read(call)
    },
  })
  return { store, isAlive: () => isAlive, died: end.promise }
}

type Call = (...given: readonly unknown[]) => Promise<unknown>

function iterate(
  call: (...given: readonly unknown[]) => unknown,
  answer: <T>(value: T) => T | Promise<never>,
): (...given: readonly unknown[]) => AsyncIterable<unknown> {
  return async function* (...given) {
    for await (const entry of call(...given) as AsyncIterable<unknown>) yield await answer(entry)
    await answer(undefined)
  }
}
