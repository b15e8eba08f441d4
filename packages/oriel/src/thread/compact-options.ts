// What a caller may say when it asks for a checkpoint.

import { OrielError } from '../core/errors.ts'

export interface CompactOptions {
  /** What the summary should keep above all, in the user's words. Only a summarizer reads them. @default nothing */
  readonly instructions?: string
}

export function readInstructions(options: CompactOptions): string | undefined {
  const { instructions } = options
  if (instructions === undefined || typeof instructions === 'string') return instructions
  const message = `instructions must be a text, got ${typeof instructions}.`
  throw new OrielError('invalid-option', message, { path: 'instructions' })
}
