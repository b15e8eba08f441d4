// Document 003's configuration with its own field names: when to compact, how tool output is bounded, and who sees a message.

import type { Audience } from '../core/log/block.ts'
import { anyText, boolean, choice, count, type Infer, object } from '../core/schema/schema.ts'
import type { Policy } from '../policy/schema.ts'
import { defined, readConfig, setting } from './read-config.ts'

const configSchema = object({
  MaxMessages: setting(count),
  MaxTokens: setting(count),
  KeepRecent: setting(count),
  KeepRecentTokens: setting(count),
  ReserveTokens: setting(count),
  ToolCallCutoff: setting(count),
  ToolSummaryStrategy: setting(choice('llm', 'heuristic', 'off')),
  AutoCompact: setting(boolean),
})

/** A `compact.Config`: when to compact. */
export type CompactConfig = Infer<typeof configSchema>

const limitsSchema = object({
  MaxLines: setting(count),
  MaxBytes: setting(count),
  MaxChars: setting(count),
  LargeOutputThreshold: setting(count),
  TruncateMode: setting(choice('head', 'head_tail')),
})

/** `ToolOutputLimits`: how tool output is bounded. */
export type ToolOutputLimits = Infer<typeof limitsSchema>

/**
 * The configuration as a policy; what it leaves out has the document's default, which is also ours. With limits, tool output is bounded
 * too. Throws OrielError 'invalid-option' with the path of what does not fit.
 */
export function importCompactConfig(config: CompactConfig, limits: ToolOutputLimits = {}): Policy {
  const read = readConfig(configSchema, config, 'config')
  const output = readConfig(limitsSchema, limits, 'limits')
  return {
    toolOutput: defined({
      maxLines: output.MaxLines,
      maxBytes: output.MaxBytes,
      maxChars: output.MaxChars,
      largeOutputThreshold: output.LargeOutputThreshold,
      truncateMode: output.TruncateMode,
    }),
    toolResults: defined({ cutoff: read.ToolCallCutoff, summary: read.ToolSummaryStrategy }),
    compaction: defined({
      auto: read.AutoCompact,
      maxMessages: read.MaxMessages,
      maxTokens: read.MaxTokens,
      keepRecent: read.KeepRecent,
      keepRecentTokens: read.KeepRecentTokens,
      reserveTokens: read.ReserveTokens,
    }),
  }
}

const visibilitySchema = object({
  AgentVisible: setting(boolean),
  UserVisible: setting(boolean),
  Kind: setting(anyText),
})

/** `MessageMetadata`: who sees a message. */
export type MessageVisibility = Infer<typeof visibilitySchema>

/** Who sees a message, as fields for `thread.append`. Flags that are not set mean true. */
export function importVisibility(metadata: MessageVisibility): {
  readonly audience?: Audience
  readonly kind?: string
} {
  const { AgentVisible, UserVisible, Kind } = readConfig(visibilitySchema, metadata, 'metadata')
  const audience = {
    ...(AgentVisible === false ? { now: false, later: false } : {}),
    ...(UserVisible === false ? { person: false } : {}),
  }
  return {
    ...(Object.keys(audience).length === 0 ? {} : { audience }),
    ...(Kind == null || Kind === '' ? {} : { kind: Kind === 'tool_result' ? 'tool-result' : Kind }),
  }
}
