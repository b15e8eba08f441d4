// What OpenAI's Responses refuse. R1 to R3 are the provider's own words; the others have ids of ours:
//
// R1 every call that the client answers has an output: `No tool output found for function call <call_id>.`
// R2 a reasoning item is followed by what it led to: `... was provided without its required following item.`
// R3 a call that keeps its item id keeps its reasoning. A body alone shows this only where reasoning comes behind the call.
// R4 every output has a call before it: `No tool call found for function call output with call_id <call_id>.`
// R5 a call id names one call and has one output; an item id is there once: `Duplicate item found with id <id>.`
// R6 items, parts, names and strings are well formed
// R7 the outputs of a run of the model stand directly behind it. OpenAI pairs them wherever they are; DeepSeek's servers do not.
//
// With `previous_response_id`, `conversation` or an `item_reference` the provider holds calls that the body does not show: R4 is
// then left to it.

import { isObject } from '../../core/log/json.ts'
import { findIllFormed } from '../foreign.ts'
import type { Violation } from '../format.ts'
import { clientCallOf, isClientAnswer, pairField, pairIdOf } from './client-calls.ts'
import {
  argumentsField,
  callsBeforeReasoning,
  type Item,
  isInRun,
  kindOf,
  leadsToItem,
} from './items.ts'

/** Longest call id on the wire (R6). */
export const maxCallIdLength = 64
/** Types of parts that cannot stand in a message of the model, and in any other one. */
const refusedOfModel = ['text', 'input_text', 'input_image', 'input_file']
const refusedOfOthers = ['text', 'output_text', 'refusal']
const namePattern = /^[a-zA-Z0-9_-]{1,64}$/

/** Every rule that a request body breaks. Accepts a bare list of items as well. Never throws. */
export function validateResponsesBody(body: unknown): readonly Violation[] {
  const input = isObject(body) ? body.input : body
  if (isObject(body) && typeof input === 'string') return stringViolations(input, 'input')
  if (!Array.isArray(input)) {
    return [violation('R6', 'input', 'The input is a text or a list of items.')]
  }
  const items = input.map((item: unknown) => (isObject(item) ? item : {}))
  return [
    ...input.flatMap((item: unknown, index) => itemViolations(item, `input[${index}]`)),
    ...pairViolations(items, isComplete(body, items)),
    ...reasoningViolations(items),
    ...repeatedItems(items),
  ]
}

/** What one item breaks by itself, whatever stands around it: R6. */
export function itemViolations(item: unknown, path: string): Violation[] {
  if (!isObject(item)) return [violation('R6', path, 'An item is an object.')]
  const shape = shapeViolations(item, path)
  return [...shape, ...stringViolations(item, path)]
}

function shapeViolations(item: Item, path: string): Violation[] {
  switch (kindOf(item)) {
    case undefined:
      return [violation('R6', path, 'An item has a known role, or a type.')]
    case 'input':
    case 'said':
      return contentViolations(item.content, { path: `${path}.content`, role: item.role })
    case 'call':
      return callViolations(item, path)
    case 'output':
      if (isClientAnswer(item.type)) return pairIdViolations(item, path)
      return [
        ...pairIdViolations(item, path),
        ...contentViolations(item.output, { path: `${path}.output`, role: 'tool' }),
      ]
    case 'reasoning':
      if (Array.isArray(item.summary)) return []
      return [
        violation('R6', `${path}.summary`, 'Reasoning has a list of summaries, perhaps empty.'),
      ]
    default:
      return []
  }
}

function contentViolations(
  content: unknown,
  { path, role }: { readonly path: string; readonly role: unknown },
): Violation[] {
  if (typeof content === 'string') return []
  if (!Array.isArray(content) || content.length === 0) {
    return [violation('R6', path, 'Content is a text or a list of at least one part.')]
  }
  return content.flatMap((part: unknown, index) =>
    partViolations(part, { path: `${path}[${index}]`, role }),
  )
}

/** What one part of a message or output breaks by itself: R6. */
export function partViolations(
  part: unknown,
  { path, role }: { readonly path: string; readonly role: unknown },
): Violation[] {
  if (!isObject(part) || typeof part.type !== 'string') {
    return [violation('R6', path, 'A part is an object with a type.')]
  }
  const refused = role === 'assistant' ? refusedOfModel : refusedOfOthers
  if (refused.includes(part.type)) {
    return [violation('R6', `${path}.type`, `A part of type '${part.type}' cannot stand here.`)]
  }
  const isText = part.type === 'input_text' || part.type === 'output_text'
  if (!isText || typeof part.text === 'string') return []
  return [violation('R6', `${path}.text`, 'The text of a part is a string.')]
}

function callViolations(item: Item, path: string): Violation[] {
  const violations = pairIdViolations(item, path)
  if (clientCallOf(item.type) !== undefined) return violations
  const { name } = item
  if (typeof name !== 'string' || !namePattern.test(name)) {
    violations.push(violation('R6', `${path}.name`, `A name matches ${namePattern.source}.`))
  }
  const field = argumentsField(item.type)
  if (typeof item[field] !== 'string') {
    violations.push(
      violation('R6', `${path}.${field}`, 'Arguments are a string, as the model wrote them.'),
    )
  }
  return violations
}

function pairIdViolations(item: Item, path: string): Violation[] {
  const id = pairIdOf(item)
  if (typeof id === 'string' && id.length > 0 && id.length <= maxCallIdLength) return []
  const got = typeof id === 'string' ? `${id.length} characters` : 'no string'
  const at = `${path}.${pairField(item.type)}`
  return [violation('R6', at, `A call id has 1 to ${maxCallIdLength} characters, got ${got}.`)]
}

function stringViolations(value: unknown, path: string): Violation[] {
  const illFormed = findIllFormed(value, path)
  if (illFormed === undefined) return []
  return [violation('R6', illFormed, 'A string has half a surrogate pair: no UTF-8 exists for it.')]
}

/** Whether the body shows every call that an output may answer. */
function isComplete(body: unknown, items: readonly Item[]): boolean {
  if (items.some((item) => item.type === 'item_reference')) return false
  if (!isObject(body)) return true
  return (body.previous_response_id ?? null) === null && (body.conversation ?? null) === null
}

/** Calls that have no output yet, by call id, with their paths. */
interface Calls {
  /** Of the current run. */
  readonly open: Map<string, string>
  /** Of earlier runs: an output comes too late. */
  readonly late: Map<string, string>
  /** Every call id so far. */
  readonly used: Set<string>
}

/** Calls and outputs: R1, R4, R5 and R7. */
function pairViolations(items: readonly Item[], isComplete: boolean): Violation[] {
  const violations: Violation[] = []
  const calls: Calls = { open: new Map(), late: new Map(), used: new Set() }
  let hasOutputs = false
  items.forEach((item, index) => {
    const kind = kindOf(item)
    const path = `input[${index}]`
    if (kind === 'output') hasOutputs = true
    else if (!isInRun(kind) || hasOutputs) {
      for (const [id, callPath] of calls.open) calls.late.set(id, callPath)
      calls.open.clear()
      hasOutputs = false
    }
    const id = pairIdOf(item)
    if (typeof id !== 'string') return
    if (kind === 'output') {
      const fault = outputFault(id, calls, isComplete)
      if (fault !== undefined) violations.push({ ...fault, path })
    } else if (kind === 'call') {
      if (calls.used.has(id)) {
        const text = 'A call id names one call, an earlier one has it.'
        violations.push(violation('R5', `${path}.${pairField(item.type)}`, text))
      }
      calls.used.add(id)
      calls.open.set(id, path)
    }
  })
  for (const [id, path] of [...calls.late, ...calls.open]) {
    violations.push(violation('R1', path, `No tool output found for function call ${id}.`))
  }
  return violations
}

/** Takes the call off the waiting ones; says what is wrong with the output, if anything. */
function outputFault(
  id: string,
  { open, late, used }: Calls,
  isComplete: boolean,
): Omit<Violation, 'path'> | undefined {
  if (open.delete(id)) return undefined
  if (late.delete(id)) {
    return { rule: 'R7', message: 'An output stands directly behind the run that called.' }
  }
  if (used.has(id)) return { rule: 'R5', message: 'A call has one output, this is a second one.' }
  if (!isComplete) return undefined
  return { rule: 'R4', message: `No tool call found for function call output with call_id ${id}.` }
}

/** What reasoning must be followed by, and what must not come before it: R2 and R3. */
function reasoningViolations(items: readonly Item[]): Violation[] {
  const lost = items.flatMap((item, index) => {
    if (kindOf(item) !== 'reasoning' || leadsToItem(items, index)) return []
    const text = "An item of type 'reasoning' was provided without its required following item."
    return [violation('R2', `input[${index}]`, text)]
  })
  const early = callsBeforeReasoning(items)
    .filter((index) => typeof items[index]?.id === 'string')
    .map((index) => {
      const text = "A call was provided without its required 'reasoning' item before it."
      return violation('R3', `input[${index}]`, text)
    })
  return [...lost, ...early]
}

function repeatedItems(items: readonly Item[]): Violation[] {
  const seen = new Set<string>()
  return items.flatMap((item, index) => {
    const { id } = item
    if (typeof id !== 'string') return []
    if (seen.has(id)) {
      return [violation('R5', `input[${index}].id`, `Duplicate item found with id ${id}.`)]
    }
    seen.add(id)
    return []
  })
}

function violation(rule: string, path: string, message: string): Violation {
  return { rule, path, message }
}
