// What fills the window, by category: the next request of a thread as it would be sent, or one that was sent.

import type { Entry, RequestEntry } from '../core/log/entry.ts'
import type { JsonObject } from '../core/log/json.ts'
import { assertOptions, type OptionNames } from '../core/log/options.ts'
import { settings } from '../core/log/settings.ts'
import type { Frame } from '../core/view/view.ts'
import type { FormatName } from '../providers/format.ts'
import { lookupPrices } from '../schedule/prices.ts'
import type { AnyThread } from '../thread/thread.ts'
import { type RequestCategory, requestCategories } from '../thread/view/contents.ts'
import { categoriesIn, type View, type ViewOptions } from '../thread/view/view.ts'

/** The categories, in the order of a request. */
export const contextCategories = requestCategories
export type ContextCategory = RequestCategory

export interface Composition {
  readonly tokens: Readonly<Record<ContextCategory, number>>
  /** All of them together: the tokens of the request. */
  readonly used: number
  /** The model's window, where it is known, and what is left of it. */
  readonly window?: number
  readonly free?: number
  readonly format: string
  readonly model?: string
}

/** Counts the next request of a thread. Writes nothing; reads the log once. */
export async function compositionOf(thread: AnyThread): Promise<Composition> {
  const options = await nextOptions(thread)
  const { format, model } = options
  return compositionIn((await thread.view({ ...options, dryRun: true })) as View, {
    format,
    model,
    contextWindow: thread.policy.compaction?.contextWindow,
  })
}

/** The options with which the next request of a thread comes, if it comes like the newest one. Reads the log once. */
export async function nextOptions(thread: Pick<AnyThread, 'log'>): Promise<NextOptions> {
  const facts = new RequestFacts()
  for await (const entry of thread.log()) facts.take(entry as Entry)
  return facts.options
}

export type NextOptions = Pick<ViewOptions, 'model' | 'frame'> & { readonly format: FormatName }

/** The composition of a view. */
export function compositionIn(view: View, about: CompositionOptions): Composition {
  assertOptions<CompositionOptions>(about, compositionOptions, 'compositionIn')
  return compose(categoriesIn(view), about)
}

export interface CompositionOptions {
  readonly format: string
  readonly model?: string | undefined
  /** The window that a policy names. @default the catalogue's, for the model */
  readonly contextWindow?: number | undefined
}

const compositionOptions: OptionNames<CompositionOptions> = {
  format: true,
  model: true,
  contextWindow: true,
}

/** The composition of a recorded request; undefined for one of an earlier version, which recorded only its sum. */
export function compositionAt(
  { details, format, model }: Pick<RequestEntry, 'details' | 'format' | 'model'>,
  contextWindow?: number,
): Composition | undefined {
  if (details?.parts === undefined) return undefined
  return compose(details.parts, { format, model, contextWindow })
}

function compose(
  parts: Readonly<Record<string, number>>,
  { format, model, contextWindow }: CompositionOptions,
): Composition {
  const tokens = Object.fromEntries(
    contextCategories.map((name) => [name, parts[name] ?? 0]),
  ) as Record<ContextCategory, number>
  const used = Object.values(tokens).reduce((sum, one) => sum + one, 0)
  const window =
    contextWindow ?? (model === undefined ? undefined : lookupPrices({ model }).contextWindow)
  const room = window === undefined ? {} : { window, free: Math.max(0, window - used) }
  return { tokens, used, ...room, format, ...(model === undefined ? {} : { model }) }
}

/** What the log says of the newest request: the format, the model, and what stood around the messages. */
export class RequestFacts {
  #request: RequestEntry | undefined
  readonly #frames = new Map<string, JsonObject>()

  take(entry: Entry): void {
    if (entry.type === 'request') this.#request = entry
    const frame = settings.frame.find(entry)
    if (frame !== undefined)
      this.#frames.set(entry.type === 'setting' ? entry.name : '', frame.value)
  }

  get options(): NextOptions {
    const { format = 'openai-chat', model, frameHash = '' } = this.#request ?? {}
    const frame = this.#frames.get(settings.frame.at(frameHash).name) as Frame | undefined
    return {
      format: format as FormatName,
      ...(model === undefined ? {} : { model }),
      ...(frame === undefined ? {} : { frame }),
    }
  }
}
