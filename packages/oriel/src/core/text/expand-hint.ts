// Hints in reduced texts that tell a model how to expand them, and the same texts for a request that does not carry the expand tool.

import type { Block } from '../log/block.ts'
import type { ViewMessage } from '../view/view.ts'

export interface Unhinted {
  readonly messages: readonly ViewMessage[]
  /** Whether a hint was taken out. */
  readonly hadHints: boolean
}

/**
 * The messages for a request without the expand tool: reduced texts keep their ids and offer nothing. Originals are never touched,
 * whatever they say.
 */
export function withoutHints(messages: readonly ViewMessage[]): Unhinted {
  let hadHints = false
  const unhinted = messages.map((message) => {
    const blocks = message.blocks.map((block) =>
      message.entry?.blocks.includes(block) === true ? block : unhintedBlock(block, message),
    )
    if (blocks.every((block, index) => block === message.blocks[index])) return message
    hadHints = true
    return { ...message, blocks }
  })
  return hadHints ? { messages: unhinted, hadHints } : { messages, hadHints }
}

function unhintedBlock(block: Block, message: Pick<ViewMessage, 'entry'>): Block {
  if (block.type === 'text') {
    const text =
      message.entry === undefined
        ? withoutRangeHints(block.text)
        : withoutHint(block.text, block.id)
    return text === block.text ? block : { ...block, text }
  }
  if (block.type !== 'tool-result') return block
  const { content, id } = block
  if (typeof content === 'string') {
    const text = withoutHint(content, id)
    return text === content ? block : { ...block, content: text }
  }
  const inner = content.map((one) => {
    if (one.type !== 'text') return one
    const text = withoutHint(withoutHint(one.text, one.id), id)
    return text === one.text ? one : { ...one, text }
  })
  return inner.every((one, index) => one === content[index]) ? block : { ...block, content: inner }
}

/** The text of a form without its own hint. Only the exact words with its own id are taken out: the rest may be quoted from anywhere. */
function withoutHint(text: string, id: string | undefined): string {
  if (id === undefined || !text.includes(id)) return text
  return text
    .replaceAll(`expand ${id}, by lines or by query`, `id ${id}`)
    .replaceAll(`expand ${id}`, `id ${id}`)
    .replaceAll(`Agent can request full expansion if needed: ${id}`, `id ${id}`)
    .replaceAll(`Agent can request expansion if needed: ${id}`, `id ${id}`)
}

/** Notes that stand for several messages: a digest at its end, and the cuts in the record of a tool loop. */
function withoutRangeHints(text: string): string {
  return text
    .replace(/; expand (e\w+(?: to e\w+)?)\]$/, '; messages $1]')
    .replaceAll(/( characters left out); expand (e\w+) \.\.\.\]/g, '$1; id $2 ...]')
}
