// The most important rules of Chat Completions, written a second time and without the library: a mistake in `validate` must not hide one
// in a view.

import type { Breach } from './laws.ts'

interface Message {
  readonly role?: unknown
  readonly content?: unknown
  readonly refusal?: unknown
  readonly tool_call_id?: unknown
  readonly tool_calls?: readonly {
    readonly id?: unknown
    readonly type?: unknown
    readonly function?: { readonly arguments?: unknown }
    readonly custom?: { readonly input?: unknown }
  }[]
}

export function chatBreaches(body: Readonly<Record<string, unknown>>): readonly Breach[] {
  const messages = Array.isArray(body.messages) ? (body.messages as readonly Message[]) : []
  const breaches: Breach[] = []
  if (messages.length === 0) {
    breaches.push({ rule: 'O4', message: "[] is too short - 'messages'", param: 'messages' })
  }
  let waiting = new Set<unknown>()
  const seen = new Set<unknown>()
  const settle = (): void => {
    if (waiting.size === 0) return
    const message = `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${[...waiting].join(', ')}`
    breaches.push({ rule: 'O1', message, param: 'messages' })
    waiting = new Set()
  }
  messages.forEach((message, index) => {
    if (message.role === 'tool') {
      if (!waiting.delete(message.tool_call_id)) {
        const text =
          "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
        breaches.push({ rule: 'O2', message: text, param: `messages.[${index}].role` })
      }
      return
    }
    settle()
    if (message.tool_calls === undefined) {
      const isRefusal = typeof message.refusal === 'string'
      if ((message.content ?? null) === null && !isRefusal) {
        const text = `Invalid value for 'content': expected a string, got null.`
        breaches.push({ rule: 'O4', message: text, param: `messages.[${index}].content` })
      }
      return
    }
    for (const [place, call] of message.tool_calls.entries()) {
      const at = `messages[${index}].tool_calls[${place}]`
      if (typeof call.id !== 'string' || call.id.length > 40) {
        const text = `Invalid '${at}.id': string too long. Expected a string with maximum length 40, but got a string with length ${String(call.id).length} instead.`
        breaches.push({ rule: 'O3', message: text, param: `${at}.id` })
      }
      const isCustom = call.type === 'custom'
      if (typeof (isCustom ? call.custom?.input : call.function?.arguments) !== 'string') {
        const param = `${at}.${isCustom ? 'custom.input' : 'function.arguments'}`
        breaches.push({
          rule: 'O5',
          message: `Invalid type for '${param}': expected a string.`,
          param,
        })
      }
      if (seen.has(call.id)) {
        const text = `Duplicate value for 'tool_call_id' of '${String(call.id)}'`
        breaches.push({ rule: 'O6', message: text, param: `${at}.id` })
      }
      seen.add(call.id)
      waiting.add(call.id)
    }
  })
  settle()
  return [...breaches, ...choiceBreaches(body)]
}

interface Named {
  readonly function?: { readonly name?: unknown }
  readonly allowed_tools?: { readonly tools?: readonly Named[] }
}

/** A choice names tools of the list. */
function choiceBreaches(body: Readonly<Record<string, unknown>>): readonly Breach[] {
  const { tools = [], tool_choice: choice } = body as {
    readonly tools?: readonly Named[]
    readonly tool_choice?: Named | string | null
  }
  if (typeof choice !== 'object' || choice === null) return []
  const listed = tools.map((tool) => tool.function?.name)
  const named = (choice.allowed_tools?.tools ?? [choice]).flatMap((one) => one.function?.name ?? [])
  return named.flatMap((name) => {
    const message = `Invalid value for 'tool_choice': Tool choice '${String(name)}' not found in 'tools' parameter.`
    return listed.includes(name) ? [] : [{ rule: 'O5', message, param: 'tool_choice' }]
  })
}
