// Damage in the store: the thread that has it fails, and nothing else does.

import { type ErrorCode, OrielError } from 'oriel'

const codes: readonly ErrorCode[] = [
  'corrupt-entry',
  'log-truncated',
  'isolation',
  'schema-version',
]

/** Why a log cannot be read to its end, whenever one tries; undefined for an error of another kind. */
export function damageOf(error: unknown): ErrorCode | undefined {
  return OrielError.is(error) && codes.includes(error.code) ? error.code : undefined
}
