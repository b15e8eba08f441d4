// Cases: small values by tenant, space and name.

import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { expect } from 'vitest'
import type { Json } from '../core/log/json.ts'
import type { KeyValue } from '../stores/key-value.ts'
import type { Store } from '../stores/store.ts'
import type { StoreCase } from './store-suite.ts'
import { awkwardJson, messages, rejection } from './store-suite-data.ts'

const place = { tenant: 'acme', space: 'index' }
const own = { ...place, name: 'a' }

/** A case for stores that keep values. */
function valueCase(
  name: string,
  run: (values: KeyValue, context: Parameters<StoreCase['run']>[0]) => Promise<void>,
): StoreCase {
  return {
    name,
    async run(context) {
      if (context.store.values !== undefined) await run(context.store.values, context)
    },
  }
}

const names = async (values: KeyValue, options?: Parameters<KeyValue['list']>[1]) =>
  (await values.list(place, options)).map(({ name }) => name)

export const valueCases: readonly StoreCase[] = [
  valueCase('a value is set, replaced and deleted', async (values) => {
    expect(await values.get(own)).toBeUndefined()
    await values.put(own, { first: 1 })
    expect(await values.get(own)).toEqual({ first: 1 })
    await values.put(own, null)
    expect(await values.get(own)).toBeNull()
    await values.put(own, undefined)
    await values.put(own, undefined)
    expect(await values.get(own)).toBeUndefined()
  }),
  valueCase('any JSON comes back as a value exactly', async (values, { property }) => {
    await fc.assert(
      fc.asyncProperty(awkwardJson(), async (value) => {
        await values.put(own, value)
        const read = await values.get(own)
        expect(isDeepStrictEqual(read, value)).toBe(true)
        expect(JSON.stringify(read)).toBe(JSON.stringify(value))
        expect(isDeepStrictEqual(await values.list(place), [{ name: 'a', value }])).toBe(true)
      }),
      property,
    )
  }),
  valueCase('a large value comes back', async (values) => {
    const table = Array.from({ length: 20_000 }, (_, index) => [index, `row ${index}`])
    await values.put(own, table)
    expect(await values.get(own)).toEqual(table)
  }),
  valueCase('tenants, spaces and names do not see each other', async (values) => {
    const keys = [
      own,
      { ...own, tenant: 'rival' },
      { ...own, space: 'other' },
      { ...own, name: 'A' },
      { ...own, name: 'a ' },
      { ...own, space: 'index a', name: 'a' },
    ]
    for (const [index, key] of keys.entries()) await values.put(key, index)
    for (const [index, key] of keys.entries()) expect(await values.get(key)).toBe(index)
    expect(await names(values)).toEqual(['A', 'a', 'a '])
  }),
  valueCase('values are listed page by page, sorted by name in bytes', async (values) => {
    const sorted = ['B', 'a', 'é', '～', '😀']
    for (const name of sorted.toReversed()) await values.put({ ...place, name }, name)
    expect(await values.list(place, { limit: 2 })).toEqual([
      { name: 'B', value: 'B' },
      { name: 'a', value: 'a' },
    ])
    expect(await names(values, { after: 'a' })).toEqual(['é', '～', '😀'])
    expect(await names(values, { after: '😀' })).toEqual([])
    await rejection(values.list(place, { limit: 0 }), 'invalid-option')
  }),
  valueCase('updates that are made at once are all made', async (values, { writers }) => {
    const add = (entry: number) =>
      values.update(own, (before) => [...((before ?? []) as Json[]), entry])
    const all = Array.from({ length: writers * 3 }, (_, index) => index)
    await Promise.all(all.map(add))
    const found = (await values.get(own)) as number[]
    expect(found.toSorted((a, b) => a - b)).toEqual(all)
    expect(await values.update(own, () => undefined)).toBeUndefined()
    expect(await values.get(own)).toBeUndefined()
    expect(await values.update(own, (before) => before)).toBeUndefined()
  }),
  valueCase('an update that throws changes nothing', async (values) => {
    await values.put(own, 1)
    const failing = values.update(own, () => {
      throw new RangeError('no')
    })
    await expect(failing).rejects.toThrow('no')
    expect(await values.get(own)).toBe(1)
  }),
  valueCase('what is no name or no JSON is refused', async (values) => {
    for (const name of ['', 'a\0', '\ud800', 'x'.repeat(513), 7 as never]) {
      await rejection(values.put({ ...own, name }, 1), 'invalid-input')
      await rejection(values.get({ ...own, space: name }), 'invalid-input')
      await rejection(values.list({ ...place, tenant: name }), 'invalid-input')
    }
    await rejection(values.put(own, Number.NaN), 'not-json')
    await rejection(values.put(own, new Date() as never), 'not-json')
    expect(await values.get(own)).toBeUndefined()
  }),
  valueCase('a tenant takes its values with it when it is erased', async (values, { store }) => {
    const foreign = { ...own, tenant: 'rival' }
    await store.append({ tenant: 'acme', thread: 'x' }, messages(1, 1), 0)
    for (const key of [own, foreign]) await values.put(key, 1)
    await store.eraseTenant('acme')
    expect([await values.get(own), await values.get(foreign)]).toEqual([undefined, 1])
  }),
  {
    name: 'values survive reopening',
    needsReopen: true,
    async run({ store, reopen }) {
      if (store.values === undefined) return
      await store.values.put(own, { kept: true })
      const again = (await reopen?.()) as Store
      expect(await again.values?.get(own)).toEqual({ kept: true })
    },
  },
  valueCase('a closed store refuses values', async (values, { store }) => {
    await store.close()
    await rejection(values.get(own), 'closed')
    await rejection(values.put(own, 1), 'closed')
    await rejection(
      values.update(own, () => 1),
      'closed',
    )
    await rejection(values.list(place), 'closed')
  }),
]
