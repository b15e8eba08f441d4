// What the AI SDK refuses: the rules AI1 to AI6.
//
// AI1 every call is answered by tool messages directly after it, unless it waits at the end for a person's approval
// AI2 every result answers a call directly before it
// AI3 a call id is a text, names one call and has one answer
// AI4 content and parts have the shape of their role
// AI5 strings are well formed
// AI6 an approval is answered only where it was asked for
//
// Calls that the provider itself runs carry their results in the same message and are not held to AI1 to AI3.

import { isObject } from '../../core/log/json.ts'
import { findIllFormed } from '../foreign.ts'
import type { Violation } from '../format.ts'
import { type Named, type Party, pairViolations } from '../pairing.ts'

type Fields = Readonly<Record<string, unknown>>

const partTypes: Readonly<Record<string, readonly string[]>> = {
  user: ['text', 'image', 'file'],
  assistant: [
    ...['text', 'image', 'file', 'reasoning', 'reasoning-file', 'custom'],
    ...['tool-call', 'tool-result', 'tool-approval-request'],
  ],
  tool: ['tool-result', 'tool-approval-response'],
}

/** Every rule that a list of messages breaks, alone or as `messages` or `prompt` of a request. */
export function validateAiSdkBody(body: unknown): readonly Violation[] {
  const messages = isObject(body) ? (body.messages ?? body.prompt) : body
  if (!Array.isArray(messages)) {
    return [{ rule: 'AI4', path: 'messages', message: 'A request has a list of messages.' }]
  }
  const paths = messages.map((_, index) => `messages[${index}]`)
  return [
    ...messages.flatMap((message: unknown, index) =>
      messageViolations(message, paths[index] as string),
    ),
    ...pairViolations(
      messages.map((message: unknown, index) => partyOf(message, paths[index] as string)),
      { unanswered: 'AI1', orphan: 'AI2', id: 'AI3' },
    ),
    ...approvalViolations(messages),
  ]
}

/** The rules that one message breaks by itself: AI4 and AI5. */
export function messageViolations(message: unknown, path: string): Violation[] {
  if (!isObject(message)) return [shape(path, 'A message is an object.')]
  const { role, content } = message
  const violations: Violation[] = []
  if (role === 'system') {
    if (typeof content !== 'string') {
      violations.push(shape(`${path}.content`, 'System content is a text.'))
    }
  } else if (typeof role !== 'string' || !Object.hasOwn(partTypes, role)) {
    violations.push(shape(`${path}.role`, 'A role is system, user, assistant or tool.'))
  } else if (Array.isArray(content)) {
    content.forEach((part: unknown, index) => {
      violations.push(...partViolations(part, { role, path: `${path}.content[${index}]` }))
    })
  } else if (typeof content !== 'string' || role === 'tool') {
    violations.push(shape(`${path}.content`, 'Content is a text or a list of parts.'))
  }
  const illFormed = findIllFormed(message, path)
  if (illFormed !== undefined) {
    const text = 'A string has half a surrogate pair: no UTF-8 exists for it.'
    violations.push({ rule: 'AI5', path: illFormed, message: text })
  }
  return violations
}

/** What one part of a message's content breaks by itself. Parts of types that came later are the SDK's to judge. */
export function partViolations(
  part: unknown,
  { role, path }: { readonly role: string; readonly path: string },
): Violation[] {
  if (!isObject(part)) return [shape(path, 'A part is an object.')]
  const { type } = part
  if (typeof type !== 'string') return [shape(`${path}.type`, 'A part has a type.')]
  const isKnown = Object.values(partTypes).some((types) => types.includes(type))
  if (isKnown ? partTypes[role]?.includes(type) !== true : role === 'tool' || role === 'system') {
    return [shape(`${path}.type`, `A ${role} message has no part of this type.`)]
  }
  return missingFields(part, path)
}

function missingFields(part: Fields, path: string): Violation[] {
  const isText = (key: string): boolean => typeof part[key] === 'string'
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return isText('text') ? [] : [shape(`${path}.text`, 'A text has its text.')]
    case 'image':
      return hasSource(part.image) ? [] : [shape(`${path}.image`, 'A picture has its data.')]
    case 'file':
    case 'reasoning-file':
      if (!hasSource(part.data)) return [shape(`${path}.data`, 'A file has its data.')]
      return isText('mediaType') ? [] : [shape(`${path}.mediaType`, 'A file has a media type.')]
    case 'tool-call':
      return isText('toolName') ? [] : [shape(`${path}.toolName`, 'A call names its tool.')]
    case 'tool-result':
      if (!isText('toolName')) return [shape(`${path}.toolName`, 'A result names its tool.')]
      return isOutput(part.output) ? [] : [shape(`${path}.output`, 'A result has an output.')]
    case 'tool-approval-request':
    case 'tool-approval-response':
      return isText('approvalId') ? [] : [shape(`${path}.approvalId`, 'An approval has an id.')]
    default:
      return []
  }
}

/** A text, bytes, a URL, or an object that says which. */
function hasSource(value: unknown): boolean {
  return (
    (typeof value === 'string' && value !== '') || (typeof value === 'object' && value !== null)
  )
}

function isOutput(output: unknown): boolean {
  if (!isObject(output)) return false
  const { type, value } = output
  if (type === 'text' || type === 'error-text') return typeof value === 'string'
  if (type === 'json' || type === 'error-json') return value !== undefined
  if (type === 'content') return Array.isArray(value) && value.every(isObject)
  return typeof type === 'string'
}

/** A message as far as pairs are concerned. */
function partyOf(message: unknown, path: string): Party {
  const fields: Fields = isObject(message) ? message : {}
  const { role, content } = fields
  const parts: readonly unknown[] = Array.isArray(content) ? content : []
  const named = (type: string): readonly Named[] =>
    parts.flatMap((part, index) =>
      isObject(part) && part.type === type && part.providerExecuted !== true
        ? [{ id: part.toolCallId, path: `${path}.content[${index}].toolCallId` }]
        : [],
    )
  const isAssistant = role === 'assistant'
  const waiting = parts.flatMap((part) =>
    isObject(part) && part.type === 'tool-approval-request' ? [String(part.toolCallId)] : [],
  )
  return {
    path,
    role: isAssistant || role === 'tool' || role === 'system' ? role : 'user',
    calls: isAssistant ? named('tool-call') : [],
    results: role === 'tool' ? named('tool-result') : [],
    waiting: new Set(waiting),
  }
}

function approvalViolations(messages: readonly unknown[]): Violation[] {
  const asked = new Set<unknown>()
  const violations: Violation[] = []
  messages.forEach((message, at) => {
    const content: unknown = isObject(message) ? message.content : undefined
    const parts: readonly unknown[] = Array.isArray(content) ? content : []
    parts.forEach((part, index) => {
      if (!isObject(part)) return
      if (part.type === 'tool-approval-request') asked.add(part.approvalId)
      if (part.type !== 'tool-approval-response' || asked.has(part.approvalId)) return
      // Approvals of calls that the provider runs were asked for by the provider.
      if (part.providerExecuted === true) return
      const path = `messages[${at}].content[${index}]`
      const text = 'An approval is answered that was not asked for.'
      violations.push({ rule: 'AI6', path, message: text })
    })
  })
  // A model's prompt has no requests, only answers.
  return asked.size === 0 ? [] : violations
}

function shape(path: string, message: string): Violation {
  return { rule: 'AI4', path, message }
}
