// What chat models behind LangChain refuse: the rules LC1 to LC5.
//
// LC1 every call is answered by tool messages directly after it      LC4 messages and content have the shape of their class
// LC2 every tool message answers a call directly before it           LC5 strings are well formed
// LC3 a call id is a text, names one call and has one answer

import { OrielError } from '../../core/log/errors.ts'
import { isObject, type JsonObject } from '../../core/log/json.ts'
import { findIllFormed } from '../foreign.ts'
import type { Violation } from '../format.ts'
import { type Party, pairViolations } from '../pairing.ts'
import { decodeLangchainMessage } from './decode.ts'
import { type Unwrapped, unwrap } from './wrap.ts'

/** Every rule that a list of messages breaks, alone or as `messages` of a state. */
export function validateLangchainBody(body: unknown): readonly Violation[] {
  const messages = isObject(body) ? body.messages : body
  if (!Array.isArray(messages)) {
    return [{ rule: 'LC4', path: 'messages', message: 'A state has a list of messages.' }]
  }
  const parties: Party[] = []
  const violations: Violation[] = []
  messages.forEach((message: unknown, index) => {
    const path = `messages[${index}]`
    const json = isObject(message) ? toPlain(message) : message
    violations.push(...messageViolations(json, path))
    const party = isObject(json) ? partyOf(json as JsonObject, path) : undefined
    if (party !== undefined) parties.push(party)
  })
  const rules = { unanswered: 'LC1', orphan: 'LC2', id: 'LC3' }
  return [...violations, ...pairViolations(parties, rules)]
}

/** The plain data of a message, which may be an instance of LangChain's classes. */
export function toPlain(message: object): unknown {
  return 'lc_kwargs' in message && 'toJSON' in message && typeof message.toJSON === 'function'
    ? (message.toJSON() as unknown)
    : message
}

/** The rules that one message breaks by itself: LC4 and LC5. */
export function messageViolations(message: unknown, path: string): Violation[] {
  if (!isObject(message)) return [shape(path, 'A message is an object.')]
  const value = message as JsonObject
  let fields: Unwrapped['fields']
  try {
    ;({ fields } = unwrap({ value, path }))
    decodeLangchainMessage({ value, path })
  } catch (error) {
    if (!OrielError.is(error)) throw error
    return [shape(error.path ?? path, error.message)]
  }
  const violations: Violation[] = []
  const { content } = fields.value
  if (typeof content !== 'string' && !Array.isArray(content)) {
    violations.push(shape(`${fields.path}.content`, 'Content is a text or a list of blocks.'))
  } else if (Array.isArray(content)) {
    content.forEach((block: unknown, index) => {
      if (isObject(block) && typeof block.type === 'string') return
      violations.push(shape(`${fields.path}.content[${index}].type`, 'A block has a type.'))
    })
  }
  const illFormed = findIllFormed(message, path)
  if (illFormed !== undefined) {
    const text = 'A string has half a surrogate pair: no UTF-8 exists for it.'
    violations.push({ rule: 'LC5', path: illFormed, message: text })
  }
  return violations
}

function partyOf(value: JsonObject, path: string): Party | undefined {
  try {
    const { role, content } = decodeLangchainMessage({ value, path })
    const blocks = typeof content === 'string' ? [] : content
    const calls = blocks.flatMap((block) =>
      block.type === 'tool-call' ? [{ id: block.callId, path: `${path}.tool_calls` }] : [],
    )
    const results = blocks.flatMap((block) =>
      block.type === 'tool-result' ? [{ id: block.callId, path: `${path}.tool_call_id` }] : [],
    )
    return { path, role, calls, results }
  } catch {
    // Not a message: already told of.
    return undefined
  }
}

function shape(path: string, message: string): Violation {
  return { rule: 'LC4', path, message }
}
