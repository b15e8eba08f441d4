// Small values beside the logs, by tenant, space and name: indexes, marks, settings.

import type { Json } from '../core/log/json.ts'
import type { LogBackend, ValueKey } from './backend.ts'
import { writeJson } from './stored/entry-form.ts'
import { tooContended } from './stored/errors.ts'
import { checkListOptions, checkName } from './stored/input.ts'

/** A value with its name. */
export interface NamedValue {
  readonly name: string
  readonly value: Json
}

/**
 * Contracts:
 * - When a change resolves, it is as durable as an append.
 * - Tenants do not see each other's values, nor spaces each other's names. `eraseTenant` deletes all values of a tenant.
 * - `update` is atomic, across all processes that share the store. Where a connection is lost in the middle, the change may be made twice:
 *   let it add to a set, say, rather than count.
 */
export interface KeyValue {
  /** The value, or undefined where there is none. */
  get(key: ValueKey): Promise<Json | undefined>
  /** Sets a value, whatever was there; undefined deletes it. */
  put(key: ValueKey, value: Json | undefined): Promise<void>
  /** Sets what `change` makes of the value; undefined deletes it. It may be called several times, when others write meanwhile. */
  update(
    key: ValueKey,
    change: (before: Json | undefined) => Json | undefined,
  ): Promise<Json | undefined>
  /** The values of a space, by name in bytes. */
  list(
    place: Omit<ValueKey, 'name'>,
    options?: { readonly after?: string; readonly limit?: number },
  ): Promise<readonly NamedValue[]>
}

/** How often a writer that loses races tries again. */
const maxAttempts = 100

type Run = <T>(work: () => Promise<T>) => Promise<T>

/** The values of a backend. `run` is called around everything that is done with it. */
export function keyValue(backend: LogBackend, run: Run): KeyValue {
  const read = async (key: ValueKey): Promise<string | undefined> => backend.readValue(key)
  return {
    async get(key) {
      const own = checked(key)
      return parse(await run(() => read(own)))
    },
    async put(key, value) {
      const own = checked(key)
      const text = write(value)
      await run(() => backend.putValue(own, text))
    },
    async update(key, change) {
      const own = checked(key)
      for (let attempt = 1; attempt <= maxAttempts; attempt++) {
        const before = await run(() => read(own))
        const value = change(parse(before))
        const text = write(value)
        if (text === before) return value
        if (await run(() => backend.putValue(own, text, { text: before }))) return value
      }
      throw tooContended(own.name)
    },
    async list({ tenant, space }, options = {}) {
      const place = { tenant, space }
      checked({ ...place, name: 'any' })
      const page = checkListOptions(options, 'name')
      const rows = await run(() => backend.listValues(place, page))
      return rows.map(({ name, text }) => ({ name, value: JSON.parse(text) as Json }))
    },
  }
}

function checked({ tenant, space, name }: ValueKey): ValueKey {
  checkName(tenant, 'tenant')
  checkName(space, 'space')
  checkName(name, 'name')
  return { tenant, space, name }
}

function write(value: Json | undefined): string | undefined {
  return value === undefined ? undefined : writeJson(value, ['value'])
}

function parse(text: string | undefined): Json | undefined {
  return text === undefined ? undefined : (JSON.parse(text) as Json)
}
