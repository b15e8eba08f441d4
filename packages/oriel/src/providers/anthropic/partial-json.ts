// The part of a cut JSON text that is certain. The same part as in Anthropic's SDK, whose clients send back what it reads.

import type { Json } from '../../core/log/json.ts'

/** All complete values of the text, with the objects and lists around them closed; undefined where there is none. */
export function parsePartialJson(text: string): Json | undefined {
  return parse(text) ?? parse(closed(text))
}

function parse(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}

/** A text, the start of one that was cut, a mark, or a number or word. */
const token = /"(?:[^"\\]|\\[\s\S])*"|"|[{}[\]:,]|[^\s{}[\]:,"]+/g

/** The text up to its last complete value, and what closes it. */
function closed(text: string): string {
  const open: string[] = []
  /** Where the last complete value ends, and what was open there. */
  let end = 0
  let tail = ''
  let isKey = false
  token.lastIndex = 0
  for (let found = token.exec(text); found !== null; found = token.exec(text)) {
    const [part] = found
    if (part === '"') break
    const isObjectOpen = open.at(-1) === '}'
    if (part === '{' || part === '[') open.push(part === '{' ? '}' : ']')
    else if (part === '}' || part === ']') open.pop()
    else if (part === ':' || part === ',') {
      isKey = part === ',' && isObjectOpen
      continue
    } else {
      const isName = isObjectOpen && isKey && part.startsWith('"')
      // More digits may follow where the text ends.
      const isOpenEnd = token.lastIndex === text.length && /^[-\d.]/.test(part)
      if (isName || isOpenEnd || parse(part) === undefined) continue
    }
    isKey = part === '{'
    end = token.lastIndex
    tail = open.toReversed().join('')
  }
  return text.slice(0, end) + tail
}
