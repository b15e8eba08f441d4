// What a streamed answer says, gathered while it passes by.

import type { Json, JsonObject } from 'oriel'

export interface Answer {
  /** Messages (or items) as a client sends them back. */
  readonly messages: readonly Json[]
  /** The provider's own numbers, as it wrote them. */
  readonly usage?: JsonObject
  readonly response?: ResponseFacts
}

/** What an answer says of itself, besides its content. */
export interface ResponseFacts {
  readonly id?: string
  readonly model?: string
  /** Why the model stopped, in the provider's own word. */
  readonly finish?: string
}

/** Adds what is said; what is no text is not. */
export function noteFacts(
  facts: { id?: string; model?: string; finish?: string },
  { id, model, finish }: { readonly [Key in keyof ResponseFacts]: Json | undefined },
): void {
  if (typeof id === 'string') facts.id = id
  if (typeof model === 'string') facts.model = model
  if (typeof finish === 'string') facts.finish = finish
}

/** Gathers one stream. Must never throw: what it does not understand it leaves out. */
export interface Collector {
  take(event: { readonly event?: string | undefined; readonly data: string }): void
  /** Whether the answer has come whole. */
  readonly isComplete: boolean
  /** Whether nothing more comes that belongs to it, numbers included. */
  readonly isOver: boolean
  /** What has come so far. */
  answer(): Answer | undefined
}

export function parseObject(text: string): Record<string, Json> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    const isRecord = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isRecord ? (value as Record<string, Json>) : undefined
  } catch {
    return undefined
  }
}
