// The one place that says where the library is: its sources beside this package, run by Node as they are. So nothing has to be
// built or linked first, and what is measured is always what the working tree holds.

export { prepare } from '../../oriel/src/core/log/prepare.ts'
export { State } from '../../oriel/src/core/state/state.ts'
export {
  type Counter,
  decode,
  type Entry,
  type JsonObject,
  memoryStore,
  OrielError,
  openThread,
  project,
  resolveCounter,
  type Store,
  type Thread,
  type ThreadKey,
  validate,
} from '../../oriel/src/index.ts'
export {
  type CreateManager,
  type Judgement,
  judgeAll,
  optimalCost,
  type Sent,
  type Studied,
  study,
  type Totals,
  threadManager,
  totalsOf,
  unmanaged,
} from '../../oriel/src/simulate/index.ts'
export { postgresStore } from '../../oriel/src/stores/postgres/index.ts'
export { sqliteStore } from '../../oriel/src/stores/sqlite/index.ts'
export { type Script, script } from '../../oriel/src/testing/script.ts'
export { writeOpenaiChat } from '../../oriel/src/testing/write-openai-chat.ts'
