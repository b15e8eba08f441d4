// What a thread is opened with.

import type { TokensOption } from '../counters.ts'
import type { PolicyInput } from '../policy.ts'
import type { Store } from '../stores/store.ts'
import type { Listener } from './events.ts'
import type { Plugin } from './plugin.ts'
import type { Summarize } from './summary.ts'

export interface ThreadOptions {
  /** The thread's id. @default a new random one */
  readonly id?: string
  /** Whose thread it is; other tenants cannot see it. @default 'default' */
  readonly tenant?: string
  readonly store: Store
  /** @default the policy the log has, or none */
  readonly policy?: PolicyInput
  /** How tokens are counted: fixed when the thread begins. @default 'estimate' */
  readonly tokens?: TokensOption
  /** The clock. @default Date.now */
  readonly now?: () => number
  /** Called after each event; cannot change the outcome. */
  readonly on?: Listener
  /** Where lines for people go. @default nowhere */
  readonly log?: (line: string) => void
  /** Write a line for everything that changes a view. @default false */
  readonly verbose?: boolean
  /**
   * Summarizes with a model. With the schedule `immediate` a view waits for it, at most 30 s a call; `cache-aware` never does.
   * Without it, or when it fails, the deterministic forms serve.
   */
  readonly summarize?: Summarize
  /** Tokens that the summarizer's model can read. @default 32000 */
  readonly summarizeWindow?: number
  /** Asked for context that comes with each user message and tool result. @default none */
  readonly plugins?: readonly Plugin[]
  /** Entries between two snapshots of the state, at least; 0 = none. @default 256 */
  readonly snapshotEvery?: number
}
