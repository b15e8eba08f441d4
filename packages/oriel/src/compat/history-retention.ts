// Document 004's HistoryRetentionConfig: how many messages are sent, and which tool results stay whole.

import { boolean, choice, count, type Infer, object, only } from '../core/schema/schema.ts'
import type { Policy } from '../policy/schema.ts'
import { defined, readConfig, setting } from './read-config.ts'

const configSchema = object({
  MaxMessagesToSend: setting(count),
  KeepRecentMessagesIntact: setting(count),
  AlwaysIncludeSystemMessage: setting(boolean),
  UseCheckpointSummary: setting(
    only(true, 'a thread always shows its checkpoint; undo the edit to take it back'),
  ),
  ToolResults: setting(
    object({
      MaxToolResults: setting(count),
      Strategy: setting(choice('KeepAll', 'KeepRecent', 'KeepSuccessful', 'KeepOne', 'DropAll')),
    }),
  ),
})

/** A `HistoryRetentionConfig`: how many messages are sent, and which tool results stay whole. */
export type HistoryRetentionConfig = Infer<typeof configSchema>

const strategies = {
  KeepAll: 'keepAll',
  KeepRecent: 'keepRecent',
  KeepSuccessful: 'keepSuccessful',
  KeepOne: 'keepOne',
  DropAll: 'dropAll',
} as const

/** What the source does where nothing is said. */
const sourceDefaults = { maxMessages: 50, keepRecent: 5, max: 0 }

/**
 * The configuration as a policy, with the source's defaults and its plain `[Omitted]`. A thread shows its own checkpoint, so
 * `UseCheckpointSummary: false` is refused. Throws OrielError 'invalid-option' with the path of what does not fit.
 */
export function importHistoryRetention(config: HistoryRetentionConfig): Policy {
  const read = readConfig(configSchema, config, 'config')
  const { MaxMessagesToSend, KeepRecentMessagesIntact, AlwaysIncludeSystemMessage } = read
  const { MaxToolResults, Strategy } = read.ToolResults ?? {}
  return {
    history: {
      // `all` keeps system messages in any case; a window of any length does not.
      ...(AlwaysIncludeSystemMessage === false
        ? { policy: 'lastN', length: Number.MAX_SAFE_INTEGER, preserveSystemMessages: false }
        : { policy: 'all' }),
      maxMessages: MaxMessagesToSend ?? sourceDefaults.maxMessages,
      keepRecentMessages: KeepRecentMessagesIntact ?? sourceDefaults.keepRecent,
    },
    toolResults: {
      ...defined({ strategy: Strategy == null ? undefined : strategies[Strategy] }),
      max: MaxToolResults ?? sourceDefaults.max,
      placeholder: 'plain',
      cutoff: 0,
    },
  }
}
