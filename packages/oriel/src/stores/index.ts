// The surface of `oriel/stores`: what it takes to keep logs in a database of your own. The suite that checks it is in `oriel/testing`.

export type {
  AppendBatch,
  BlobRow,
  ChangeFeed,
  Cut,
  Erasure,
  FoundSnapshot,
  LogBackend,
  LogPage,
  LogRow,
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
  ThreadKey,
  ThreadPosition,
  Watch,
  WatchListener,
} from './store.ts'
