// The surface of `oriel/compat`: what users of five other systems have, as messages and policies of Oriel.

export {
  type AgentActionRow,
  type AgentChatMessage,
  type AgentChatMessageMetadata,
  importAgentActions,
  importAgentMessages,
  importExpirationOverride,
  type MessageExpirationOverride,
} from './agent-messages.ts'
export { importAgentTemplate } from './agent-template.ts'
export {
  type CompactConfig,
  importCompactConfig,
  importVisibility,
  type MessageVisibility,
  type ToolOutputLimits,
} from './compact-config.ts'
export { applyHistoryPolicy, type HistoryPolicyOptions } from './history-policy.ts'
export { type HistoryRetentionConfig, importHistoryRetention } from './history-retention.ts'
export { importRetainedMessages } from './retained-messages.ts'
