// Response types of the gateway, as far as the page uses them.

import type {
  ActionEffect,
  Agent,
  BlockRow,
  Comparison,
  Composition,
  ContextCategory,
  DifferentBlock,
  EditRow,
  EditsPage,
  EpochRow,
  OutlineRow,
  PolicyOutcome,
  StepRequest,
  ThreadSummary as Summary,
  Overview as Sums,
  TimelineStep,
  ViewBlock,
} from '@oriel/gateway'
import type {
  Block,
  Change,
  Entry,
  Form,
  Json,
  JsonObject,
  Policy,
  SettingSource,
  ThreadAction,
  Usage,
  View,
} from 'oriel'

export type {
  ActionEffect,
  Agent,
  Block,
  BlockRow,
  Comparison,
  Composition,
  ContextCategory,
  DifferentBlock,
  EditRow,
  EditsPage,
  Entry,
  EpochRow,
  Form,
  Json,
  JsonObject,
  OutlineRow,
  Policy,
  PolicyOutcome,
  StepRequest,
  ThreadAction,
  TimelineStep,
  Usage,
  ViewBlock,
}

export type Source = SettingSource

export interface Info {
  readonly version: string
  readonly isDemo: boolean
  readonly hasKeys: boolean
  readonly upstreams: readonly { readonly name: string; readonly models?: readonly string[] }[]
  readonly defaultPolicy: Policy
  readonly presets: readonly string[]
  /** The settings behind the names. */
  readonly presetPolicies: Readonly<Record<string, Policy>>
  readonly agents: readonly Pick<Agent, 'name' | 'title' | 'model'>[]
  readonly requestOverrides: string
  /** The caller's own tenant, for admin keys. */
  readonly tenant?: string
}

export interface Settings {
  readonly policy: Policy
  readonly sources: Readonly<Record<string, Source>>
  readonly warnings: readonly string[]
  readonly chat: { readonly historyPolicy: string; readonly historyLength?: number }
}

/** A thread in the list; a single thread also has its policy. */
export interface ThreadSummary extends Summary {
  readonly policy?: Policy
}

export interface ThreadPage {
  readonly threads: readonly ThreadSummary[]
  readonly cursor?: string
}

export interface LogPage {
  readonly entries: readonly Entry[]
  readonly version: number
  readonly next?: number
}

export interface ThreadView {
  readonly id: string
  readonly format: string
  readonly messages: readonly JsonObject[]
  readonly system?: Json
  readonly trace: readonly Change[]
  readonly tokens: { readonly before: number; readonly after: number }
  readonly budget?: number
  readonly epoch: View['epoch']
  /** Standing instructions that hold now; absent for a view of the past. */
  readonly directives?: View['directives']
  readonly blocks: readonly ViewBlock[]
}

/** A field of a policy, as a form shows it. */
export interface PolicyField {
  readonly path: string
  readonly part: string
  /** The path inside the part; absent for a part that is a value itself. */
  readonly field?: string
  readonly kind: 'integer' | 'share' | 'boolean' | 'choice' | 'text'
  readonly choices?: readonly string[]
  readonly default?: string | number | boolean
  readonly defaultText: string
  readonly minimum?: number
}

export interface Overview extends Sums {
  /** Whether there are more threads than could be read in time. */
  readonly isPartial: boolean
}

/** The log beside one request. */
export interface Outline {
  readonly version: number
  /** Names these rows; a later answer may be the difference to them. */
  readonly name: string
  /** Absent for the next request. */
  readonly step?: number
  readonly at?: number
  readonly tokens: { readonly log: number; readonly view: number }
  /** Messages of a request that was sent. */
  readonly messages?: number
  readonly context?: Composition
  readonly exact?: boolean
  readonly previousStep?: number
  readonly change?: StepRequest['change']
  readonly rows: readonly OutlineRow[]
}

/** An outline, or the rows of it that those under another name do not have. */
export interface OutlineAnswer extends Outline {
  readonly base?: { readonly name: string; readonly start: number; readonly end: number }
}

export interface TimelineAnswer {
  readonly version: number
  readonly steps: readonly TimelineStep[]
}

export interface Preview {
  readonly text: string
  /** What the request shows in its place, where that is shorter. */
  readonly shown?: string
  /** The original behind the lines that are shown as they were said. */
  readonly rest?: { readonly text: string; readonly length: number }
  readonly length: number
  /** A data URL. */
  readonly picture?: string
}

export interface WholeBlock {
  readonly original: string
  readonly shown?: string
  readonly picture?: string
}

/** What a user said is to hold in all conversations. */
export interface LastingInstruction {
  readonly id: string
  readonly text: string
  /** Where it was said. */
  readonly thread: string
  readonly seq: number
  readonly isEdited: boolean
  /** For keys that may see every tenant. */
  readonly tenant?: string
}

/** A message that a search found. */
export interface Found {
  readonly thread: string
  readonly id: string
  readonly seq: number
  readonly role: string
  readonly tool?: string
  readonly text: string
  readonly tenant?: string
}

export interface StepSummary {
  readonly seq: number
  readonly step: number
  readonly at: number
  readonly format: string
  readonly model?: string
}

export type Expansion =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly reason: string }

/** What an action would do, or why it would be refused. */
export type EffectAnswer =
  | ({ readonly ok: true } & ActionEffect)
  | { readonly ok: false; readonly reason: string }
