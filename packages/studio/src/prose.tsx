// Markdown as far as it helps reading: headings, bold, code and bullets. Everything else, links and pictures too, stays the text that it is.

import type { ReactNode } from 'react'

export function Prose({ text }: { readonly text: string }): ReactNode {
  return text.split(fence).map((part, at) =>
    at % 2 === 1 ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a text have an order and nothing else.
      <code key={at} className="prose-code">
        {part.replace(/^[\w+.-]*\n/, '').replace(/\n$/, '')}
      </code>
    ) : (
      linesOf(part, at)
    ),
  )
}

const fence = /(?:^|\n)```/

function linesOf(text: string, part: number): ReactNode {
  return text.split('\n').map((line, at) => {
    const heading = /^#{1,6} +(.*)$/.exec(line)?.[1]
    const shown = line.replace(/^(\s*)[-*] +/, '$1• ')
    return (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a text have an order and nothing else.
      <span key={`${part} ${at}`}>
        {at > 0 && '\n'}
        {heading === undefined ? spansOf(shown) : <b>{heading}</b>}
      </span>
    )
  })
}

/** Bold and code inside a line. */
function spansOf(line: string): ReactNode {
  return line.split(/(\*\*[^*]+\*\*|`[^`]+`)/).map((span, at) => {
    const key = `${at}`
    if (at % 2 === 0) return span
    if (span.startsWith('`')) return <code key={key}>{span.slice(1, -1)}</code>
    return <b key={key}>{span.slice(2, -2)}</b>
  })
}
