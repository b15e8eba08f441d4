// A store whose appends to conversations can be held or made to fail while a test looks.

import { memoryStore, type OrielError, type Store } from 'oriel'

export interface GatedStore {
  readonly store: Store
  /** Appends from now on wait, until `release`. */
  hold(): void
  release(): void
  /** Appends from now on fail; undefined: no more. */
  fail(error: OrielError | undefined): void
  /** Resolves when an append waits, or has waited. */
  waiting(): Promise<void>
}

export function gatedStore(): GatedStore {
  const inner = memoryStore()
  let failure: OrielError | undefined
  let gate: { readonly opened: Promise<void>; readonly open: () => void } | undefined
  const reached = Promise.withResolvers<void>()
  const append: Store['append'] = async (...call) => {
    if (failure !== undefined) throw failure
    if (gate !== undefined) {
      reached.resolve()
      await gate.opened
    }
    return inner.append(...call)
  }
  const store = new Proxy(inner, {
    get(target, name) {
      const value: unknown = name === 'append' ? append : Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  return {
    store,
    hold() {
      if (gate !== undefined) return
      const { promise: opened, resolve: open } = Promise.withResolvers<void>()
      gate = { opened, open }
    },
    release() {
      gate?.open()
      gate = undefined
    },
    fail(error) {
      failure = error
    },
    waiting: () => reached.promise,
  }
}
