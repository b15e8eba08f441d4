// The OpenAI Agents SDK: a session that keeps every item in a thread, and a filter that shows the model the view of them.

import type { AgentInputItem, CallModelInputFilter, Session } from '@openai/agents-core'
import { canonicalJson, isObject, type Json, type JsonObject } from '../core/log/json.ts'
import { assertOptions, type OptionNames } from '../core/log/options.ts'
import type { TokensOption } from '../counters.ts'
import type { PolicyInput } from '../policy/schema.ts'
import { project } from '../project.ts'
import { formatNamed } from '../providers/registry.ts'
import { sha256 } from '../sha256.ts'
import type { AnyThread } from '../thread/thread.ts'
import type { ShownView } from './conversation.ts'

export interface ModelInputOptions {
  /** What the model is shown of the items. @default 'recommended' */
  readonly policy?: PolicyInput
  /** Tokens a request may use, instructions included. @default no limit but the policy's */
  readonly budget?: number
  /** How tokens are counted. @default 'estimate' */
  readonly tokens?: TokensOption
  /** Told of what a model is about to see. Cannot change it. */
  readonly onView?: (view: Pick<ShownView, 'trace' | 'tokens'>) => void
}

const inputOptions: OptionNames<ModelInputOptions> = {
  policy: true,
  budget: true,
  tokens: true,
  onView: true,
}

/**
 * For `run(agent, input, { callModelInputFilter: modelInputFilter() })` or a `Runner`: every model call of a run shows the view, the run's own
 * items stay whole. An item that is shown whole is the very item.
 */
export function modelInputFilter(options: ModelInputOptions = {}): CallModelInputFilter {
  assertOptions<ModelInputOptions>(options, inputOptions, 'modelInputFilter')
  const { policy = 'recommended', budget, tokens, onView } = options
  return ({ modelData }) => {
    const { input, instructions } = modelData
    const written = input.map((item, index) => ({ ...toResponses(item), [mark]: index }))
    const shown = project<JsonObject>(written, policy, {
      format: 'openai-responses',
      ...(instructions === undefined ? {} : { frame: { system: instructions } }),
      ...(budget === undefined ? {} : { budget }),
      ...(tokens === undefined ? {} : { tokens }),
    })
    onView?.({ trace: shown.trace, tokens: shown.tokens })
    const known = written.map((item) => canonicalJson(item))
    return {
      ...modelData,
      input: shown.messages.map((item) => {
        const { [mark]: index, ...rest } = item
        const original = typeof index === 'number' ? input[index] : undefined
        if (original === undefined) return fromResponses(rest)
        // What cannot be written in part is shown whole.
        const isWhole = known[Number(index)] === canonicalJson(item) || !isPlain(original)
        return isWhole ? original : ({ ...original, ...fromResponses(rest) } as AgentInputItem)
      }),
    }
  }
}

/** Carries the index of an item through the projection: formats keep fields that they do not know. */
const mark = 'oriel_item'

export interface OrielSessionOptions extends ModelInputOptions {
  /** Where the items are kept. One thread, one session. */
  readonly thread: AnyThread
}

/** A session whose items stay, with the filter that shows the model the view of them. */
export interface OrielSession extends Session {
  /** Pass it beside the session: `run(agent, input, { session, callModelInputFilter: session.callModelInputFilter })`. */
  readonly callModelInputFilter: CallModelInputFilter
}

/**
 * A session on a thread.
 *
 * - Items are appended to the thread's log, and given back as they came.
 * - `popItem` and `clearSession` exclude items from the session and from every view; the log keeps them until the thread is erased.
 */
export function orielSession(options: OrielSessionOptions): OrielSession {
  const names: OptionNames<OrielSessionOptions> = { ...inputOptions, thread: true }
  assertOptions<OrielSessionOptions>(options, names, 'orielSession')
  const { thread, ...rest } = options
  const kept = async (): Promise<readonly { id: string; item: AgentInputItem }[]> => {
    const gone = new Set<number>()
    const found: { seq: number; id: string; item: AgentInputItem }[] = []
    for (const entry of await thread.log()) {
      if (entry.type === 'mark' && entry.mark === 'exclude') gone.add(entry.target)
      if (entry.type === 'mark' && entry.mark === 'include') gone.delete(entry.target)
      if (entry.type !== 'message' || !isObject(entry.meta)) continue
      // Only `addItems` writes it.
      const item = entry.meta.item as unknown as AgentInputItem
      found.push({ seq: entry.seq, id: entry.id, item })
    }
    return found.filter(({ seq }) => !gone.has(seq))
  }
  return {
    callModelInputFilter: modelInputFilter(rest),
    getSessionId: async () => thread.id,
    async getItems(limit) {
      const items = (await kept()).map(({ item }) => item)
      return limit === undefined ? items : items.slice(Math.max(0, items.length - limit))
    },
    async addItems(items) {
      const { decode } = formatNamed('openai-responses')
      const drafts = items.flatMap((item) =>
        decode([toResponses(item)], 'items').map(({ draft: { native: _native, ...draft } }) => ({
          ...draft,
          meta: { item: item as unknown as Json },
        })),
      )
      if (drafts.length > 0) await thread.append(drafts)
    },
    async popItem() {
      const last = (await kept()).at(-1)
      if (last === undefined) return undefined
      await thread.exclude(last.id)
      return last.item
    },
    async clearSession() {
      for (const { id } of await kept()) await thread.exclude(id)
    },
  }
}

/** Whether an item has the same meaning in the Responses, so that a shorter form of it can be written back. */
function isPlain(item: AgentInputItem): boolean {
  const { type = 'message' } = item as { readonly type?: string }
  if (type === 'function_call_result') return outputText(item) !== undefined
  return type === 'message' || type === 'function_call'
}

/** The text of a result; undefined where it has pictures or files. */
function outputText(item: AgentInputItem): string | undefined {
  const { output } = item as { readonly output?: unknown }
  if (typeof output === 'string') return output
  return isObject(output) && typeof output.text === 'string' ? output.text : undefined
}

/**
 * An item as the Responses have it: the same calls and results by other names. Of kinds that only the SDK knows, the whole item is the text
 * of a call or a result, so that the two stay together; others are opaque.
 */
function toResponses(item: AgentInputItem): JsonObject {
  // Items are JSON, as every session stores them.
  const fields = item as unknown as JsonObject
  const { type = 'message', callId, id } = fields
  if (type === 'message') return contentOf(fields)
  if (typeof callId === 'string') {
    const call = { call_id: callId }
    if (type === 'function_call') {
      const { callId: _callId, ...rest } = fields
      return { ...rest, ...call }
    }
    const isResult = /_(result|output)$/.test(String(type))
    if (!isResult) {
      return { type: 'function_call', ...call, name: type, arguments: JSON.stringify(fields) }
    }
    const output = outputText(item) ?? JSON.stringify(fields.output ?? fields)
    return { type: 'function_call_output', ...call, output }
  }
  if (type === 'reasoning') {
    const parts = Array.isArray(fields.content) ? (fields.content as readonly Json[]) : []
    const summary = parts.flatMap((part) =>
      isObject(part) && typeof part.text === 'string'
        ? [{ type: 'summary_text', text: part.text }]
        : [],
    )
    return { type, id: id ?? `rs_${sha256(JSON.stringify(fields)).slice(0, 16)}`, summary }
  }
  return { type: `agents_${String(type)}`, item: fields }
}

/** A message with text alone is the same in both; pictures and files are counted by what the Responses call them. */
function contentOf(fields: JsonObject): JsonObject {
  const { content, providerData: _providerData, ...rest } = fields
  if (!Array.isArray(content)) return { ...rest, type: 'message', content: content ?? '' }
  const parts = (content as readonly Json[]).map((part): Json => {
    if (!isObject(part)) return part as Json
    const { providerData: _own, ...own } = part as JsonObject
    if (own.type !== 'input_image' || typeof own.image !== 'string') return own
    return { type: 'input_image', image_url: own.image, detail: own.detail ?? 'auto' }
  })
  return { ...rest, type: 'message', content: parts }
}

/** The fields that a view may have changed, and what Oriel itself wrote. */
function fromResponses(item: JsonObject): AgentInputItem {
  const { call_id: callId, output, type } = item
  if (type === 'function_call_output') {
    const text = typeof output === 'string' ? output : JSON.stringify(output)
    const result = { type: 'function_call_result', callId, output: { type: 'text', text } }
    return result as unknown as AgentInputItem
  }
  if (type === 'function_call') {
    const { call_id: _callId, ...rest } = item
    return { ...rest, callId } as unknown as AgentInputItem
  }
  return item as unknown as AgentInputItem
}
