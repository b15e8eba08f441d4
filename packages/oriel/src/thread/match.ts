// When is a message that a client sends again the one that is already in the log? By a key of what it visibly says.

import { createHash } from 'node:crypto'
import { type Block, textOf } from '../core/block.ts'
import type { Draft } from '../core/entry.ts'
import { canonicalJson, type Json } from '../core/json.ts'

/**
 * The key of a message: role, visible text, calls (id, name, canonical arguments), results (id, text), pictures and files.
 * Reasoning, nulls, cache markers and unknown fields do not count: clients drop and add them freely.
 */
export function keyOf(
  message: Pick<Draft, 'role' | 'content'> | { role: string; blocks: readonly Block[] },
): string {
  const content = 'blocks' in message ? message.blocks : message.content
  const blocks: readonly Block[] =
    typeof content === 'string' ? [{ type: 'text', text: content }] : content
  const hash = createHash('sha256')
  hash.update(message.role)
  hash.update(JSON.stringify(visibleText(blocks)))
  for (const block of blocks) {
    const part = partOf(block)
    if (part !== undefined) hash.update(JSON.stringify(part))
  }
  return hash.digest('base64url').slice(0, 22)
}

/** Clients split and join texts, and trim their ends. */
function visibleText(blocks: readonly Block[]): string {
  return blocks
    .map((block) => (block.type === 'text' ? block.text : ''))
    .join('')
    .trim()
}

function partOf(block: Block): unknown {
  switch (block.type) {
    case 'tool-call':
      return ['call', block.callId, block.name, canonicalArguments(block.arguments)]
    case 'tool-result':
      return ['result', block.callId, resultText(block.content)]
    case 'image':
    case 'file':
      return [block.type, block.url ?? block.data ?? '']
    default:
      return undefined
  }
}

function resultText(content: string | readonly Block[]): string {
  return typeof content === 'string' ? content.trim() : textOf(content).trim()
}

/** Arguments are re-serialised by clients: spaces, escapes and the order of keys do not count. */
function canonicalArguments(text: string): string {
  try {
    return canonicalJson(JSON.parse(text) as Json)
  } catch {
    return text
  }
}
