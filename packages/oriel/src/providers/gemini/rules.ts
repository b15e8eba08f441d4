// What Gemini's generateContent refuses: the rules GC1 to GC13, in the provider's own words where they are known.

import { OrielError } from '../../core/log/errors.ts'
import { checkJson, isObject, type JsonObject, maxDepth } from '../../core/log/json.ts'
import { findIllFormed, neverThrowing } from '../foreign.ts'
import type { Violation } from '../format.ts'
import {
  hasField,
  innerOf,
  isBlank,
  isEmptyText,
  isSigned,
  isThought,
  kindOf,
  namedOf,
  type Part,
  pair,
} from './parts.ts'

type Fields = Readonly<Record<string, unknown>>

/** Names of functions (GC11), as the official client declares them. */
export const namePattern = /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/
/** Gemini states no limit; 64 is the longest that other servers are known to take (O3). */
export const maxIdLength = 64
/** Call ids on the wire (GC10): any text will do, except half a character, and what stands for no id in the log. */
export const idPattern = /^(?!by-name:)\P{Cs}{1,64}$/u

/**
 * Every rule that a request body breaks; none if it is valid. Never throws. A list is taken for the contents alone, and a view's
 * `messages` and `system` for `contents` and `systemInstruction`. Which model a request is for stands in its address: GC12 demands
 * signatures only where the body names a model that demands them.
 */
export const validateBody = neverThrowing('GC13', (body) => {
  const request: unknown = Array.isArray(body) ? { contents: body } : body
  if (!isObject(request)) return [violation('GC13', '', 'the body must be a JSON object')]
  const contents = request.contents ?? request.messages
  if (!Array.isArray(contents)) {
    return [...judgeText(request), violation('GC4', 'contents', 'contents is not specified')]
  }
  const read = withoutStreamEnds(contents.map(readContent))
  const turns = joinRuns(read)
  return [
    ...judgeRoles(read, isWhole(request)),
    ...judgeSystem(request),
    ...judgeParts(read),
    ...judgeCalls(turns),
    ...judgeIds(turns),
    ...judgeOrder(turns),
    ...judgeSignatures(turns, request.model),
    ...judgeText(request),
  ]
})

/** Whether it is more than a list of contents, so that more cannot follow. */
function isWhole(request: Fields): boolean {
  return request.generationConfig !== undefined || request.model !== undefined
}

interface ReadPart {
  readonly value: Part
  readonly path: string
  readonly fault: Fault | undefined
}

interface ReadContent {
  readonly path: string
  readonly role: unknown
  /** Absent when there is no list of parts. */
  readonly parts: readonly ReadPart[] | undefined
}

function readContent(content: unknown, index: number): ReadContent {
  const path = `contents[${index}]`
  const { role = 'user', parts }: Fields = isObject(content) ? content : {}
  const place: Place = role === 'model' ? 'model' : 'user'
  if (!Array.isArray(parts)) return { path, role, parts: undefined }
  const read = parts.map((value: unknown, position) => ({
    value: isObject(value) ? value : {},
    path: `${path}.parts[${position}]`,
    fault: faultOf(value, place),
  }))
  return { path, role, parts: read }
}

/** The empty text with which streams end is accepted in the pieces of an answer that is resent as it came (GC4). */
function withoutStreamEnds(contents: readonly ReadContent[]): readonly ReadContent[] {
  return contents.map((content, index) => {
    const { role, parts } = content
    const isPiece = [contents[index - 1], contents[index + 1]].some((one) => one?.role === 'model')
    if (role !== 'model' || !isPiece || parts === undefined) return content
    const accepted = parts.map((part) =>
      isEmptyText(part.value) ? { ...part, fault: undefined } : part,
    )
    return { ...content, parts: accepted }
  })
}

/** Contents of the model in a row say one thing: clients resend a streamed answer in the pieces that it came in. */
function joinRuns(contents: readonly ReadContent[]): readonly ReadContent[] {
  const turns: ReadContent[] = []
  for (const content of contents) {
    const last = turns.at(-1)
    if (last?.role !== 'model' || content.role !== 'model') turns.push(content)
    else
      turns[turns.length - 1] = {
        ...last,
        parts: [...(last.parts ?? []), ...(content.parts ?? [])],
      }
  }
  return turns
}

/** GC1, GC2, GC3, GC5. */
function* judgeRoles(contents: readonly ReadContent[], isAll: boolean): Iterable<Violation> {
  const [first] = contents
  if (first === undefined && isAll) {
    yield violation('GC4', 'contents', 'at least one contents field is required')
  }
  if (first?.role === 'model') {
    const message =
      'Please ensure that function call turn comes immediately after a user turn or after a function response turn.'
    yield violation('GC2', first.path, message)
  }
  for (const [index, { role, path }] of contents.entries()) {
    if (role !== 'user' && role !== 'model') {
      yield violation('GC1', `${path}.role`, 'Please use a valid role: user, model.')
    } else if (index > 0 && role === 'user' && contents[index - 1]?.role === 'user') {
      yield violation('GC3', `${path}.role`, 'two contents of the user in a row')
    }
  }
  const last = contents.at(-1)
  if (last?.role === 'model') {
    const message =
      'Please ensure that multiturn requests end with a user role or a function response.'
    yield violation('GC5', last.path, message)
  }
}

function* judgeSystem(request: Fields): Iterable<Violation> {
  const system = request.systemInstruction ?? request.system_instruction ?? request.system
  if (system === undefined || system === null || typeof system === 'string') return
  const parts = isObject(system) ? system.parts : undefined
  if (!Array.isArray(parts)) {
    yield violation('GC4', 'systemInstruction.parts', 'systemInstruction has a list of parts')
    return
  }
  for (const [index, part] of parts.entries()) {
    const fault = faultOf(part, 'system')
    const path = `systemInstruction.parts[${index}]`
    if (fault !== undefined) yield violation(fault.rule, path, fault.message)
  }
}

/** GC4, GC11, and what else a part breaks by itself. */
function* judgeParts(contents: readonly ReadContent[]): Iterable<Violation> {
  for (const { path, parts } of contents) {
    if (parts === undefined || parts.length === 0) {
      yield violation('GC4', `${path}.parts`, 'must include at least one parts field')
    }
    for (const part of parts ?? []) {
      if (part.fault !== undefined) yield violation(part.fault.rule, part.path, part.fault.message)
    }
  }
}

/** GC6, GC7, GC8. */
function* judgeCalls(contents: readonly ReadContent[]): Iterable<Violation> {
  for (const [index, content] of contents.entries()) {
    const calls = innersIn(content, 'model', 'functionCall')
    const responses = innersIn(contents[index + 1], 'user', 'functionResponse')
    const answered = pair(
      calls.map(({ inner }) => namedOf(inner)),
      responses.map(({ inner }) => namedOf(inner)),
    )
    for (const [position, { path }] of calls.entries()) {
      if (answered.includes(position)) continue
      const message =
        'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.'
      yield violation('GC6', path, message)
    }
    for (const [position, { path, inner }] of responses.entries()) {
      const call = answered[position]
      if (call !== undefined && calls[call]?.inner.name !== inner.name) {
        yield violation('GC7', `${path}.functionResponse.name`, 'is not the name of its call')
      } else if (call === undefined) yield strayResponse(path, inner, calls)
    }
    if (index > 0) continue
    for (const { path, inner } of innersIn(content, 'user', 'functionResponse')) {
      yield strayResponse(path, inner, [])
    }
  }
}

function strayResponse(
  path: string,
  inner: Part,
  calls: readonly { readonly inner: Part }[],
): Violation {
  const { id, name } = namedOf(inner)
  const isSecond = calls.some((call) => {
    const one = namedOf(call.inner)
    return one.name === name && (one.id === id || one.id === undefined || id === undefined)
  })
  if (isSecond) return violation('GC8', path, 'a call has one response, this is a second one')
  const message =
    'Please ensure that function response turn comes immediately after a function call turn.'
  return violation('GC7', path, message)
}

function innersIn(
  content: ReadContent | undefined,
  role: 'user' | 'model',
  field: 'functionCall' | 'functionResponse',
): readonly { readonly path: string; readonly inner: Part }[] {
  if (content?.role !== role) return []
  return (content.parts ?? []).flatMap(({ value, path }) => {
    const inner = innerOf(value, field)
    return inner === undefined ? [] : [{ path, inner }]
  })
}

/** GC10. */
function* judgeIds(contents: readonly ReadContent[]): Iterable<Violation> {
  const seen = new Set<string>()
  for (const content of contents) {
    for (const { path, inner } of innersIn(content, 'model', 'functionCall')) {
      const { id } = namedOf(inner)
      if (id === undefined) continue
      if (seen.has(id)) yield violation('GC10', `${path}.functionCall.id`, 'is used twice')
      seen.add(id)
    }
  }
}

/** GC9. */
function* judgeOrder(contents: readonly ReadContent[]): Iterable<Violation> {
  for (const { role, parts = [] } of contents) {
    if (role !== 'user') continue
    const other = parts.findIndex(({ value }) => !hasField(value, 'functionResponse'))
    for (const [position, { value, path }] of parts.entries()) {
      if (other === -1 || position < other || !hasField(value, 'functionResponse')) continue
      yield violation('GC9', path, 'function responses come first in a content')
    }
  }
}

/** Models that demand signatures of calls in the current turn: Gemini 3 and later ones. */
const signingModels = /(?:^|\/)gemini-(?:[3-9]|\d\d)(?!.*image)/

/** GC12. The current turn begins behind the last content of the user that holds more than responses. */
function* judgeSignatures(contents: readonly ReadContent[], model: unknown): Iterable<Violation> {
  if (typeof model !== 'string' || !signingModels.test(model)) return
  const start = contents.findLastIndex(
    ({ role, parts = [] }) =>
      role === 'user' && parts.some(({ value }) => !hasField(value, 'functionResponse')),
  )
  for (const { role, parts = [] } of contents.slice(start + 1)) {
    const call =
      role === 'model' ? parts.find(({ value }) => hasField(value, 'functionCall')) : undefined
    if (call === undefined || isSigned(call.value)) continue
    const message = 'Function call is missing a thought_signature in functionCall parts.'
    yield violation('GC12', call.path, message)
  }
}

/** GC13. */
function* judgeText(request: Fields): Iterable<Violation> {
  const illFormed = findIllFormed(request, '')
  if (illFormed !== undefined) {
    const message = 'a string has half a surrogate pair: no UTF-8 exists for it'
    yield violation('GC13', illFormed.replace(/^\./, ''), message)
  }
  try {
    // The body and its list of contents stand around a content that may itself be as deep as the log allows.
    checkJson(request, '', maxDepth + 2)
  } catch (error) {
    if (!OrielError.is(error)) throw error
    const path = (error.path ?? '').replace(/^\./, '')
    yield violation('GC13', path, `the body is not valid JSON: ${error.message}`)
  }
}

function violation(rule: string, path: string, message: string): Violation {
  return { rule, path, message }
}

/** Where a part stands: in a content of that role, inside a response, or in the system instruction. */
export type Place = 'user' | 'model' | 'response' | 'system'

export interface Fault {
  readonly rule: string
  readonly message: string
}

const places: Readonly<Record<Place, (kind: string) => boolean>> = {
  system: (kind) => kind === 'text',
  response: (kind) => kind === 'inlineData' || kind === 'fileData' || kind === 'other',
  model: (kind) => kind !== 'functionResponse',
  user: (kind) => !['functionCall', 'executableCode', 'toolCall'].includes(kind),
}

/** The first rule that the part breaks by itself; undefined if none. Kinds that are not known pass. */
export function faultOf(part: unknown, place: Place): Fault | undefined {
  if (!isObject(part)) return fault('GC13', 'a part must be an object')
  if (hasField(part, 'thoughtSignature') && typeof part.thoughtSignature !== 'string') {
    return fault('GC12', 'thoughtSignature: Base64 decoding failed')
  }
  if (isThought(part)) return thoughtFault(part, place)
  const kind = kindOf(part)
  if (kind === undefined) {
    return fault('GC4', "data: required oneof field 'data' must have one initialized field")
  }
  if (!places[place](kind)) return fault('GC11', `a part with ${kind} cannot stand here`)
  switch (kind) {
    case 'text':
      if (typeof part.text !== 'string') return fault('GC11', 'text: must be a string')
      return isBlank(part.text) ? fault('GC4', 'it has an empty text parameter') : undefined
    case 'functionCall':
      return callFault(part.functionCall)
    case 'functionResponse':
      return responseFault(part.functionResponse)
    case 'inlineData':
      return fieldFault(part.inlineData, ['mimeType', 'data'])
    case 'fileData':
      return fieldFault(part.fileData, ['fileUri'])
    default:
      return undefined
  }
}

/** The first rule that the part, or one inside a response, breaks by itself. */
export function deepFaultOf(part: JsonObject, place: Place): Fault | undefined {
  return faultOf(part, place) ?? innerFaults(part)[0]
}

/** What the parts inside a response break by themselves. */
export function innerFaults(part: Part): readonly Fault[] {
  const parts = innerOf(part, 'functionResponse')?.parts
  if (!Array.isArray(parts)) return []
  return parts.flatMap((inner: unknown) => faultOf(inner, 'response') ?? [])
}

function thoughtFault(part: Part, place: Place): Fault | undefined {
  if (place !== 'model') {
    const isUnsaid = part.thought !== true
    return isUnsaid
      ? fault('GC4', 'it has an empty text parameter')
      : fault('GC11', 'only the model thinks')
  }
  if (typeof part.text === 'string' || (isSigned(part) && !hasField(part, 'text'))) return undefined
  return fault('GC4', "data: required oneof field 'data' must have one initialized field")
}

function callFault(call: unknown): Fault | undefined {
  if (!isObject(call)) return fault('GC11', 'functionCall: must be an object')
  const { name, args } = call
  if (typeof name !== 'string' || !namePattern.test(name)) return nameFault('functionCall')
  if (args !== undefined && !isObject(args)) return fault('GC11', 'args: must be an object')
  return idFault(call)
}

function responseFault(said: unknown): Fault | undefined {
  if (!isObject(said)) return fault('GC11', 'functionResponse: must be an object')
  const { name, response, parts } = said
  if (typeof name !== 'string' || !namePattern.test(name)) return nameFault('functionResponse')
  if (!isObject(response)) return fault('GC11', 'response: must be an object')
  if (parts !== undefined && !Array.isArray(parts)) return fault('GC11', 'parts: must be a list')
  return idFault(said)
}

function nameFault(field: string): Fault {
  return fault('GC11', `${field}.name: [FIELD_INVALID] a name matches ${namePattern.source}`)
}

function idFault({ id }: Fields): Fault | undefined {
  if (id === undefined) return undefined
  if (typeof id === 'string' && idPattern.test(id)) return undefined
  return fault('GC10', `id: a text of 1 to ${maxIdLength} characters`)
}

function fieldFault(value: unknown, fields: readonly string[]): Fault | undefined {
  const missing = fields.find((field) => !isObject(value) || typeof value[field] !== 'string')
  return missing === undefined ? undefined : fault('GC11', `${missing}: must be a string`)
}

function fault(rule: string, message: string): Fault {
  return { rule, message }
}
