// Bodies with something added or taken out: every other byte stays, and the outline follows.

import type { Json, JsonObject } from 'oriel'
import { parseObject, type ToolEchoes } from 'oriel/providers'
import type { ClientBody } from '../call/client-body.ts'
import { elementsOf, moved, type Outline, outlineOf, type Range } from '../call/json-outline.ts'

/** The body with more elements in one of its lists, which may be empty, null or absent. */
export function addElements(body: ClientBody, key: string, elements: readonly Json[]): ClientBody {
  const range = body.outline.fields.get(key)
  const list = body.value[key]
  const known: readonly Json[] = Array.isArray(list) ? list : []
  const all = [...known, ...elements]
  if (range === undefined) return addMember(body, key, all)
  const texts = elements.map((element) => JSON.stringify(element)).join(',')
  const last = known.length === 0 ? undefined : elementsOf(body.text, range).at(-1)
  const value = { ...body.value, [key]: all }
  if (last === undefined) return { ...replace(body, range, `[${texts}]`), value }
  return { ...replace(body, { start: last.end, end: last.end }, `,${texts}`), value }
}

/** The body with a field that it does not have yet. */
export function addMember(body: ClientBody, key: string, value: Json): ClientBody {
  const start = body.text.indexOf('{') + 1
  const text = `${JSON.stringify(key)}:${JSON.stringify(value)},`
  return { ...replace(body, { start, end: start }, text), value: { ...body.value, [key]: value } }
}

/** The body with another value of a field. */
export function setMember(body: ClientBody, key: string, value: Json): ClientBody {
  const range = body.outline.fields.get(key)
  if (range === undefined) return addMember(body, key, value)
  const changed = replace(body, range, JSON.stringify(value))
  return { ...changed, value: { ...body.value, [key]: value } }
}

function replace(body: ClientBody, range: Range, by: string): ClientBody {
  const { start, end } = range
  const text = body.text.slice(0, start) + by + body.text.slice(end)
  const outline = shifted(body.outline, range, by.length - (end - start))
  return { value: body.value, text, bytes: Buffer.from(text), outline }
}

function shifted(outline: Outline, { start, end }: Range, by: number): Outline {
  const move = (range: Range): Range => ({
    start: range.start >= end ? range.start + by : range.start,
    end: range.end > start ? range.end + by : range.end,
  })
  return { ...outline, ...moved(outline, move) }
}

/** The text of an answer without what it repeats of a tool that the client did not send. */
export function withoutEchoes(text: string, { lists, values }: ToolEchoes): string {
  let kept = text
  for (const [key, isLeftOut] of Object.entries(lists)) kept = withoutElements(kept, key, isLeftOut)
  for (const [key, value] of Object.entries(values)) {
    const range = outlineOf(kept).fields.get(key)
    if (range === undefined) continue
    kept = kept.slice(0, range.start) + JSON.stringify(value) + kept.slice(range.end)
  }
  return kept
}

function withoutElements(
  text: string,
  key: string,
  isLeftOut: (element: JsonObject) => boolean,
): string {
  const range = outlineOf(text).fields.get(key)
  if (range === undefined || text.charAt(range.start) !== '[') return text
  const elements = elementsOf(text, range).map(({ start, end }) => text.slice(start, end))
  const kept = elements.filter((element) => !isLeftOut(parseObject(element) ?? {}))
  if (kept.length === elements.length) return text
  return `${text.slice(0, range.start)}[${kept.join(',')}]${text.slice(range.end)}`
}

/** The text of an object with more fields, in front of its own. */
export function withMembers(text: string, members: JsonObject = {}): string {
  const own = Object.entries(members).map(
    ([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)},`,
  )
  return text.replace('{', () => `{${own.join('')}`)
}
