import type { Block } from './contract.ts'

/** A block as text. Pictures and files are named, not shown. */
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
      return `[image ${block.mediaType ?? ''}]`
    case 'file':
      return `[file ${block.name ?? block.mediaType ?? ''}]`
    default:
      return JSON.stringify(block.value, undefined, 2)
  }
}
