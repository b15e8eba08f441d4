// Builders for the store suite: entries, keys, reads.

import fc from 'fast-check'
import { expect } from 'vitest'
import type { Entry, EntryId, MessageEntry } from '../core/log/entry.ts'
import type { ErrorCode } from '../core/log/errors.ts'
import { OrielError } from '../core/log/errors.ts'
import type { Json } from '../core/log/json.ts'
import type { ReadOptions, Store, ThreadKey } from '../stores/store.ts'

export const key: ThreadKey = { tenant: 'acme', thread: 'support-1' }
/** The same thread name for another tenant. */
export const foreignKey: ThreadKey = { tenant: 'rival', thread: 'support-1' }
export const absentKey: ThreadKey = { tenant: 'acme', thread: 'nobody-home' }

/** A user message at a position of the log. */
export function messageAt(
  seq: number,
  text: string,
  fields: Partial<MessageEntry> = {},
): MessageEntry {
  return {
    type: 'message',
    id: `e${seq}` as EntryId,
    seq,
    at: 1_700_000_000_000 + seq,
    turn: seq,
    step: seq,
    role: 'user',
    origin: 'user',
    blocks: [{ type: 'text', text }],
    ...fields,
  }
}

/** `count` messages from position `from` on. */
export function messages(from: number, count: number, label = 'message'): Entry[] {
  return Array.from({ length: count }, (_, index) =>
    messageAt(from + index, `${label} ${from + index}`),
  )
}

/** An entry of an unknown type that carries any JSON value. */
export function unknownAt(seq: number, value: Json): Entry {
  return { type: 'x-anything', id: `e${seq}` as EntryId, seq, at: seq, value }
}

/** All entries of a read. */
export async function readAll(
  store: Store,
  asked: ThreadKey,
  options?: ReadOptions,
): Promise<Entry[]> {
  const entries: Entry[] = []
  for await (const entry of store.read(asked, options)) entries.push(entry)
  return entries
}

/** All items of an async iterable. */
export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

/** Fails unless the promise rejects with an OrielError of this code; returns the error. */
export async function rejection(promise: Promise<unknown>, code: ErrorCode): Promise<OrielError> {
  const outcome = await promise.then(
    () => 'resolved',
    (error: unknown) => error,
  )
  expect(OrielError.is(outcome) ? outcome.code : outcome).toBe(code)
  return outcome as OrielError
}

/** JSON values that text columns, JSON columns and object spreads are known to lose. */
export function awkwardJson(): fc.Arbitrary<Json> {
  const unit = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 12 }),
    fc.constantFrom('\0', '\ud800', '\udfff\ud800', '\u2028', '\ufeff', '"\\', '😀', 'é', '\u001f'),
  )
  const name = fc.oneof(
    unit,
    fc.constantFrom(
      '__proto__',
      'constructor',
      'toString',
      'hasOwnProperty',
      '$type',
      '',
      '1',
      'lc',
    ),
  )
  const leaf = fc.oneof(
    unit,
    fc.constantFrom(null, true, false, -0, 0, 2 ** 53 - 1, 5e-324, 1e300, -1.5, 1e21),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
  )
  const tree = fc.letrec<{ value: Json }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      leaf,
      fc.array(tie('value'), { maxLength: 4 }),
      fc
        .array(fc.tuple(name, tie('value')), { maxLength: 4 })
        // Own properties only: assigning to `__proto__` would set a prototype instead.
        .map((fields) => Object.fromEntries(fields) as Json),
    ),
  }))
  return tree.value
}
