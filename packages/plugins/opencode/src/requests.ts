// What opencode's process asks of the process that keeps the threads. opencode runs on Bun, which has no `node:sqlite`: a Node process
// beside it does the work, and the two exchange lines of JSON.

import type { OpencodeMessage } from './messages.ts'

/** What models can call: a name, a description, and a JSON schema of the arguments. */
export interface HostTool {
  readonly name: string
  readonly description: string
  readonly parameters: {
    readonly properties?: Readonly<Record<string, object>>
    readonly required?: readonly string[]
  }
}

export interface HostUsage {
  readonly uncached: number
  readonly cacheRead: number
  readonly cacheWrite: number
  readonly output: number
}

/** Each request with what it takes and answers. */
export interface HostRequests {
  hello: { takes: object; answers: { readonly tools: readonly HostTool[]; readonly help: string } }
  view: {
    takes: { readonly session: string; readonly messages: readonly OpencodeMessage[] }
    answers: readonly OpencodeMessage[]
  }
  system: { takes: { readonly session: string; readonly system: readonly string[] }; answers: null }
  usage: { takes: { readonly session: string; readonly usage: HostUsage }; answers: null }
  lookUp: {
    takes: { readonly session: string; readonly name: string; readonly input: unknown }
    answers: string
  }
  command: { takes: { readonly session: string; readonly words: string }; answers: string }
  checkpoint: {
    takes: { readonly session: string; readonly messages: readonly OpencodeMessage[] }
    answers: string
  }
}

export type HostMethod = keyof HostRequests

export interface HostCall {
  readonly id: number
  readonly method: HostMethod
  readonly params: unknown
}

export interface HostAnswer {
  readonly id: number
  readonly result?: unknown
  /** Why it failed. */
  readonly error?: string
}
