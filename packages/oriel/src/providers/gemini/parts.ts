// The parts of a content, as far as their kinds, places and pairs go.

import { isObject, type Json, type JsonObject } from '../../core/log/json.ts'

export const geminiFormat = 'gemini'

/** A part whose fields are not checked yet. */
export type Part = Readonly<Record<string, unknown>>

/** The fields of which a part has exactly one: what it is. */
const dataFields = [
  ...['text', 'inlineData', 'fileData', 'functionCall', 'functionResponse'],
  ...['executableCode', 'codeExecutionResult', 'toolCall', 'toolResponse'],
] as const
export type DataField = (typeof dataFields)[number]

/** Fields that say something of a part, whatever it is. */
const metaFields: ReadonlySet<string> = new Set([
  ...['thought', 'thoughtSignature', 'videoMetadata', 'partMetadata', 'mediaResolution'],
  ...['mediaProcessing', 'speechMetadata', 'audioTranscription'],
])

/** What a part is; 'other' for one of a later version, undefined where it is nothing or several things. */
export function kindOf(part: Part): DataField | 'other' | undefined {
  const found = dataIn(part)
  if (found.length > 0) return found.length === 1 ? found[0] : undefined
  return Object.keys(part).some((key) => !metaFields.has(key)) ? 'other' : undefined
}

function dataIn(part: Part): readonly DataField[] {
  return dataFields.filter((field) => hasField(part, field))
}

/** A thought in words, or what carries nothing but a signature. */
export function isThought(part: Part): boolean {
  if (dataIn(part).some((field) => field !== 'text')) return false
  return part.thought === true || (isSigned(part) && (isBlank(part.text) || isEmpty(part)))
}

/** Whether it is nothing at all, whatever is said of it. */
function isEmpty(part: Part): boolean {
  return kindOf(part) === undefined && dataIn(part).length === 0
}

export function isSigned({ thoughtSignature }: Part): boolean {
  return typeof thoughtSignature === 'string' && thoughtSignature !== ''
}

export function isBlank(text: unknown): boolean {
  return typeof text === 'string' && text.trim() === ''
}

/** A field of JSON that is null is not there. */
export function hasField(part: Part, key: string): boolean {
  return Object.hasOwn(part, key) && part[key] !== undefined && part[key] !== null
}

/** The function call or response in a part. */
export function innerOf(part: Part, field: 'functionCall' | 'functionResponse'): Part | undefined {
  const inner = Object.hasOwn(part, field) ? part[field] : undefined
  return isObject(inner) ? inner : undefined
}

/** A call, or a response, as far as pairing goes. */
export interface Named {
  readonly id: string | undefined
  readonly name: unknown
}

export function namedOf({ id, name }: Part): Named {
  return { id: typeof id === 'string' && id !== '' ? id : undefined, name }
}

/**
 * The index of the call that each response answers; undefined where there is none. Ids decide; where the call or the response has
 * none, the first call of the response's name that is left.
 */
export function pair(
  calls: readonly Named[],
  responses: readonly Named[],
): readonly (number | undefined)[] {
  const left = new Set(calls.keys())
  const take = (matches: (call: Named) => boolean): number | undefined => {
    const found = [...left].find((index) => matches(calls[index] as Named))
    if (found !== undefined) left.delete(found)
    return found
  }
  const byId = responses.map(({ id }) =>
    id === undefined ? undefined : take((call) => call.id === id),
  )
  return responses.map(
    ({ id, name }, index) =>
      byId[index] ??
      take((call) => call.name === name && (call.id === undefined || id === undefined)),
  )
}

/**
 * The parts of a stream, or of contents of the model in a row, as those of one content: words that continue are one part, and the empty
 * text with which streams end is none.
 */
export function joinParts(lists: readonly (readonly JsonObject[])[]): readonly JsonObject[] {
  const joined: JsonObject[] = []
  for (const all of lists) {
    const list = lists.length === 1 ? all : all.filter((part) => !isEmptyText(part))
    list.forEach((part, index) => {
      const before = joined.at(-1)
      if (index > 0 || before === undefined || !isWords(before) || !isWords(part)) joined.push(part)
      else if (before.thought !== part.thought) joined.push(part)
      else joined[joined.length - 1] = { ...before, text: `${before.text}${part.text}` }
    })
  }
  return joined
}

/** Whether a part is an empty text and nothing else. */
export function isEmptyText(part: Part): boolean {
  return part.text === '' && Object.keys(part).length === 1
}

/** Whether a part is nothing but words. One with a signature stays as it is. */
function isWords(part: JsonObject): boolean {
  return (
    typeof part.text === 'string' &&
    Object.keys(part).every((key) => key === 'text' || key === 'thought')
  )
}

export function asObject(value: Json | undefined): JsonObject {
  return isObject(value) ? (value as JsonObject) : {}
}
