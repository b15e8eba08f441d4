// The part `tools` is no rule: it says which tool definitions a request carries. `thread/tools` obeys it.

import { z } from 'zod'
import { count, type Defaults, positive, type Rule } from './rule.ts'

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
  schema: z.strictObject({
    mode: z.enum(['auto', 'deferred']).optional(),
    above: count.optional(),
    results: positive.optional(),
    keep: z.array(z.string().min(1)).readonly().optional(),
  }),
  defaults: toolsDefaults,
} satisfies Omit<Rule<ToolsSettings>, 'propose'>
