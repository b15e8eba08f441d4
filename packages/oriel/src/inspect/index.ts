// The surface of `oriel/inspect`: what a log says of its thread, computed once for the gateway's API, the studio and the command.

export { settings } from '../core/log/settings.ts'
export {
  type Composition,
  type ContextCategory,
  compositionOf,
  contextCategories,
} from './composition.ts'
export { dollarsOf, dollarsOfBreak, dollarsSaved } from './cost.ts'
export { type ListedEdit, listEdits } from './edits.ts'
export { type ThreadNumbers, ThreadNumbersFold, threadNumbers } from './numbers.ts'
export { type Timeline, type TimelineStep, timelineOf } from './timeline.ts'
export { type ViewBlock, type ViewBlocksOptions, viewBlocks } from './view-blocks.ts'
