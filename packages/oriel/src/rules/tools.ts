// The part `tools` is no rule: it says which tool definitions a request carries. `thread/tools` obeys it.

import { choice, count, list, object, optional, positive, text } from '../core/schema/schema.ts'
import type { Defaults, Rule } from './rule.ts'

/** Which tool definitions a request carries: the policy part `tools`. The others are found by a search. */
export interface ToolsSettings {
  /** `auto`: definitions are deferred where all of them have more than `above` tokens; `deferred`: always. @default 'auto' */
  readonly mode?: 'auto' | 'deferred' | undefined
  /** Tokens of all definitions above which `auto` defers them. @default 10000 */
  readonly above?: number | undefined
  /** Definitions that one search adds at most. @default 3 */
  readonly results?: number | undefined
  /** Tools that every request carries, by name or by a pattern with `*`. @default none */
  readonly keep?: readonly string[] | undefined
}

export const toolsDefaults = {
  mode: 'auto',
  /** About as much as forty usual definitions: less is not worth a search. */
  above: 10_000,
  /** Each one that is added stays for the rest of the thread. */
  results: 3,
  keep: { words: 'none' },
} as const satisfies Defaults

export const tools = {
  name: 'tools',
  schema: object({
    mode: optional(choice('auto', 'deferred')),
    above: optional(count),
    results: optional(positive),
    keep: optional(list(text)),
  }),
  defaults: toolsDefaults,
} satisfies Omit<Rule<ToolsSettings>, 'propose'>
