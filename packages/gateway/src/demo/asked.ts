// A request of any provider, as far as the demo's model reads it.

import type { Block, Json, JsonObject } from 'oriel'
import type { Provider } from 'oriel/providers'

export interface Asked {
  /** Names of the tools that the client offers. */
  readonly tools: ReadonlySet<string>
  /** Whether the client asks for the model's thinking. */
  readonly wantsReasoning: boolean
  /** The newest text that a person wrote. */
  readonly question: string
  /** How many messages of people are in view. */
  readonly questions: number
  /** Model calls since the newest question. */
  readonly steps: number
  /** Names of the tools called since the newest question. */
  readonly called: ReadonlySet<string>
  /** Results since the newest question. */
  readonly results: readonly Seen[]
  /** Every text in view before the newest question, newest first. */
  readonly earlier: readonly string[]
}

/** A tool's result, with the name of its tool where the call is in view. */
export interface Seen {
  readonly tool: string
  readonly text: string
}

export function readAsked(provider: Provider, body: JsonObject): Asked {
  const { request, tools } = provider
  const messages = provider.decode(request.list(body), 'messages').map(({ draft }) => draft)
  const blocks = messages.map(({ content }) => blocksOf(content))
  const asks = messages.map(({ role }, index) => role === 'user' && isAsked(blocks[index] ?? []))
  const newest = asks.lastIndexOf(true)
  const later = blocks.slice(newest + 1)
  const names = new Map(
    blocks
      .flat()
      .flatMap((block) => (block.type === 'tool-call' ? [[block.callId, block.name]] : [])),
  )
  return {
    tools: new Set(tools.names(listOf(body[tools.listKey])).filter((name) => name !== '')),
    wantsReasoning: request.wantsReasoning(body),
    // A format that joins neighbours may put older words into the same message: the newest are its last.
    question: textsIn(blocks[newest] ?? []).findLast((text) => !isSummary(text)) ?? '',
    questions: asks.filter(Boolean).length,
    steps: messages.slice(newest + 1).filter(({ role }) => role === 'assistant').length,
    called: new Set(
      later.flat().flatMap((block) => (block.type === 'tool-call' ? [block.name] : [])),
    ),
    results: later
      .flat()
      .flatMap((block) =>
        block.type === 'tool-result'
          ? [{ tool: names.get(block.callId) ?? block.name ?? 'tool', text: textIn(block) }]
          : [],
      ),
    earlier: blocks.slice(0, Math.max(newest, 0)).reverse().flat().map(textIn),
  }
}

function blocksOf(content: string | readonly Block[]): readonly Block[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}

/** Whether a person said something here; a message that only carries results, or a summary of earlier ones, asks nothing. */
function isAsked(blocks: readonly Block[]): boolean {
  return blocks.some(
    (block) =>
      block.type === 'image' ||
      block.type === 'file' ||
      (block.type === 'text' && !isSummary(block.text)),
  )
}

/** Whether a text stands for messages that are no longer in view. */
export function isSummary(text: string): boolean {
  return text.startsWith('[Previous conversation summary]')
}

function textsIn(blocks: readonly Block[]): readonly string[] {
  return blocks.flatMap((block) => (block.type === 'text' ? [block.text] : []))
}

function textIn(block: Block): string {
  if (block.type === 'text') return block.text
  if (block.type !== 'tool-result') return ''
  return typeof block.content === 'string' ? block.content : textsIn(block.content).join('\n')
}

function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : []
}
