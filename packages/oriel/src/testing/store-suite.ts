// Conformance suite of stores: every contract of `Store` is a named case. Run it on a custom store.

import { describe, it } from 'vitest'
import type { Store } from '../stores/store.ts'
import { appendCases } from './store-suite-append.ts'
import { contentCases } from './store-suite-content.ts'
import { eraseCases } from './store-suite-erase.ts'
import { keepingCases } from './store-suite-keeping.ts'
import { raceCases } from './store-suite-race.ts'
import { readCases } from './store-suite-read.ts'
import { searchCases } from './store-suite-search.ts'
import { sharingCases } from './store-suite-sharing.ts'
import { valueCases } from './store-suite-values.ts'

/** A freshly opened, empty store. */
export interface OpenedStore {
  readonly store: Store
  /** Closes the store and opens the same data again. Absent for in-memory stores. */
  readonly reopen?: () => Promise<Store>
  /** Closes everything and removes all data. */
  readonly cleanup: () => Promise<void>
}

export interface StoreSuiteOptions {
  /** Runs of each property test. @default 30 */
  readonly runs?: number
  /** Seed of the property tests, to repeat a failure. @default a new one each time, printed on failure */
  readonly seed?: number
  /** Concurrent writers per thread. @default 8 */
  readonly writers?: number
  /** Cases that this store does not satisfy, by name, each with the reason. @default none */
  readonly skip?: Readonly<Record<string, string>>
}

/** Input of a case. */
export interface StoreCaseContext {
  readonly store: Store
  readonly reopen?: () => Promise<Store>
  /** Parameters for `fc.assert`. */
  readonly property: { readonly numRuns: number; readonly seed?: number }
  readonly writers: number
}

export interface StoreCase {
  readonly name: string
  /** Needs `reopen`; skipped for in-memory stores. */
  readonly needsReopen?: boolean
  run(context: StoreCaseContext): Promise<void>
}

const groups: Readonly<Record<string, readonly StoreCase[]>> = {
  append: appendCases,
  read: readCases,
  content: contentCases,
  keeping: keepingCases,
  races: raceCases,
  erasure: eraseCases,
  sharing: sharingCases,
  values: valueCases,
  search: searchCases,
}

/**
 * Declares the suite for one store, with vitest. `open` is called once per case and must return an
 * empty store.
 */
export function describeStore(
  name: string,
  open: () => Promise<OpenedStore>,
  options: StoreSuiteOptions = {},
): void {
  const { runs = 30, seed, writers = 8, skip = {} } = options
  const property = seed === undefined ? { numRuns: runs } : { numRuns: runs, seed }
  checkSkips(skip)
  describe(`store: ${name}`, () => {
    for (const [group, cases] of Object.entries(groups)) {
      describe(group, () => {
        for (const storeCase of cases) declareCase(storeCase, open, { property, writers, skip })
      })
    }
  })
}

function declareCase(
  storeCase: StoreCase,
  open: () => Promise<OpenedStore>,
  settings: Pick<StoreCaseContext, 'property' | 'writers'> & { skip: Record<string, string> },
): void {
  const { property, writers, skip } = settings
  const reason = skip[storeCase.name]
  if (reason !== undefined) {
    it.skip(`${storeCase.name} (skipped: ${reason})`)
    return
  }
  it(storeCase.name, async (test) => {
    const { store, reopen, cleanup } = await open()
    try {
      if (storeCase.needsReopen === true && reopen === undefined) {
        test.skip('the store keeps nothing when it is closed')
      }
      const context = { store, property, writers }
      await storeCase.run(reopen === undefined ? context : { ...context, reopen })
    } finally {
      await cleanup()
    }
  })
}

/** Rejects unknown names: a misspelt or obsolete skip would go unnoticed. */
function checkSkips(skip: Readonly<Record<string, string>>): void {
  const known = new Set(Object.values(groups).flatMap((cases) => cases.map((one) => one.name)))
  for (const name of Object.keys(skip)) {
    if (!known.has(name)) throw new Error(`No case of the store suite is called "${name}".`)
  }
}
