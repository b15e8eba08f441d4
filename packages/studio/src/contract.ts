// Response types of the gateway, as far as the page uses them.

import type {
  Agent,
  StepRequest,
  ThreadSummary as Summary,
  TimelineStep,
  ViewBlock,
} from '@oriel/gateway'
import type {
  Block,
  Change,
  Entry,
  FileBlock,
  Form,
  ImageBlock,
  Json,
  JsonObject,
  Policy,
  SettingSource,
  Usage,
  View,
} from 'oriel'

export type {
  Agent,
  Block,
  Entry,
  FileBlock,
  Form,
  ImageBlock,
  Json,
  JsonObject,
  Policy,
  StepRequest,
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

/** A view under another policy; `replay` is the total that all steps would have sent. */
export interface OtherView extends ThreadView {
  readonly replay?: { readonly steps: number; readonly input: number; readonly repeated: number }
}

export interface StepSummary {
  readonly seq: number
  readonly step: number
  readonly at: number
  readonly format: string
  readonly model?: string
}

export type ListedEdit = Extract<Entry, { type: 'edit' }> & { readonly live: boolean }

export type Expansion =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly reason: string }
