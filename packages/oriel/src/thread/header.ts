// How a log begins: what is fixed for a thread.

import { hash } from 'node:crypto'
import type { Counter } from '../core/counter.ts'
import type { Entry } from '../core/entry.ts'
import { OrielError } from '../core/errors.ts'
import { isObject, type JsonObject } from '../core/json.ts'
import type { State } from '../core/state.ts'
import { resolveCounter, type TokensOption } from '../counters.ts'
import type { Store, ThreadKey } from '../stores/store.ts'

/** The stored form of the header; raised when its meaning changes. */
export const headerVersion = 1

export async function readHeader(store: Store, key: ThreadKey): Promise<JsonObject | undefined> {
  for await (const first of store.read(key, { from: 1, to: 1 })) return headerOf(first)
  return undefined
}

export function assertFresh(state: State): void {
  if (state.version <= 1) return
  throw new OrielError('corrupt-entry', 'A thread has two different headers. Run `oriel doctor`.')
}

/** Handles derive from it. Thread ids are unguessable, so this is too; and two stores give one thread the same handles. */
export function saltOf(key: ThreadKey): string {
  return hash('sha256', `oriel:${key.tenant}:${key.thread}`).slice(0, 32)
}

export function headerOf(entry: Entry): JsonObject {
  if (entry.type === 'setting' && entry.name === 'thread' && isObject(entry.value)) {
    const header = entry.value as JsonObject
    if (typeof header.version === 'number' && header.version <= headerVersion) return header
    throw new OrielError(
      'schema-version',
      `The thread was written by a later version (${String(header.version)}; this one knows ${headerVersion}). Update Oriel.`,
    )
  }
  throw new OrielError('corrupt-entry', 'The log does not begin with a header. Run `oriel doctor`.')
}

export function counterOf(header: JsonObject, tokens: TokensOption | undefined): Counter {
  const name = String(header.tokens)
  const counter =
    tokens === undefined && (name === 'estimate' || name === 'o200k')
      ? resolveCounter(name)
      : resolveCounter(tokens)
  assertCounter(header, counter)
  return counter
}

export function assertCounter(header: JsonObject, counter: Counter): void {
  if (header.tokens === counter.name) return
  throw new OrielError(
    'invalid-option',
    `The thread counts tokens by '${String(header.tokens)}', which is fixed for a thread; got '${counter.name}'. Pass the same counter.`,
    { path: 'tokens' },
  )
}
