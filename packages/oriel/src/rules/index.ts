// All rules, in one table. A new rule is one line here: the policy, its schema, the settings of the environment, the docs and the
// generators of tests follow.

import { compaction } from './compaction.ts'
import { deduplication } from './deduplication.ts'
import { expiry } from './expiry.ts'
import { history } from './history.ts'
import { retention } from './retention.ts'
import { toolOutput } from './tool-output.ts'
import { toolResults } from './tool-results.ts'

/**
 * The rules by name, in the order in which they are asked: those that change single blocks, then those that count what is left. The
 * comments document the parts of a policy.
 */
export const rules = {
  /** Bounds every tool result from the moment it comes in. @default off */
  toolOutput,
  /** Blocks with a lifetime fade, one by one, with or without this part. @default only what says so itself fades */
  retention,
  /** Results of a tool expire after steps or turns: removed or compacted. @default only messages with a setting of their own expire */
  expiry,
  /** Keeps the newest tool results full; placeholders or summaries stand for the others. @default off */
  toolResults,
  /** A tool result refers to lines that the view shows already, instead of repeating them. @default off */
  deduplication,
  /** A window over the user's turns, and a cap on messages. @default off */
  history,
  /** When the limit is reached, one summary replaces all but the newest messages. @default off */
  compaction,
}
