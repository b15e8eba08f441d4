// Anthropic's `clear_tool_uses` edit, done before a request is sent: for models, hosts and gateways that do not have it.

import { wrongOption } from '../core/log/errors.ts'
import { isObject, type Json } from '../core/log/json.ts'
import { assertOptions, type OptionNames } from '../core/log/options.ts'
import type { Change, Frame } from '../core/view/view.ts'
import type { TokensOption } from '../counters.ts'
import { project } from '../project.ts'
import { defineRule, type RuleBlock } from '../rules/custom.ts'

/** The fields of `clear_tool_uses_20250919`, with their defaults. */
export interface ClearToolUsesEdit {
  readonly type?: 'clear_tool_uses_20250919'
  /** When to clear: above so many tokens of the request, or so many tool uses. @default 100,000 input tokens */
  readonly trigger?: {
    readonly type: 'input_tokens' | 'tool_uses'
    readonly value: number
  }
  /** How many of the newest tool uses stay as they are. @default 3 tool uses */
  readonly keep?: { readonly type: 'tool_uses'; readonly value: number }
  /** Clears nothing if fewer tokens than these would go. @default 0 input tokens */
  readonly clear_at_least?: { readonly type: 'input_tokens'; readonly value: number } | null
  /** Tools whose uses are never cleared. @default none */
  readonly exclude_tools?: readonly string[] | null
  /** Whether the inputs of cleared calls go too: of all tools, or of these. @default false */
  readonly clear_tool_inputs?: boolean | readonly string[] | null
}

const editNames: OptionNames<ClearToolUsesEdit> = {
  type: true,
  trigger: true,
  keep: true,
  clear_at_least: true,
  exclude_tools: true,
  clear_tool_inputs: true,
}

/** What is looked at in a request to Anthropic. */
export interface ClearableRequest<M> {
  readonly messages: readonly M[]
  readonly system?: unknown
  readonly tools?: unknown
  readonly model?: unknown
}

export interface ClearToolUsesOptions {
  /** How tokens are counted. @default 'estimate' */
  readonly tokens?: TokensOption
}

export interface ClearedToolUses<M> {
  readonly messages: M[]
  /** As Anthropic's answer has it in `context_management`. Empty where nothing was cleared. */
  readonly applied_edits: readonly {
    readonly type: 'clear_tool_uses_20250919'
    readonly cleared_tool_uses: number
    readonly cleared_input_tokens: number
  }[]
  /** Why each block is not full. */
  readonly trace: readonly Change[]
}

/**
 * The request's messages with old tool results cleared, by the same settings as Anthropic's own edit. The results give way to placeholders
 * that say what was there, the calls stay, and the messages are valid. A result that the model has not seen yet is never cleared.
 *
 * Throws OrielError 'invalid-option' for a wrong setting, and as `project` does.
 */
export function clearToolUses<M>(
  request: ClearableRequest<M>,
  edit: ClearToolUsesEdit = {},
  options: ClearToolUsesOptions = {},
): ClearedToolUses<M> {
  assertOptions<ClearToolUsesEdit>(edit, editNames, 'clearToolUses')
  assertOptions<ClearToolUsesOptions>(options, { tokens: true }, 'clearToolUses')
  const {
    trigger = { type: 'input_tokens', value: 100_000 },
    keep = { type: 'tool_uses', value: 3 },
    clear_at_least: atLeast,
    exclude_tools: excluded,
    clear_tool_inputs: inputs,
  } = edit
  const around = {
    format: 'anthropic',
    frame: frameOf(request),
    ...(typeof request.model === 'string' ? { model: request.model } : {}),
    ...(options.tokens === undefined ? {} : { tokens: options.tokens }),
  } as const
  const threshold = amount(trigger, 'trigger', ['input_tokens', 'tool_uses'])
  const newest = amount(keep, 'keep', ['tool_uses'])
  const least = atLeast == null ? 0 : amount(atLeast, 'clear_at_least', ['input_tokens'])
  const names = namesIn(excluded, 'exclude_tools')
  const uncleared = project(request.messages, {}, around)
  const measured =
    trigger.type === 'tool_uses' ? toolUsesIn(request.messages) : uncleared.tokens.before
  if (measured <= threshold) return { ...shown(uncleared), applied_edits: [] }
  const clearing = clearingRule({ keep: newest, excluded: names })
  const cleared = project(
    request.messages,
    { clearToolUses: {} },
    { ...around, rules: [clearing.rule] },
  )
  const changes = cleared.trace.filter(({ rule }) => rule === clearing.rule.name)
  const tokens = uncleared.tokens.after - cleared.tokens.after
  if (changes.length === 0 || tokens < least) return { ...shown(uncleared), applied_edits: [] }
  const calls = new Set(changes.map(({ id }) => clearing.callOf.get(id)))
  const hasInput = inputFilter(inputs)
  return {
    messages: cleared.messages.map((message) => withoutInputs(message, { calls, hasInput })),
    applied_edits: [
      {
        type: 'clear_tool_uses_20250919',
        cleared_tool_uses: changes.length,
        cleared_input_tokens: tokens,
      },
    ],
    trace: cleared.trace,
  }
}

function shown<M>({ messages, trace }: Pick<ClearedToolUses<M>, 'messages' | 'trace'>): {
  readonly messages: M[]
  readonly trace: readonly Change[]
} {
  return { messages, trace }
}

function frameOf({ system, tools }: ClearableRequest<unknown>): Frame {
  return {
    ...(system === undefined ? {} : { system }),
    ...(tools === undefined ? {} : { tools }),
  }
}

/** Omits the results of all but the newest uses; and knows which call each result answers. */
function clearingRule({
  keep,
  excluded,
}: {
  readonly keep: number
  readonly excluded: readonly string[]
}) {
  const callOf = new Map<string, string | undefined>()
  const rule = defineRule({
    name: 'clearToolUses',
    propose({ messages }) {
      const results = messages
        .flatMap(({ blocks }): readonly RuleBlock[] => blocks)
        .filter(({ type }) => type === 'tool-result')
      const old = results.slice(0, Math.max(0, results.length - keep))
      const due = old.filter(({ tool = '' }) => !excluded.includes(tool))
      for (const { id, callId } of due) callOf.set(id, callId)
      const reason = `older than the newest ${keep} tool uses`
      return due.map(({ id }) => ({ block: id, form: 'omitted', reason }) as const)
    },
  })
  return { rule, callOf }
}

/** Which tools keep the inputs of their cleared calls. */
function inputFilter(inputs: ClearToolUsesEdit['clear_tool_inputs']): (tool: unknown) => boolean {
  if (inputs == null || inputs === false) return () => true
  if (inputs === true) return () => false
  const names = namesIn(inputs, 'clear_tool_inputs')
  return (tool) => !names.includes(String(tool))
}

function withoutInputs<M>(
  message: M,
  {
    calls,
    hasInput,
  }: {
    readonly calls: ReadonlySet<unknown>
    readonly hasInput: (tool: unknown) => boolean
  },
): M {
  const content: unknown = isObject(message) ? message.content : undefined
  if (!Array.isArray(content)) return message
  const isCleared = (block: unknown): boolean =>
    isObject(block) && block.type === 'tool_use' && calls.has(block.id) && !hasInput(block.name)
  if (!content.some(isCleared)) return message
  const blocks = content.map((block: Json) =>
    isCleared(block) ? { ...(block as object), input: {} } : block,
  )
  // Only its content is another one: the type stays.
  return { ...message, content: blocks } as M
}

function toolUsesIn(messages: readonly unknown[]): number {
  return messages.flatMap((message) => {
    const content: unknown = isObject(message) ? message.content : undefined
    const blocks: readonly unknown[] = Array.isArray(content) ? content : []
    return blocks.filter((block) => isObject(block) && block.type === 'tool_use')
  }).length
}

function amount(setting: unknown, path: string, types: readonly string[]): number {
  const isKnown = isObject(setting) && types.includes(String(setting.type))
  if (!isKnown) throw wrongOption(path, `{ type: ${types.join(' or ')}, value }`)
  const { value } = setting
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0) return value
  throw wrongOption(`${path}.value`, 'a whole number, 0 or more')
}

function namesIn(names: unknown, path: string): readonly string[] {
  if (names == null) return []
  if (Array.isArray(names) && names.every((name) => typeof name === 'string')) return names
  throw wrongOption(path, 'a list of names')
}
