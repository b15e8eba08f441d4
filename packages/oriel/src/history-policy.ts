// Document 002's own function, over `project`.

import { OrielError } from './core/errors.ts'
import { project } from './project.ts'
import { defaultLength } from './rules/history.ts'

export interface HistoryPolicyOptions {
  /** @default 'lastN' */
  readonly historyPolicy?: 'lastN' | 'all' | 'none'
  /** User messages that `lastN` keeps; 0 and less mean 1. @default 20 */
  readonly historyLength?: number
  /** @default true */
  readonly preserveSystemMessages?: boolean
}

/**
 * The messages that the history policy keeps: the very objects of the input, in their order. Null, undefined and an empty list
 * give an empty list. An exchange that began before the window is dropped whole.
 */
export function applyHistoryPolicy<M>(
  messages: readonly M[] | null | undefined,
  options: HistoryPolicyOptions = {},
): M[] {
  const {
    historyPolicy = 'lastN',
    historyLength = defaultLength,
    preserveSystemMessages = true,
  } = options
  if (!Array.isArray(messages) || messages.length === 0) return []
  if (historyPolicy === 'all' || historyLength === Infinity) return [...messages]
  if (!Number.isInteger(historyLength)) {
    throw new OrielError(
      'invalid-option',
      `historyLength must be a whole number, got ${String(historyLength)}.`,
      { path: 'historyLength' },
    )
  }
  const { trace } = project(messages, {
    history: { policy: historyPolicy, length: Math.max(1, historyLength), preserveSystemMessages },
  })
  const dropped = new Set(trace.filter(({ rule }) => rule === 'history').map(({ index }) => index))
  return messages.filter((_, index) => !dropped.has(index))
}
