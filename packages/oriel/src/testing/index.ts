// Test kit for custom formats, stores and rules: generators, builders and suites.

export type { Conversation } from './arbitraries.ts'
export {
  aiSdkConversation,
  anthropicConversation,
  audienceArbitrary,
  budgetArbitrary,
  compactionArbitrary,
  conversationOf,
  expiryArbitrary,
  expirySettingArbitrary,
  geminiConversation,
  historyArbitrary,
  langchainConversation,
  lifetimeArbitrary,
  memoryArbitrary,
  neutralConversation,
  openaiChatConversation,
  openaiResponsesConversation,
  policyArbitrary,
  policyPartsArbitrary,
  retentionArbitrary,
  toolOutputArbitrary,
  toolResultsArbitrary,
} from './arbitraries.ts'
export type { BuiltCall } from './builders.ts'
export {
  aiSdkMessage,
  anthropicMessage,
  chatMessage,
  geminiContent,
  langchainMessage,
  responsesItem,
} from './builders.ts'
export type { FormatSuiteOptions } from './format-suite.ts'
export { describeFormat } from './format-suite.ts'
export type { Mutation } from './mutations.ts'
export { brokenConversation, mutate, mutationsArbitrary } from './mutations.ts'
export type { OpenedStore, StoreSuiteOptions } from './store-suite.ts'
export { describeStore } from './store-suite.ts'
