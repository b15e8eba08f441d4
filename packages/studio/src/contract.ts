// What the gateway answers, as far as the page reads it.

import type { Block, Change, Entry, Json, JsonObject, Policy } from 'oriel'

export type { Block, Entry, Json, JsonObject, Policy }

export type Form = 'full' | 'clipped' | 'summarized' | 'omitted' | 'dropped'
export type Source = 'environment' | 'request' | 'agent' | 'default'

export interface Usage {
  readonly uncached: number
  readonly cacheRead: number
  readonly cacheWrite: number
  readonly output: number
}

export interface AgentSummary {
  readonly name: string
  readonly title?: string
  readonly model?: string
}

export interface Info {
  readonly version: string
  readonly isDemo: boolean
  readonly hasKeys: boolean
  readonly upstreams: readonly { readonly name: string; readonly models?: readonly string[] }[]
  readonly defaultPolicy: Policy
  readonly presets: readonly string[]
  readonly agents: readonly AgentSummary[]
  readonly requestOverrides: string
}

export interface ToolDefinition {
  readonly name: string
  readonly description: string
  readonly parameters: JsonObject
}

export interface Agent extends AgentSummary {
  readonly description?: string
  readonly system?: string
  readonly tools: readonly ToolDefinition[]
}

export interface Settings {
  readonly policy: Policy
  readonly sources: Readonly<Record<string, Source>>
  readonly warnings: readonly string[]
  readonly chat: { readonly historyPolicy: string; readonly historyLength?: number }
}

export interface ThreadSummary {
  readonly id: string
  readonly title: string
  readonly createdAt: number
  readonly updatedAt: number
  readonly bytes: number
  readonly entries: number
  readonly messages: number
  readonly turns: number
  readonly steps: number
  readonly tokens: { readonly log: number; readonly view: number }
  readonly usage: Usage
  readonly cost?: { readonly dollars: number; readonly model: string }
  readonly model?: string
  readonly forkedFrom?: { readonly thread: string; readonly at: number }
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

export interface ViewBlock {
  readonly id: string
  readonly message: string
  readonly seq: number
  readonly index: number
  readonly turn: number
  readonly step: number
  readonly role: string
  readonly kind?: string
  readonly isPinned: boolean
  readonly isExcluded: boolean
  readonly edit?: string
  readonly type: string
  readonly form: Form
  readonly rule?: string
  readonly reason?: string
  readonly tokensBefore?: number
  readonly tokensAfter?: number
  readonly canExpand: boolean
  readonly text: string
}

export interface ThreadView {
  readonly id: string
  readonly format: string
  readonly messages: readonly JsonObject[]
  readonly system?: Json
  readonly trace: readonly Change[]
  readonly tokens: { readonly before: number; readonly after: number }
  readonly budget?: number
  readonly epoch: { readonly id?: string; readonly applied: boolean; readonly cause?: string }
  readonly blocks: readonly ViewBlock[]
}

/** A view under another policy; `replay` is what all steps together would have sent. */
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

export interface StepRequest {
  readonly request: StepSummary
  readonly body: JsonObject
  readonly exact: boolean
  readonly change?: {
    readonly index: number
    readonly cause: string
    readonly rule?: string
    readonly reason?: string
  }
  readonly difference: {
    readonly previousStep?: number
    readonly first?: number
    readonly removed: readonly JsonObject[]
    readonly added: readonly JsonObject[]
    readonly same: number
  }
}

export interface TimelineStep {
  readonly step: number
  readonly at: number
  readonly model?: string
  readonly format: string
  readonly tokens: { readonly view: number; readonly log: number; readonly budget?: number }
  readonly usage?: Usage
  readonly cost?: {
    readonly dollars?: number
    readonly units?: number
    readonly unitsWithout?: number
  }
  readonly epoch?: {
    readonly id: string
    readonly edits: number
    readonly rules: readonly string[]
    readonly tokensSaved: number
  }
  readonly compaction?: boolean
  readonly cacheBreak?: { readonly cause: string }
  readonly interrupted?: boolean
}

export type ListedEdit = Extract<Entry, { type: 'edit' }> & { readonly live: boolean }

export type Expansion =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly reason: string }
