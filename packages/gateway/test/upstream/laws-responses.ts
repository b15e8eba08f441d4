// The most important rules of Responses, written a second time and without the library.

import type { Breach } from './laws.ts'

interface Item {
  readonly type?: unknown
  readonly role?: unknown
  readonly id?: unknown
  readonly call_id?: unknown
}

const callTypes: readonly unknown[] = ['function_call', 'custom_tool_call']
const outputTypes: readonly unknown[] = ['function_call_output', 'custom_tool_call_output']

/** The items of a request; a text is one message. */
export function inputItems(body: Readonly<Record<string, unknown>>): readonly Item[] {
  if (typeof body.input === 'string') return [{ type: 'message', role: 'user' }]
  return Array.isArray(body.input) ? (body.input as readonly Item[]) : []
}

export function responsesBreaches(
  body: Readonly<Record<string, unknown>>,
  { knows = false }: { readonly knows?: boolean } = {},
): readonly Breach[] {
  const items = inputItems(body)
  const breaches: Breach[] = []
  const calls = new Map<unknown, number>()
  const outputs = new Map<unknown, number>()
  const ids = new Set<unknown>()
  items.forEach((item, index) => {
    if (typeof item.id === 'string') {
      if (ids.has(item.id)) {
        const message = `Duplicate item found with id ${item.id}. Remove duplicate items from your input and try again.`
        breaches.push({ rule: 'R5', message, param: 'input' })
      }
      ids.add(item.id)
    }
    if (callTypes.includes(item.type)) {
      if (calls.has(item.call_id)) {
        const message = `Duplicate call_id: ${String(item.call_id)}`
        breaches.push({ rule: 'R5', message, param: 'input' })
      }
      calls.set(item.call_id, index)
    }
    if (!outputTypes.includes(item.type)) return
    if (!calls.has(item.call_id)) {
      const message = `No tool call found for function call output with call_id ${String(item.call_id)}.`
      breaches.push({ rule: 'R4', message, param: 'input' })
    }
    if (outputs.has(item.call_id)) {
      const message = `Duplicate output for call_id ${String(item.call_id)}`
      breaches.push({ rule: 'R5', message, param: 'input' })
    }
    outputs.set(item.call_id, index)
  })
  for (const id of calls.keys()) {
    if (outputs.has(id)) continue
    const message = `No tool output found for function call ${String(id)}.`
    breaches.push({ rule: 'R1', message, param: 'input' })
  }
  items.forEach((item, index) => {
    if (item.type !== 'reasoning') return
    const next = items[index + 1]
    const follows =
      next !== undefined &&
      (next.type === 'reasoning' ||
        callTypes.includes(next.type) ||
        ((next.type ?? 'message') === 'message' && next.role === 'assistant'))
    if (follows) return
    const message = `Item '${String(item.id)}' of type 'reasoning' was provided without its required following item.`
    breaches.push({ rule: 'R2', message, param: 'input' })
  })
  const unknown = !knows && (body.context_management ?? null) !== null
  const isCompacted = !knows && items.some(({ type }) => type === 'compaction')
  const message = "Unknown parameter: 'context_management'."
  const invalid = "Invalid value: 'compaction'. Supported values are: 'message', 'function_call'."
  return [
    ...breaches,
    ...choiceBreaches(body),
    ...(unknown ? [{ rule: 'R6', message, param: 'context_management' }] : []),
    ...(isCompacted ? [{ rule: 'R6', message: invalid, param: 'input' }] : []),
  ]
}

interface Named {
  readonly type?: unknown
  readonly name?: unknown
  readonly tools?: readonly Named[]
}

/** A choice names functions of the list. */
function choiceBreaches(body: Readonly<Record<string, unknown>>): readonly Breach[] {
  const { tools = [], tool_choice: choice } = body as {
    readonly tools?: readonly Named[]
    readonly tool_choice?: Named | string | null
  }
  if (typeof choice !== 'object' || choice === null) return []
  const named = (choice.tools ?? [choice]).filter(({ type }) => type === 'function')
  return named.flatMap(({ name }) => {
    const message = `Tool choice 'function' not found in 'tools' parameter: ${String(name)}`
    const isListed = tools.some((tool) => tool.name === name)
    return isListed ? [] : [{ rule: 'R4', message, param: 'tool_choice' }]
  })
}
