// Placeholder text for an omitted tool result: what it was, its size, and how to expand it.

import type { Block } from '../log/block.ts'
import { textOf } from '../log/block.ts'
import { head } from './clip.ts'

/** Maximum number of keys or ids that a placeholder names. */
const namedItems = 4
/** Maximum length of each. */
const namedLength = 40
/** Maximum length of the quoted first line, and the minimum text length for quoting one. */
const lineLength = 60
const quotedFrom = 400
/** Only this prefix is inspected, so that the cost does not grow with the text. */
const inspectedLength = 20_000

export interface Omitted {
  readonly id: string
  readonly content: string | readonly Block[]
  readonly tool?: string
  readonly isError?: boolean
  /** The original can be expanded. @default true */
  readonly canExpand?: boolean
  /** Why it is redundant, for example `same as the newer e7k2`. @default nothing */
  readonly note?: string
}

/** The placeholder of a tool result. Deterministic. */
export function placeholder(omitted: Omitted): string {
  const text = textOf(omitted.content)
  const what =
    omitted.tool === undefined ? 'tool result' : `${head(omitted.tool, namedLength)} result`
  const parts = [
    `${omitted.isError === true ? 'failed ' : ''}${what}`,
    sizeOf(omitted.content, text),
  ]
  // Do not quote an original that was not kept.
  const shape = omitted.canExpand === false ? '' : shapeOf(text)
  if (shape !== '') parts.push(shape)
  if (omitted.note !== undefined) parts.push(omitted.note)
  const how = omitted.canExpand === false ? 'it was not kept' : `expand ${omitted.id}`
  return `[Omitted: ${parts.join(', ')}; ${how}]`
}

function sizeOf(content: string | readonly Block[], text: string): string {
  const size = `${text.length} characters`
  if (typeof content === 'string') return size
  const images = content.filter((block) => block.type === 'image').length
  const others = content.filter((block) => block.type !== 'image' && block.type !== 'text').length
  const extra = [
    images > 0 ? `${images} image${images === 1 ? '' : 's'}` : '',
    others > 0 ? `${others} other block${others === 1 ? '' : 's'}` : '',
  ].filter((part) => part !== '')
  return [size, ...extra].join(' and ')
}

/** Describes a text in a few words: JSON keys or item count, line count and first line, ids. */
function shapeOf(text: string): string {
  const ids = idsIn(text)
  const named = ids.length > 0 ? `with ${ids.join(' ')}` : ''
  const trimmed = text.length <= inspectedLength ? text.trim() : ''
  const json = /^[{[]/.test(trimmed) ? jsonShape(trimmed) : undefined
  const shape = json === undefined ? textShape(text) : [json]
  return [...shape, named].filter((part) => part !== '').join(' ')
}

function textShape(text: string): readonly string[] {
  const lines = countLines(text)
  const count = lines > 1 ? `${lines} lines` : ''
  if (text.length < quotedFrom) return [count]
  const [first = ''] = head(text, inspectedLength).trimStart().split('\n', 1)
  const quoted = head(first.trim(), lineLength)
  return [count, quoted === '' ? '' : `beginning "${quoted}"`]
}

function jsonShape(text: string): string | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  if (Array.isArray(value)) {
    const keys = keysOf(value[0])
    return `JSON array of ${value.length}${keys === '' ? '' : ` with ${keys}`}`
  }
  const keys = keysOf(value)
  return keys === '' ? undefined : `JSON with ${keys}`
}

function keysOf(value: unknown): string {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return ''
  const keys = Object.keys(value)
  const named = keys.slice(0, namedItems).map((key) => head(key, namedLength))
  return `${named.join(', ')}${keys.length > namedItems ? ` and ${keys.length - namedItems} more` : ''}`
}

/** Id-like values, which agents most often need again. */
function idsIn(text: string): string[] {
  const found = new Set<string>()
  const pattern = /[A-Za-z0-9][A-Za-z0-9_./#-]{3,38}[A-Za-z0-9]/g
  for (const [value] of head(text, inspectedLength).matchAll(pattern)) {
    const looksLikeId = /\d/.test(value) && /[A-Za-z_/#-]/.test(value)
    if (looksLikeId) found.add(value)
    if (found.size === namedItems) break
  }
  return [...found]
}

function countLines(text: string): number {
  if (text === '') return 0
  let lines = 1
  for (let index = text.indexOf('\n'); index !== -1; index = text.indexOf('\n', index + 1))
    lines += 1
  return lines
}
