// Takes large strings out of an entry's JSON text, to keep each once, and puts them back.

/**
 * String literals of at least this many characters are kept as blobs. Measured on recorded conversations: lower limits give
 * many more blobs for the same size on disk, none at all costs a tenth more and finds no duplicates.
 */
export const minCutLength = 4096

/** JSON text with holes: `body` without the cut literals, and each literal with its offset in `body`. */
interface CutText {
  readonly body: string
  readonly cuts: readonly { readonly offset: number; readonly literal: string }[]
}

/** Cuts out the inside of every large string literal, as it stands in the text, escapes and all. */
export function cutText(text: string): CutText {
  if (text.length < minCutLength) return { body: text, cuts: [] }
  const cuts: { offset: number; literal: string }[] = []
  let body = ''
  let kept = 0
  let start = text.indexOf('"')
  while (start !== -1) {
    const end = literalEnd(text, start)
    if (end - start - 1 >= minCutLength) {
      body += text.slice(kept, start + 1)
      cuts.push({ offset: body.length, literal: text.slice(start + 1, end) })
      kept = end
    }
    start = text.indexOf('"', end + 1)
  }
  return { body: body + text.slice(kept), cuts }
}

/** The text that `cutText` was given. */
export function joinText({ body, cuts }: CutText): string {
  let text = ''
  let kept = 0
  for (const { offset, literal } of cuts) {
    text += body.slice(kept, offset) + literal
    kept = offset
  }
  return text + body.slice(kept)
}

/** The index of the quote that closes the literal opened at `start`: the first one that is not escaped. */
function literalEnd(text: string, start: number): number {
  let end = start
  let isEscaped = true
  while (isEscaped) {
    end = text.indexOf('"', end + 1)
    let before = end - 1
    while (text.charCodeAt(before) === backslash) before--
    isEscaped = (end - 1 - before) % 2 === 1
  }
  return end
}

const backslash = 0x5c
