// What OpenAI's Chat Completions refuse: the rules O1 to O6.
//
// O1 every call is answered by tool messages directly after it      O4 content and `tool_calls` are there and not empty
// O2 every tool message answers a call directly before it           O5 roles, names, arguments, parts and strings are well formed
// O3 call ids have 1 to 40 characters                               O6 a call id names one call and has one answer
//
// O7, the length of the context, is known only to the provider: nothing in a body alone breaks it.
// The deprecated `function_call` and its `function` message are held to O1 and O2 by their name.

import { isObject } from '../../core/log/json.ts'
import { findIllFormed } from '../foreign.ts'
import type { Violation } from '../format.ts'

/**
 * The call id of the deprecated `function_call`, which has none: calls and results of that kind find each other by name.
 * Two calls of one function share it, like any reused id.
 */
export function functionCallId(name: string): string {
  return `function_call:${name}`
}

/** Longest call id on the wire (O3). */
export const maxCallIdLength = 40
/** Longest list of tools (O5). */
const maxTools = 128
const namePattern = /^[a-zA-Z0-9_-]{1,64}$/
const roles = ['system', 'developer', 'user', 'assistant', 'tool', 'function']

/** Every rule that a request body breaks. Accepts a bare list of messages as well. Never throws. */
export function validateChatBody(body: unknown): readonly Violation[] {
  const messages = isObject(body) ? body.messages : body
  if (!Array.isArray(messages)) {
    return [violation('O4', 'messages', 'A request has a list of messages.')]
  }
  const violations = messages.flatMap((message: unknown, index) =>
    messageViolations(message, `messages[${index}]`),
  )
  violations.push(...pairViolations(messages))
  if (isObject(body)) violations.push(...toolViolations(body.tools))
  return violations
}

/** The rules that one message breaks by itself, whatever stands around it: O3, O4 and O5. */
export function messageViolations(message: unknown, path: string): Violation[] {
  if (!isObject(message)) return [violation('O5', path, 'A message is an object.')]
  const violations: Violation[] = []
  const { role } = message
  if (typeof role !== 'string' || !roles.includes(role)) {
    violations.push(violation('O5', `${path}.role`, `A role is one of ${roles.join(', ')}.`))
  }
  violations.push(...contentViolations(message, path))
  if (role === 'tool')
    violations.push(...idViolations(message.tool_call_id, `${path}.tool_call_id`))
  if (Object.hasOwn(message, 'tool_calls')) violations.push(...callsViolations(message, path))
  if (isObject(message.function_call)) {
    violations.push(
      ...calledViolations(message.function_call, 'arguments', `${path}.function_call`),
    )
  }
  const illFormed = findIllFormed(message, path)
  if (illFormed !== undefined) {
    violations.push(
      violation('O5', illFormed, 'A string has half a surrogate pair: no UTF-8 exists for it.'),
    )
  }
  return violations
}

function contentViolations(message: Readonly<Record<string, unknown>>, path: string): Violation[] {
  const { role, content } = message
  const place = `${path}.content`
  if (typeof content === 'string') return []
  if (content === null || content === undefined) {
    return canBeSilent(message)
      ? []
      : [violation('O4', place, 'Content is required, except beside calls, a refusal or audio.')]
  }
  if (!Array.isArray(content) || content.length === 0) {
    return [violation('O4', place, 'Content is a text or a list of at least one part.')]
  }
  return content.flatMap((part: unknown, index) =>
    partViolations(part, { path: `${place}[${index}]`, role }),
  )
}

/** What one part of a message's content breaks by itself: O4 and O5. */
export function partViolations(
  part: unknown,
  { path, role }: { readonly path: string; readonly role: unknown },
): Violation[] {
  if (!isObject(part) || typeof part.type !== 'string') {
    return [violation('O5', path, 'A part is an object with a type.')]
  }
  if (part.type === 'text' && typeof part.text !== 'string') {
    return [violation('O5', `${path}.text`, 'The text of a part is a string.')]
  }
  const isPlain = part.type === 'text' || (role !== 'tool' && role !== 'function')
  return isPlain ? [] : [violation('O4', path, 'The content of a tool message is text.')]
}

/** An assistant may say nothing when it does something else instead. */
function canBeSilent(message: Readonly<Record<string, unknown>>): boolean {
  if (message.role !== 'assistant') return false
  const { tool_calls: calls, function_call: called, refusal, audio } = message
  const hasCalls = (Array.isArray(calls) && calls.length > 0) || isObject(called)
  return hasCalls || typeof refusal === 'string' || isObject(audio)
}

function callsViolations(message: Readonly<Record<string, unknown>>, path: string): Violation[] {
  const { role, tool_calls: calls } = message
  const place = `${path}.tool_calls`
  if (calls === undefined) return []
  if (role !== 'assistant') return [violation('O5', place, 'Only an assistant message has calls.')]
  if (!Array.isArray(calls) || calls.length === 0) {
    return [violation('O4', place, 'The list of calls, if present, has at least one call.')]
  }
  return calls.flatMap((call: unknown, index) => {
    const at = `${place}[${index}]`
    if (!isObject(call)) return [violation('O5', at, 'A call is an object.')]
    const ids = idViolations(call.id, `${at}.id`)
    if (call.type === 'function') {
      return [...ids, ...calledViolations(call.function, 'arguments', `${at}.function`)]
    }
    if (call.type === 'custom')
      return [...ids, ...calledViolations(call.custom, 'input', `${at}.custom`)]
    // A type that came after this was written is the provider's to judge.
    return typeof call.type === 'string'
      ? ids
      : [...ids, violation('O5', `${at}.type`, 'A call has a type.')]
  })
}

function calledViolations(called: unknown, text: 'arguments' | 'input', path: string): Violation[] {
  if (!isObject(called)) return [violation('O5', path, 'A call has a name and arguments.')]
  const violations: Violation[] = []
  if (!isName(called.name)) {
    violations.push(violation('O5', `${path}.name`, `A name matches ${namePattern.source}.`))
  }
  if (typeof called[text] !== 'string') {
    violations.push(
      violation('O5', `${path}.${text}`, 'Arguments are a string, as the model wrote them.'),
    )
  }
  return violations
}

function idViolations(id: unknown, path: string): Violation[] {
  if (typeof id === 'string' && id.length > 0 && id.length <= maxCallIdLength) return []
  const got = typeof id === 'string' ? `${id.length} characters` : 'no string'
  return [violation('O3', path, `A call id has 1 to ${maxCallIdLength} characters, got ${got}.`)]
}

function toolViolations(tools: unknown): Violation[] {
  if (!Array.isArray(tools)) return []
  const violations = tools.flatMap((tool: unknown, index) => {
    if (!isObject(tool) || !isObject(tool.function) || isName(tool.function.name)) return []
    return [
      violation('O5', `tools[${index}].function.name`, `A name matches ${namePattern.source}.`),
    ]
  })
  if (tools.length > maxTools) {
    violations.push(violation('O5', 'tools', `At most ${maxTools} tools, got ${tools.length}.`))
  }
  return violations
}

/** The calls that wait for an answer, and which of them have one. */
interface Open {
  readonly path: string
  readonly ids: ReadonlySet<string>
  readonly answered: Set<string>
}

/** Calls and answers: O1, O2 and O6. */
function pairViolations(messages: readonly unknown[]): Violation[] {
  const violations: Violation[] = []
  const used = new Set<string>()
  let open: Open | undefined
  messages.forEach((message, index) => {
    if (!isObject(message)) return
    const path = `messages[${index}]`
    if (message.role === 'tool' || message.role === 'function') {
      violations.push(...answerViolations(message, path, open))
      return
    }
    violations.push(...unanswered(open))
    open =
      message.role === 'assistant'
        ? { path, ids: callIdsOf(message), answered: new Set() }
        : undefined
    violations.push(...reusedIds(message, path, used))
  })
  return [...violations, ...unanswered(open)]
}

function answerViolations(
  message: Readonly<Record<string, unknown>>,
  path: string,
  open: Open | undefined,
): Violation[] {
  const id = message.role === 'tool' ? message.tool_call_id : functionCallId(String(message.name))
  if (typeof id !== 'string' || open === undefined || !open.ids.has(id)) {
    const text =
      "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'."
    return [violation('O2', path, text)]
  }
  if (open.answered.has(id)) {
    return [violation('O6', path, 'A call has one answer, this is a second one.')]
  }
  open.answered.add(id)
  return []
}

function unanswered(open: Open | undefined): Violation[] {
  const missing = [...(open?.ids ?? [])].filter((id) => !open?.answered.has(id))
  if (open === undefined || missing.length === 0) return []
  const text =
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."
  return [violation('O1', open.path, `${text} Without one: ${missing.join(', ')}`)]
}

function callIdsOf(message: Readonly<Record<string, unknown>>): Set<string> {
  const ids = new Set(callsOf(message).flatMap(({ id }) => (typeof id === 'string' ? [id] : [])))
  if (isObject(message.function_call)) ids.add(functionCallId(String(message.function_call.name)))
  return ids
}

function callsOf(message: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>>[] {
  return Array.isArray(message.tool_calls) ? message.tool_calls.filter(isObject) : []
}

function reusedIds(
  message: Readonly<Record<string, unknown>>,
  path: string,
  used: Set<string>,
): Violation[] {
  return callsOf(message).flatMap(({ id }, index) => {
    if (typeof id !== 'string') return []
    if (used.has(id)) {
      return [
        violation(
          'O6',
          `${path}.tool_calls[${index}].id`,
          'A call id names one call, an earlier one has it.',
        ),
      ]
    }
    used.add(id)
    return []
  })
}

function isName(name: unknown): boolean {
  return typeof name === 'string' && namePattern.test(name)
}

function violation(rule: string, path: string, message: string): Violation {
  return { rule, path, message }
}
