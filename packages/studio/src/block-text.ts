// Plain text of a block.

import type { Block, FileBlock, ImageBlock } from './contract.ts'

/** A block as text. Images and files are labelled, not shown. */
export function textOf(block: Block): string {
  switch (block.type) {
    case 'text':
      return block.text
    case 'reasoning':
      return block.text ?? ''
    case 'tool-call':
      return `${block.name}(${block.arguments})`
    case 'tool-result':
      return typeof block.content === 'string'
        ? block.content
        : block.content.map(textOf).join('\n')
    case 'image':
      return named(block)
    case 'file':
      return named(block, block.name)
    default:
      return JSON.stringify(block.value, undefined, 2)
  }
}

/** Longer URLs are not shown, nor are `data:` URLs, which are the content itself. */
const longestAddress = 200

/** A label for an image or file: `[image image/png 78 bytes]`. */
function named({ type, mediaType, data, url = '' }: ImageBlock | FileBlock, name?: string): string {
  const isAddress = !url.startsWith('data:') && url.length <= longestAddress
  const place =
    data === undefined ? (isAddress ? url : '') : `${Math.floor(data.length * 0.75)} bytes`
  return `[${[type, name ?? '', mediaType ?? '', place].filter((word) => word !== '').join(' ')}]`
}
