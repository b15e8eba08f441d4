// The subpath `oriel/project`: the stateless part, without any module of Node. For browsers, edge functions, Deno, Bun and any Node.

export type { Edit, Form } from './core/log/entry.ts'
export {
  type ErrorCode,
  errorCodes,
  OrielError,
  type OrielErrorOptions,
} from './core/log/errors.ts'
export type { Json, JsonObject } from './core/log/json.ts'
export type { Counter } from './core/tokens/counter.ts'
export type { Change, Frame, TokenCount } from './core/view/view.ts'
export type { TokensOption } from './counters.ts'
export { presets } from './policy/presets.ts'
export {
  type CustomParts,
  type Policy,
  type PolicyInput,
  type PresetName,
  parsePolicy,
} from './policy/schema.ts'
export { type Projection, type ProjectOptions, project } from './project.ts'
export { formatNames } from './providers/codecs.ts'
export type { FormatName } from './providers/format.ts'
export {
  type CustomRule,
  type CustomRuleContext,
  defineRule,
  type RuleBlock,
  type RuleMessage,
  type RuleProposal,
  type RuleState,
  type SettingsSchema,
} from './rules/custom.ts'
export type { Success } from './rules/tool-results.ts'
