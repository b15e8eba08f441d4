// The surface of `oriel/inspect`: what a log says of its thread, computed once for the gateway's API, the studio and the command.

export { settings } from '../core/log/settings.ts'
export type { ShownPart } from '../thread/view/contents.ts'
export { contentsIn } from '../thread/view/view.ts'
export {
  type Composition,
  type ContextCategory,
  compositionAt,
  compositionIn,
  compositionOf,
  contextCategories,
  type NextOptions,
  nextOptions,
  RequestFacts,
} from './composition.ts'
export { contextReport, type ReportColors } from './context-report.ts'
export { dollarsOf, dollarsOfBreak, dollarsSaved } from './cost.ts'
export {
  type EditRow,
  type EditsPage,
  type EditsPageOptions,
  type EpochRow,
  type ListedEdit,
  listEdits,
} from './edits.ts'
export { type ActionEffect, effectOf } from './effect.ts'
export {
  gathered,
  type InspectedRequest,
  type InspectedView,
  LogInspector,
  type LogInspectorOptions,
  type ReadPace,
} from './log-inspector.ts'
export {
  addDays,
  type Breaks,
  type DayNumbers,
  type RequestTokens,
  type ThreadCost,
  type ThreadNumbers,
  ThreadNumbersFold,
  threadNumbers,
} from './numbers.ts'
export { type BlockRow, type OutlineOptions, type OutlineRow, outlineOf } from './outline.ts'
export { type Overview, OverviewFold } from './overview.ts'
export type { CallCost } from './savings.ts'
export {
  type Timeline,
  type TimelineOptions,
  type TimelineStep,
  timelineOf,
} from './timeline.ts'
export { plainText, type ViewBlock, type ViewBlocksOptions, viewBlocks } from './view-blocks.ts'
