// Imports of the library from its sources, so that nothing has to be built, and the working tree is
// measured.

export { prepare } from '../../oriel/src/core/log/prepare.ts'
export { State } from '../../oriel/src/core/state/state.ts'
export { directivesIn } from '../../oriel/src/core/text/directives.ts'
export {
  type Counter,
  decode,
  type Entry,
  type JsonObject,
  memoryStore,
  OrielError,
  openThread,
  type PolicyInput,
  presets,
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
export { judgeRules, type RulesJudgement } from '../../oriel/src/simulate/judge-rules.ts'
export {
  type NamedPolicy,
  simulate,
} from '../../oriel/src/simulate/simulate.ts'
export { generateChat } from '../../oriel/src/simulate/stated-rules.ts'
export { postgresStore } from '../../oriel/src/stores/postgres/index.ts'
export { sqliteStore } from '../../oriel/src/stores/sqlite/index.ts'
export { type Script, script } from '../../oriel/src/testing/script.ts'
export { writeOpenaiChat } from '../../oriel/src/testing/write-openai-chat.ts'
