// One block of data in a request to a summarizer, between tags that the data cannot contain.

import { sha256 } from '../../sha256.ts'

export interface DataItem {
  /** What stands in the opening tag, in words. */
  readonly title?: string
  readonly text: string
}

/**
 * Items between tags. The tag's name ends in a hash of what is between, so that no text can hold its own closing tag; one that
 * does so by chance gets another.
 */
export function delimited(
  name: string,
  items: readonly DataItem[],
): { readonly text: string; readonly tag: string } {
  const body = items.map(({ text }) => text.toWellFormed())
  const whole = body.join('\n')
  let tag = ''
  for (let round = 0; tag === '' || whole.includes(tag); round++) {
    tag = `${name}-${sha256(`${round}:${whole}`).slice(0, 12)}`
  }
  const text = items
    .map(({ title }, index) => {
      const about = title === undefined ? '' : ` about=${JSON.stringify(oneLine(title))}`
      return `<${tag}${about}>\n${body[index]}\n</${tag}>`
    })
    .join('\n\n')
  return { text, tag }
}

/** Titles name tools, which anybody may name. */
function oneLine(title: string): string {
  return title
    .toWellFormed()
    .replaceAll(/[\s<>]+/g, ' ')
    .slice(0, 200)
}
