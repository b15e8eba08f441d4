// A client's body with something added to it: every other byte stays, and the outline follows.

import type { Json } from 'oriel'
import type { ClientBody } from '../call/client-body.ts'
import { elementsOf, moved, type Outline, type Range } from '../call/json-outline.ts'

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
