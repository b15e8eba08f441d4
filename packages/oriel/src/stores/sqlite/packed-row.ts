// The text of a packed row, which may need those of rows before it.

import type { StatementSync } from 'node:sqlite'
import { type PackedBase, unpackRow } from '../stored/packed-text.ts'

type RowText = Omit<PackedBase, 'seq'>

export const packedSql = 'select body, packed from entries where thread = ? and seq = ?'

/** The text of a row; undefined where it or one that it needs is missing or damaged. `known` keeps texts for as long as a page is read. */
export function packedRow(
  statement: StatementSync,
  thread: number,
  seq: number,
  known: Map<number, RowText> = new Map(),
): RowText | undefined {
  const found = known.get(seq)
  if (found !== undefined) return found
  const row = statement.get(thread, seq)
  const text = unpackColumn(row?.packed, {
    seq,
    known,
    baseAt: (base) => packedRow(statement, thread, base, known),
  })
  // Others may be made from the same one.
  if (text !== undefined) known.set(seq, text)
  return text
}

/** The same for a row that was read. */
export function unpackColumn(
  packed: unknown,
  {
    seq,
    known,
    baseAt,
  }: {
    readonly seq: number
    readonly known: Map<number, RowText>
    readonly baseAt: (seq: number) => RowText | undefined
  },
): RowText | undefined {
  if (!(packed instanceof Uint8Array)) return undefined
  // What stands behind cannot be what it is made from.
  const text = unpackRow(packed, (base) => (base < seq ? baseAt(base) : undefined))
  if (text !== undefined && text.text.length >= minKept) known.set(seq, text)
  return text
}

/** Shorter texts are seldom what another is made from. */
const minKept = 8 * 1024
