// What stands in place of something left out: what it was, how large, and how to get it back.

import type { Block } from './block.ts'
import { textOf } from './block.ts'
import { head } from './clip.ts'

/** Longest list of keys or values that a placeholder names. */
const namedItems = 4
/** Longest single key or value that a placeholder names. */
const namedLength = 40
/** How much of a text is looked at for its shape: placeholders must cost the same for 1 KB and 10 MB. */
const inspectedLength = 20_000

export interface Omitted {
  readonly id: string
  readonly content: string | readonly Block[]
  readonly tool?: string
  readonly isError?: boolean
  /** Whether the original can be had back. @default true */
  readonly canExpand?: boolean
}

/** The informative placeholder of a tool result. Deterministic. */
export function placeholder(omitted: Omitted): string {
  const text = textOf(omitted.content)
  const what =
    omitted.tool === undefined ? 'tool result' : `${head(omitted.tool, namedLength)} result`
  const parts = [
    `${omitted.isError === true ? 'failed ' : ''}${what}`,
    sizeOf(omitted.content, text),
  ]
  const shape = shapeOf(text)
  if (shape !== '') parts.push(shape)
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

/** A few words on what a text is: the keys of a JSON object, the count of a JSON array, the lines of a text, ids in it. */
function shapeOf(text: string): string {
  const trimmed = text.length <= inspectedLength ? text.trim() : ''
  if (trimmed.startsWith('{') || trimmed.startsWith('[')) {
    const shape = jsonShape(trimmed)
    if (shape !== undefined) return shape
  }
  const lines = countLines(text)
  const ids = idsIn(text)
  const parts = [lines > 1 ? `${lines} lines` : '', ids.length > 0 ? `with ${ids.join(' ')}` : '']
  return parts.filter((part) => part !== '').join(' ')
}

function jsonShape(text: string): string | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  if (Array.isArray(value)) return `JSON array of ${value.length}`
  if (typeof value !== 'object' || value === null) return undefined
  const keys = Object.keys(value)
  const named = keys.slice(0, namedItems).map((key) => head(key, namedLength))
  return `JSON with ${named.join(', ')}${keys.length > namedItems ? ` and ${keys.length - namedItems} more` : ''}`
}

/** Id-like values: they are what an agent most often needs again. */
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
