// The public surface. Everything here is documented, tested and hard to take back.

export { applyHistoryPolicy, type HistoryPolicyOptions } from './compat/history-policy.ts'
export type {
  Audience,
  Block,
  BlockId,
  FileBlock,
  ImageBlock,
  Lifetime,
  OpaqueBlock,
  Origin,
  ReasoningBlock,
  Role,
  TextBlock,
  ToolCallBlock,
  ToolResultBlock,
} from './core/log/block.ts'
export type {
  Draft,
  Edit,
  EditEntry,
  Entry,
  EntryId,
  Expiry,
  Form,
  Message,
  MessageEntry,
  Native,
  RecordedBreak,
  RequestDetails,
  RequestEntry,
  Source,
  UsageEntry,
} from './core/log/entry.ts'
export {
  type ErrorCode,
  errorCodes,
  OrielError,
  type OrielErrorOptions,
} from './core/log/errors.ts'
export type { Json, JsonObject } from './core/log/json.ts'
/** The text that hashes of JSON values are made over: sorted keys, one text for one value. */
export { canonicalJson, equalJson } from './core/log/json.ts'
export type { Scope } from './core/log/scope.ts'
export { expandToolNames, searchToolNames } from './core/state/expansion.ts'
export type { Directive } from './core/text/directive-list.ts'
export { type Counter, countBlock, overheadOf } from './core/tokens/counter.ts'
export type { Change, Frame, TokenCount, ViewMessage } from './core/view/view.ts'
export { resolveCounter, type TokensOption } from './counters.ts'
export {
  callerPolicyLimits,
  callerView,
  operatorPaths,
  parseCallerPolicy,
} from './policy/caller-policy.ts'
export { type PolicyField, policyFields } from './policy/fields.ts'
export { lintPolicy, type PolicyWarning } from './policy/lint.ts'
export { presets } from './policy/presets.ts'
export {
  type AgentTemplate,
  type PolicyRequest,
  type RequestSettings,
  type ResolvedPolicy,
  type ResolvePolicyOptions,
  resolvePolicy,
  type SettingSource,
} from './policy/resolve.ts'
export {
  type CustomParts,
  type HistoryPolicy,
  type Policy,
  type PolicyInput,
  type PresetName,
  parsePolicy,
} from './policy/schema.ts'
export { type Projection, type ProjectOptions, project } from './project.ts'
export { isContextLengthError } from './providers/context-length.ts'
export type {
  Decoded,
  Encoded,
  Format,
  FormatName,
  Profile,
  Violation,
  WireFormat,
} from './providers/format.ts'
export type {
  AnthropicMessage,
  GeminiContent,
  MessageOf,
  MessageTypes,
  OpenAIChatMessage,
} from './providers/message-types.ts'
export { decode, encode, formatNames, validate, wireFormats } from './providers/registry.ts'
export { compactMessagePrompt, type Prompt } from './rules/compact-prompt.ts'
export {
  type CustomRule,
  type CustomRuleContext,
  defineRule,
  type RuleBlock,
  type RuleMessage,
  type RuleProposal,
  type RuleState,
  type SchemaResult,
  type SettingsSchema,
} from './rules/custom.ts'
export type { Similarity } from './rules/duplicates.ts'
export type { RelevanceJudge } from './rules/relevance.ts'
export type { Success } from './rules/tool-results.ts'
export { type BreakCause, breakCauses } from './schedule/breaks.ts'
export { lookupPrices, type Prices, type PricesQuery } from './schedule/prices.ts'
export {
  type AgentKey,
  type AgentSettings,
  agentSettings,
  type ChatSettings,
  type StoredSettings,
  type ToolSetting,
} from './stores/agent-settings.ts'
export { type MemoryStoreOptions, memoryStore } from './stores/memory/index.ts'
export type { PostgresClient, PostgresPool } from './stores/postgres/driver.ts'
export { type PostgresStoreOptions, postgresStore } from './stores/postgres/index.ts'
/**
 * The file behind `sqliteStore`, read without changing a byte and across all tenants: for tools that check it or copy it, such as
 * `oriel doctor`. Programs use the store. These follow the tables, so they may change with any version.
 */
export { isReadOnly, openForReading, pragma } from './stores/sqlite/database.ts'
export { type SqliteStoreOptions, sqliteStore } from './stores/sqlite/index.ts'
export { SqliteReader, type ThreadState } from './stores/sqlite/read.ts'
export type {
  AppendResult,
  Lease,
  LeaseOptions,
  NewestOptions,
  Problem,
  ReadOptions,
  Snapshot,
  Store,
  StoreChange,
  ThreadInfo,
  ThreadKey,
  ThreadPosition,
  Watch,
  WatchListener,
  WriteOptions,
} from './stores/store.ts'
export type { Rehearsal, ThreadAction } from './thread/actions.ts'
export type { AppendOptions } from './thread/append.ts'
export type { HistoryMatch } from './thread/branches/conversation.ts'
export {
  type HistoryKey,
  historyKeys,
  type ReadHistory,
  type ReadHistoryOptions,
  readHistory,
} from './thread/branches/read-history.ts'
export {
  type Erased,
  type EraseOlderThanOptions,
  type EraseTenantOptions,
  type EraseThreadOptions,
  eraseOlderThan,
  eraseTenant,
  eraseThread,
} from './thread/erase.ts'
export {
  type EventMessage,
  type EventType,
  eventTypes,
  type Listener,
  type MessageEvent,
  type OtherEvent,
  type ThreadEvent,
} from './thread/events.ts'
export type { ExpandOptions, Expansion } from './thread/expand/expand.ts'
export type { Hints, HintsAnswer } from './thread/expand/hints.ts'
export { type Expandable, type ExpandTool, expandTool } from './thread/expand/tool.ts'
export {
  type LastingDirective,
  type ScopeMemory,
  scopeMemory,
} from './thread/memory/lasting.ts'
export type { RecallOptions } from './thread/memory/recall.ts'
export type { CompactOptions, ThreadOptions } from './thread/options.ts'
export {
  type Enriched,
  type EnrichOptions,
  enrich,
  type RetentionUnit,
} from './thread/plugins/enrich.ts'
export type { BlockMessage, Contribution, Plugin, PluginContext } from './thread/plugins/plugin.ts'
export type { Embed } from './thread/search/meaning.ts'
export {
  type Neighbour,
  type SearchKind,
  type SearchOptions,
  type SearchResult,
  searchThreads,
  type ThreadSearchResult,
  type ThreadsSearchOptions,
} from './thread/search/search.ts'
export { type Searchable, type SearchTool, searchTool } from './thread/search/tool.ts'
export type {
  AlignedRequest,
  Summarize,
  SummaryJob,
  SummaryResult,
} from './thread/summaries/answer.ts'
export type { LogReader, SyncResult } from './thread/thread.ts'
export { openThread, type Thread } from './thread/thread.ts'
export type { Accuracy } from './thread/view/calibration.ts'
export type { Explanation } from './thread/view/explain.ts'
export { readUsage, type Usage } from './thread/view/read-usage.ts'
export type { ReadMessage } from './thread/view/reading.ts'
export type { RebuiltRequest, RequestChange } from './thread/view/rebuild.ts'
export { recoveryBudget } from './thread/view/recovery.ts'
export type { Epoch, ExpandOffer, RequestOptions, View, ViewOptions } from './thread/view/view.ts'
