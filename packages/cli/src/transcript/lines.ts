// Line reader. Node's readline also splits at U+2028, which JSON allows inside strings.

import { OrielError } from 'oriel'

export interface Line {
  readonly text: string
  /** From 1. */
  readonly number: number
}

/** Longer values are rejected, near the maximum string length. */
export const maxValueLength = 256 * 1024 * 1024

/**
 * The lines of a stream, without line breaks; only `
 * ` and `\r
 * ` count. Skips a byte order mark.
 */
export async function* readLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Line> {
  const decoder = new TextDecoder()
  let rest = ''
  let number = 0
  for await (const chunk of chunks) {
    const pieces = decoder.decode(chunk, { stream: true }).split('\n')
    const last = pieces.pop() as string
    for (const piece of pieces) {
      number += 1
      yield { text: withoutReturn(rest + piece), number }
      rest = ''
    }
    rest += last
    if (rest.length > maxValueLength) throw tooLong(number + 1)
  }
  rest += decoder.decode()
  if (rest !== '') yield { text: rest, number: number + 1 }
}

function withoutReturn(text: string): string {
  return text.endsWith('\r') ? text.slice(0, -1) : text
}

export function tooLong(line: number): OrielError {
  return new OrielError(
    'too-large',
    `one JSON value at line ${line} is longer than ${maxValueLength / 1024 / 1024} MB; write one conversation a line instead (JSONL)`,
  )
}
