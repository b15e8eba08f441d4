// The text of the newest tool result of a request, whatever its provider.

import type { JsonObject, WireFormat } from 'oriel'
import { providers } from 'oriel/providers'

export function lastResult(format: WireFormat, body: Readonly<Record<string, unknown>>): string {
  const provider = providers[format]
  const messages = provider.request.list(body as JsonObject)
  const texts = provider
    .decode(messages, 'messages')
    .flatMap(({ draft: { content } }) =>
      typeof content === 'string'
        ? []
        : content.flatMap((block) => (block.type === 'tool-result' ? [text(block.content)] : [])),
    )
  return texts.at(-1) ?? ''
}

function text(content: unknown): string {
  return typeof content === 'string' ? content : JSON.stringify(content)
}
