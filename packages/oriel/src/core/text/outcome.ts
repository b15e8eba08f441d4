// The outcome of a tool call in a few words: whether it failed, and the line of the result that says most.

import { head, oneLine, shorten } from './clip.ts'

export interface Outcome {
  readonly text: string
  readonly hasFailed: boolean
}

const lineLength = 70
/** Only the ends of a text are inspected, so that the cost does not grow with it. */
const inspectedLength = 4000

const exitCode =
  /<returncode>(-?\d+)<\/returncode>|\b(?:exit(?:ed)?|return)(?: with)?(?: code| status)?[:= ]+(-?\d+)\b/i
/** Lines that say what went wrong. */
const wrong =
  /error|exception|fail|fatal|denied|cannot|can't|not found|no such|timed out|refused|invalid|undefined/i
/** Lines that say how it ended. */
const verdict =
  /\b\d+ (?:passed|failed|errors?|tests?|files? changed)|\bok\b|success|done|written|✓|pass/i

/** `isError` is the provider's own sign. Words alone never make a result a failure. */
export function outcomeOf(
  text: string,
  { isError, isLook }: { readonly isError: boolean; readonly isLook: boolean },
): Outcome {
  const ends =
    text.length <= 2 * inspectedLength
      ? text
      : `${head(text, inspectedLength)}\n${text.slice(-inspectedLength)}`
  const [, tagged, said] = exitCode.exec(ends) ?? []
  const code = Number(tagged ?? said ?? 0)
  const hasFailed = isError || code !== 0 || isRefusal(text)
  const lines = linesOf(ends)
  if (hasFailed) {
    const line = lines.findLast((one) => wrong.test(one)) ?? lines.at(-1) ?? ''
    return { hasFailed, text: line === '' ? 'failed' : `failed: ${shorten(line, lineLength)}` }
  }
  const [only = ''] = lines
  if (lines.length === 0 || /^\W*no output\W*$/i.test(only)) return { hasFailed, text: 'ok' }
  if (lines.length === 1 && only.length <= lineLength) return { hasFailed, text: only }
  if (isLook) return { hasFailed, text: sizeOf(text) }
  const line = lines.findLast((one) => one.length <= lineLength && verdict.test(one))
  return { hasFailed, text: line ?? 'ok' }
}

/** Structured results of tools that have no flag of their provider. */
function isRefusal(text: string): boolean {
  return (
    text.length < inspectedLength &&
    /^\s*\{[^{]*"(?:success"\s*:\s*false|isError"\s*:\s*true)/.test(text)
  )
}

/** The lines with content, without the tags and marks that agents put around outputs. */
function linesOf(text: string): readonly string[] {
  return text
    .replaceAll(/<\/?[a-z_]{2,20}>/g, '\n')
    .split('\n')
    .map(oneLine)
    .filter((line) => /[\p{L}\p{N}]/u.test(line) && !/^-?\d+$/.test(line))
}

function sizeOf(text: string): string {
  const lines = text.trim().split('\n').length
  return lines === 1 ? `${text.trim().length} characters` : `${lines} lines`
}
