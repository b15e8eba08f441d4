// Public API of the gateway.

export type {
  ActionEffect,
  BlockRow,
  Composition,
  ContextCategory,
  EditRow,
  EditsPage,
  EpochRow,
  OutlineRow,
  Overview,
  Timeline,
  TimelineStep,
  ViewBlock,
} from 'oriel/inspect'
export type { Agent } from './api/agent-routes.ts'
export type { Comparison, DifferentBlock, PolicyOutcome } from './api/compare.ts'
export type { Difference, StepRequest } from './api/request-diff.ts'
export type { ThreadSummary } from './api/summary.ts'
export { demoAgents, findStudio, type GatewayConfig, optionsOf, readConfig } from './config.ts'
export { createGateway, type Gateway } from './gateway.ts'
export type { Route } from './http/router.ts'
export { checkHost, type GatewayServer, type ServeOptions, serveGateway } from './http/server.ts'
/** `letHeapGrow` is the former name of `tuneHeap`, kept for one version. */
export { tuneHeap, tuneHeap as letHeapGrow } from './limits/heap.ts'
export { hostLargeCalls } from './offload/large-call-host.ts'
export type {
  AgentOptions,
  GatewayOptions,
  KeyOptions,
  Limits,
  OffloadOptions,
  SummarizerOptions,
  UpstreamOptions,
} from './options.ts'
export { type ProcessErrorsOptions, watchProcess } from './process-errors.ts'
export { readAgents } from './settings/agents.ts'
