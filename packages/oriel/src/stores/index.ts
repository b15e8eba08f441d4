// The surface of `oriel/stores`: what it takes to keep logs in a database of your own. The suite that checks it is in `oriel/testing`.

export type { Passage, Place, Speaker } from '../core/search/passages.ts'
export type { IndexedPassage, ScoredPassage } from '../core/search/rank.ts'
export type {
  AppendBatch,
  BlobRow,
  ChangeFeed,
  Cut,
  Erasure,
  FoundSnapshot,
  IndexBatch,
  IndexProgress,
  LogBackend,
  LogPage,
  LogRow,
  SearchIndex,
  SearchScope,
  SnapshotRow,
  ThreadHead,
  ThreadQuery,
  ThreadRow,
  ValueKey,
  ValueRow,
} from './backend.ts'
export { type CreateStoreOptions, createStore } from './create-store.ts'
export type { KeyValue, NamedValue } from './key-value.ts'
export type {
  Lease,
  LeaseOptions,
  Store,
  StoreChange,
  StoreMatches,
  StoreQuery,
  ThreadKey,
  ThreadPosition,
  Watch,
  WatchListener,
} from './store.ts'
