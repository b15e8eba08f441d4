// The public surface. Everything here is documented, tested and hard to take back.

export { callerPolicyLimits, callerView, parseCallerPolicy } from './caller-policy.ts'
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
} from './core/block.ts'
export { type Counter, countBlock, overheadOf } from './core/counter.ts'
export type {
  Draft,
  Edit,
  EditEntry,
  Entry,
  EntryId,
  Expiry,
  Form,
  MessageEntry,
  Native,
  RequestEntry,
  Source,
  UsageEntry,
} from './core/entry.ts'
export { type ErrorCode, errorCodes, OrielError, type OrielErrorOptions } from './core/errors.ts'
export { expandToolNames } from './core/expansion.ts'
export type { Json, JsonObject } from './core/json.ts'
/** The text that hashes of JSON values are made over: sorted keys, one text for one value. */
export { canonicalJson, equalJson } from './core/json.ts'
export type { Change, Frame, TokenCount, ViewMessage } from './core/view.ts'
export { resolveCounter, type TokensOption } from './counters.ts'
export {
  type Decoded,
  type Encoded,
  type Format,
  type FormatName,
  formatNames,
  type Profile,
  type Violation,
  type WireFormat,
  wireFormats,
} from './formats/format.ts'
export { decode, encode, validate } from './formats/registry.ts'
export { applyHistoryPolicy, type HistoryPolicyOptions } from './history-policy.ts'
export { isContextLengthError } from './overflow.ts'
export {
  type HistoryPolicy,
  type Policy,
  type PolicyInput,
  type PresetName,
  parsePolicy,
} from './policy.ts'
export { type PolicyField, policyFields } from './policy-fields.ts'
export { presets } from './presets.ts'
export { type Projection, type ProjectOptions, project } from './project.ts'
export { compactMessagePrompt, type Prompt } from './rules/compact-prompt.ts'
export type { Relevance } from './rules/relevance.ts'
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
export { type MemoryStoreOptions, memoryStore } from './stores/memory.ts'
export { type PostgresStoreOptions, postgresStore } from './stores/postgres.ts'
export type { PostgresClient, PostgresPool } from './stores/postgres-driver.ts'
export { type SqliteStoreOptions, sqliteStore } from './stores/sqlite.ts'
/**
 * The file behind `sqliteStore`, read without changing a byte and across all tenants: for tools that check it or copy it, such as
 * `oriel doctor`. Programs use the store. These follow the tables, so they may change with any version.
 */
export { isReadOnly, openForReading, pragma } from './stores/sqlite-database.ts'
export { SqliteReader, type ThreadState } from './stores/sqlite-reader.ts'
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
export type { SummaryResult } from './thread/answer.ts'
export type { Accuracy } from './thread/calibration.ts'
export type { CompactOptions } from './thread/compact-options.ts'
export {
  type Enriched,
  type EnrichOptions,
  enrich,
  type RetentionUnit,
} from './thread/enrich.ts'
export {
  type Erased,
  type EraseOlderThanOptions,
  type EraseTenantOptions,
  type EraseThreadOptions,
  eraseOlderThan,
  eraseTenant,
  eraseThread,
} from './thread/erase.ts'
export { type EventType, eventTypes, type Listener, type ThreadEvent } from './thread/events.ts'
export type { ExpandOptions, Expansion } from './thread/expand.ts'
export { type Expandable, type ExpandTool, expandTool } from './thread/expand-tool.ts'
export type { HistoryMatch } from './thread/family.ts'
export { historyKeys } from './thread/history-keys.ts'
export type { AppendOptions } from './thread/incoming.ts'
export type { LogReader } from './thread/log-reader.ts'
export type { BlockMessage, Contribution, Plugin, PluginContext } from './thread/plugin.ts'
export {
  type HistoryKey,
  type ReadHistory,
  type ReadHistoryOptions,
  readHistory,
} from './thread/read-history.ts'
export { readUsage, type Usage } from './thread/read-usage.ts'
export type { ReadMessage } from './thread/reading.ts'
export type { RebuiltRequest, RequestChange } from './thread/requests.ts'
export {
  type AgentTemplate,
  type RequestSettings,
  type ResolvedPolicy,
  type ResolvePolicyOptions,
  resolvePolicy,
  type SettingSource,
} from './thread/settings.ts'
export type { Summarize, SummaryJob } from './thread/summary.ts'
export type { SyncResult } from './thread/sync.ts'
export { openThread, type Thread } from './thread/thread.ts'
export type { ThreadOptions } from './thread/thread-options.ts'
export type { Epoch, RequestOptions, View, ViewOptions } from './thread/viewing.ts'
