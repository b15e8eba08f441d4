// Anthropic's context editing (`context_management.edits`), done here for servers that do not know it: by the same parameters, with the
// documented defaults, on the messages of one request. Compaction is not made here: it is a checkpoint of the thread.

import { isJsonObject as isObject, type Json, type JsonObject } from '../../core/log/json.ts'
import type { ContextEdits, EditedMessages } from '../provider.ts'
import { compacting, compactionFlags, editsOf } from './compaction.ts'

const clearing = 'clear_tool_uses_20250919'
const forgetting = 'clear_thinking_20251015'
const made: ReadonlySet<Json | undefined> = new Set([clearing, forgetting, compacting])

/** What stands for a cleared result. */
const cleared = '[Tool result cleared to save context.]'

/** The provider's own defaults. */
const defaultTrigger = 100_000
const defaultKeep = 3
const defaultTurns = 1

export const contextEdits: ContextEdits = {
  key: 'context_management',
  hosts: ['api.anthropic.com'],
  flags: {
    header: 'anthropic-beta',
    values: ['context-management-2025-06-27', ...compactionFlags],
  },
  supports(asked) {
    const edits = editsOf(asked)
    return edits?.every(({ type }) => made.has(type)) === true
  },
  apply(messages, asked, { inputTokens, count }) {
    let edited: EditedMessages = { messages, applied: [] }
    for (const edit of editsOf(asked) ?? []) {
      if (edit.type === compacting) continue
      const apply = edit.type === clearing ? clearToolUses : clearThinking
      const next = apply(edited.messages, edit, { inputTokens, count })
      edited = { messages: next.messages, applied: [...edited.applied, ...next.applied] }
    }
    return edited
  },
  answer: (applied) => ({ context_management: { applied_edits: applied } }),
}

interface Around {
  readonly inputTokens: number
  count(text: string): number
}

/** The oldest tool uses beyond those to keep lose their results, and their inputs where that is asked for. */
function clearToolUses(
  messages: readonly Json[],
  edit: JsonObject,
  { inputTokens, count }: Around,
): EditedMessages {
  const none = { messages, applied: [] }
  const uses = messages.flatMap(blocksOf).filter(({ type }) => type === 'tool_use')
  const trigger = fieldsOf(edit.trigger)
  const limit = numberOr(trigger.value, defaultTrigger)
  const isDue = trigger.type === 'tool_uses' ? uses.length > limit : inputTokens > limit
  // Thinking is signed together with all that stands before it: a tool loop that carries some is left as it is.
  if (!isDue || hasOpenThinking(messages)) return none
  const excluded = listOf(edit.exclude_tools)
  const old = uses.slice(
    0,
    Math.max(0, uses.length - numberOr(fieldsOf(edit.keep).value, defaultKeep)),
  )
  const isInput = inputsOf(edit.clear_tool_inputs)
  const ids = new Map(
    old.flatMap(({ id, name }) => (excluded.includes(name ?? null) ? [] : [[id, name] as const])),
  )
  let tokens = 0
  const done = new Set<unknown>()
  const clear = (block: JsonObject): Json => {
    if (block.type === 'tool_result' && ids.has(block.tool_use_id) && block.content !== cleared) {
      tokens += count(JSON.stringify(block.content ?? '')) - count(cleared)
      done.add(block.tool_use_id)
      return { ...block, content: cleared }
    }
    const isCleared = block.type === 'tool_use' && ids.has(block.id) && isInput(block.name)
    if (!isCleared || Object.keys(fieldsOf(block.input)).length === 0) return block
    tokens += count(JSON.stringify(block.input))
    return { ...block, input: {} }
  }
  const changed = messages.map((message) => mapBlocks(message, clear))
  const least = numberOr(fieldsOf(edit.clear_at_least).value, 0)
  if (done.size === 0 || tokens <= 0 || tokens < least) return none
  const applied = { type: clearing, cleared_tool_uses: done.size, cleared_input_tokens: tokens }
  return { messages: changed.map(withoutThinking), applied: [applied] }
}

/** Thinking of all but the newest turns that have some. */
function clearThinking(
  messages: readonly Json[],
  edit: JsonObject,
  { count }: Around,
): EditedMessages {
  const keep = fieldsOf(edit.keep)
  const isAll = edit.keep === 'all' || keep.type === 'all'
  const turns = turnsOf(messages).filter((turn) => turn.some((at) => isThoughtful(messages[at])))
  const old = turns.slice(0, Math.max(0, turns.length - numberOr(keep.value, defaultTurns)))
  if (isAll || old.length === 0) return { messages, applied: [] }
  const places = new Set(old.flat())
  let tokens = 0
  const changed = messages.map((message, at) => {
    if (!places.has(at)) return message
    for (const block of blocksOf(message ?? null).filter(isThought)) {
      tokens += count(String(block.thinking ?? block.data ?? ''))
    }
    return withoutThinking(message)
  })
  const applied = {
    type: forgetting,
    ...{ cleared_thinking_turns: old.length, cleared_input_tokens: tokens },
  }
  return { messages: changed, applied: [applied] }
}

/** Positions of the assistant's messages, by the user's message that they answer. */
function turnsOf(messages: readonly Json[]): readonly (readonly number[])[] {
  const turns: number[][] = []
  messages.forEach((message, at) => {
    if (isQuestion(message)) turns.push([])
    else if (isObject(message) && message.role === 'assistant') turns.at(-1)?.push(at)
  })
  return turns
}

/** A message of the user that is more than results. */
function isQuestion(message: Json): boolean {
  if (!isObject(message) || message.role !== 'user') return false
  if (!Array.isArray(message.content)) return true
  return blocksOf(message).some(({ type }) => type !== 'tool_result')
}

function hasOpenThinking(messages: readonly Json[]): boolean {
  const asked = messages.findLastIndex(isQuestion)
  return messages.slice(asked + 1).some(isThoughtful)
}

function isThoughtful(message: Json | undefined): boolean {
  return blocksOf(message ?? null).some(isThought)
}

function isThought({ type }: JsonObject): boolean {
  return type === 'thinking' || type === 'redacted_thinking'
}

/** A message must say something: one of nothing but thinking stays. */
function withoutThinking(message: Json): Json {
  const rest = blocksOf(message).filter((block) => !isThought(block))
  if (!isObject(message) || !isThoughtful(message) || rest.length === 0) return message
  return { ...message, content: rest }
}

function mapBlocks(message: Json, change: (block: JsonObject) => Json): Json {
  const blocks = blocksOf(message)
  const changed = blocks.map(change)
  const isSame = changed.every((block, at) => block === blocks[at])
  return isSame || !isObject(message) ? message : { ...message, content: changed }
}

function blocksOf(message: Json): readonly JsonObject[] {
  if (!isObject(message) || !Array.isArray(message.content)) return []
  return message.content.every(isObject) ? message.content : []
}

function inputsOf(asked: Json | undefined): (name: Json | undefined) => boolean {
  const names = listOf(asked)
  return (name) => asked === true || names.includes(name ?? null)
}

function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : []
}

function fieldsOf(value: Json | undefined): JsonObject {
  return value !== undefined && isObject(value) ? value : {}
}

function numberOr(value: Json | undefined, otherwise: number): number {
  return typeof value === 'number' && value >= 0 ? value : otherwise
}
