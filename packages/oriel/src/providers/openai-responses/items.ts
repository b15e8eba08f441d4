// The kinds of items in the input of OpenAI's Responses, as far as their order and pairing go.

import { clientCallOf, isClientAnswer } from './client-calls.ts'

export const responsesFormat = 'openai-responses'

/**
 * - `input`: a message of the user, the system or the developer
 * - `said`: a message of the assistant
 * - `reasoning`, `call`: the model's own, like `said`
 * - `output`: what answers a call
 * - `other`: anything else: calls of tools that the provider runs, compactions, references, and what comes in the future
 */
export type ItemKind = 'input' | 'said' | 'reasoning' | 'call' | 'output' | 'other'

/** An item whose fields are not checked yet. */
export type Item = Readonly<Record<string, unknown>>

const kinds: Readonly<Record<string, ItemKind>> = {
  reasoning: 'reasoning',
  function_call: 'call',
  custom_tool_call: 'call',
  function_call_output: 'output',
  custom_tool_call_output: 'output',
}

/** The kind of an item; undefined for an object that is no item. */
export function kindOf(item: Item): ItemKind | undefined {
  const { type, role } = item
  // The short form of a message has a role and no type.
  if (type === 'message' || type === undefined) {
    if (role === 'assistant') return 'said'
    return role === 'user' || role === 'system' || role === 'developer' ? 'input' : undefined
  }
  if (typeof type !== 'string') return undefined
  if (clientCallOf(type) !== undefined) return 'call'
  if (isClientAnswer(type)) return 'output'
  return Object.hasOwn(kinds, type) ? kinds[type] : 'other'
}

/** Whether an item stands in the model's own run. Outputs of hosted tools count: they are never separated from their calls. */
export function isInRun(kind: ItemKind | undefined): boolean {
  return kind === 'said' || kind === 'reasoning' || kind === 'call' || kind === 'other'
}

/** Whether the reasoning item at `index` leads to something (R2): the next item that is not reasoning, if the model made it. */
export function leadsToItem(items: readonly Item[], index: number): boolean {
  let next = index + 1
  while (next < items.length && kindOf(items[next] as Item) === 'reasoning') next += 1
  const item = items[next]
  const kind = item === undefined ? undefined : kindOf(item)
  if (item === undefined || kind !== 'other') return kind === 'said' || kind === 'call'
  const type = String(item.type)
  return !type.endsWith('_output') && !type.endsWith('_response')
}

/** Positions of the calls of functions that stand before the reasoning of their run (R3). */
export function callsBeforeReasoning(items: readonly Item[]): readonly number[] {
  const found: number[] = []
  let calls: number[] = []
  let hasReasoning = false
  items.forEach((item, index) => {
    const kind = kindOf(item)
    if (!isInRun(kind)) {
      calls = []
      hasReasoning = false
    } else if (kind === 'call' && !hasReasoning && clientCallOf(item.type) === undefined) {
      calls.push(index)
    } else if (kind === 'reasoning') {
      found.push(...calls)
      calls = []
      hasReasoning = true
    }
  })
  return found
}

/** The field that holds the arguments of a call. */
export function argumentsField(type: unknown): 'arguments' | 'input' {
  return type === 'custom_tool_call' ? 'input' : 'arguments'
}
