// What fills the window now, by category: the next request of a thread, as it would be sent.

import { type Block, textOf } from '../core/log/block.ts'
import type { Entry, RequestEntry } from '../core/log/entry.ts'
import type { JsonObject } from '../core/log/json.ts'
import { settings } from '../core/log/settings.ts'
import { type Counter, countBlock, overheadOf } from '../core/tokens/counter.ts'
import { frameTokens } from '../core/tokens/tally.ts'
import type { Frame } from '../core/view/view.ts'
import { resolveCounter, type TokensOption } from '../counters.ts'
import type { FormatName } from '../providers/format.ts'
import { decode } from '../providers/registry.ts'
import { lookupPrices } from '../schedule/prices.ts'
import type { AnyThread } from '../thread/thread.ts'

/** The categories, in the order of a request. */
export const contextCategories = [
  'system',
  'tools',
  'summary',
  'directives',
  'user',
  'assistant',
  'results',
] as const
export type ContextCategory = (typeof contextCategories)[number]

export interface Composition {
  readonly tokens: Readonly<Record<ContextCategory, number>>
  /** All of them together. */
  readonly used: number
  /** The model's window, where it is known, and what is left of it. */
  readonly window?: number
  readonly free?: number
  readonly format: string
  readonly model?: string
}

/** Counts the next request of a thread. Writes nothing; reads the log once. */
export async function compositionOf(thread: AnyThread): Promise<Composition> {
  const facts = new RequestFacts()
  for await (const entry of thread.log()) facts.take(entry as Entry)
  const { format, model, frame, counter } = facts
  const named = { format, ...(model === undefined ? {} : { model }) }
  const view = await thread.view({ ...named, ...(frame && { frame }), dryRun: true })
  const tokens = Object.fromEntries(contextCategories.map((name) => [name, 0])) as Record<
    ContextCategory,
    number
  >
  const system = frame?.system ?? view.system
  tokens.system = system === undefined ? 0 : frameTokens(counter, { system })
  tokens.tools = frame === undefined ? 0 : frameTokens(counter, withoutSystem(frame))
  for (const { draft } of decode(format, view.messages)) {
    const blocks = blocksOf(draft.content)
    const own = facts.isSummary(textOf(blocks)) ? 'summary' : undefined
    for (const block of blocks) {
      tokens[own ?? categoryOf(draft.role, block)] += countBlock(counter, block)
    }
    const [first] = blocks
    if (first !== undefined) tokens[own ?? categoryOf(draft.role, first)] += overheadOf(draft.role)
  }
  const carried = view.directives
    .filter(({ text }) => facts.summary?.includes(text) === true)
    .reduce((sum, { text }) => sum + counter.count(text), 0)
  tokens.directives = Math.min(carried, tokens.summary)
  tokens.summary -= tokens.directives
  const used = Object.values(tokens).reduce((sum, one) => sum + one, 0)
  const window =
    thread.policy.compaction?.contextWindow ??
    (model === undefined ? undefined : lookupPrices({ model }).contextWindow)
  const room = window === undefined ? {} : { window, free: Math.max(0, window - used) }
  return { tokens, used, ...room, ...named }
}

/** What the log says of the newest request: the format, the model, and what stood around the messages. */
class RequestFacts {
  #request: RequestEntry | undefined
  #tokens: string | undefined
  readonly #frames = new Map<string, JsonObject>()
  /** The text of the newest checkpoint. */
  summary: string | undefined

  take(entry: Entry): void {
    if (entry.type === 'request') this.#request = entry
    if (entry.type === 'edit' && entry.digest !== undefined) this.summary = entry.text
    this.#tokens ??= settings.header.find(entry)?.tokens
    const frame = settings.frame.find(entry)
    if (frame !== undefined) this.#frames.set(frame.key, frame.value)
  }

  get format(): FormatName {
    return (this.#request?.format ?? 'openai-chat') as FormatName
  }

  get model(): string | undefined {
    return this.#request?.model
  }

  get frame(): Frame | undefined {
    const hash = this.#request?.frameHash ?? ''
    for (const [key, frame] of this.#frames) if (hash.startsWith(key)) return frame
    return undefined
  }

  get counter(): Counter {
    const isOurs = this.#tokens === 'o200k' || this.#tokens === 'estimate'
    return resolveCounter(isOurs ? (this.#tokens as TokensOption) : 'estimate')
  }

  isSummary(text: string): boolean {
    return this.summary !== undefined && text !== '' && text.includes(this.summary.slice(0, 400))
  }
}

function withoutSystem({ tools, params }: Frame): Frame {
  return { ...(tools === undefined ? {} : { tools }), ...(params === undefined ? {} : { params }) }
}

function blocksOf(content: string | readonly Block[]): readonly Block[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}

function categoryOf(role: string, { type }: Block): ContextCategory {
  if (type === 'tool-result' || role === 'tool') return 'results'
  if (role === 'system') return 'system'
  return role === 'user' ? 'user' : 'assistant'
}
