// The surface of `oriel/providers`: the HTTP APIs, each with its messages, requests, answers, tools, usage and errors. It needs nothing of Node,
// so that pages can use it too.

export { EventCutter } from './events.ts'
export type { BodyFields, CacheMarks, Format, Origin } from './format.ts'
export { bodyOf } from './format.ts'
// For pages that read answers and nothing else: a bundler leaves out the rest.
export { answers as openaiChatAnswers } from './openai-chat/stream.ts'
export type {
  AskedCompaction,
  CallResult,
  CompactionFormat,
  ErrorFormat,
  Forcing,
  NamedConversations,
  OwnCall,
  PlacedMessage,
  Provider,
  ProviderError,
  RequestFormat,
  ResendFormat,
  SortedCalls,
  StoredHistory,
  ToolDefinition,
  ToolEchoes,
  ToolEligibility,
  ToolFormat,
  UsageFormat,
  WrittenView,
} from './provider.ts'
export { fillPath, matchPath, modelOf } from './provider.ts'
export {
  apiRoots,
  formatNamed,
  isApiPath,
  keyHeaders,
  providerAt,
  providerNamed,
  providerOfBody,
  providers,
  speakerAt,
} from './registry.ts'
export type { RoundKind, SpliceOptions, Splicer, StreamEvent, StreamFailure } from './splice.ts'
export type { Answer, AnswerFormat, AnswerStream, ResponseFacts } from './stream.ts'
export { endOfStream, parseAnswer, parseEvent, parseObject } from './stream.ts'
export type {
  MakeId,
  Measured,
  Part,
  Reply,
  WriteOptions,
  WrittenAnswer,
  WrittenEvent,
} from './write.ts'
export { fixedSeconds, pieces, streamTexts } from './write.ts'
