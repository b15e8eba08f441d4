// An open tool loop whose signed reasoning can no longer be sent: what it did so far goes on as data in the user role.

import { type Block, type Role, textOf } from './block.ts'
import { clip } from './clip.ts'
import { isCall, isResult } from './exchange.ts'
import type { Repair } from './profile.ts'
import type { State } from './state.ts'
import type { ViewMessage } from './view.ts'

const opening =
  '[Work of this turn so far, as a record: what came before it has changed, so it cannot be sent as it was. Go on from here.]'

export interface FoldOptions {
  /** Messages whose signed reasoning had to leave. */
  readonly cut: ReadonlySet<number>
  /** The provider's rule, for the trace. */
  readonly rule: string
  /** Characters of one result in the record. @default no limit */
  readonly resultLength?: number
}

/** Whether the newest assistant message waits for the model to read its results. */
export function isLoopOpen(state: State): boolean {
  const { newestUser = 0, newestAssistant } = state
  return (
    newestAssistant !== undefined &&
    newestAssistant > newestUser &&
    state.exchanges.exchangeAt(newestAssistant) !== undefined
  )
}

/**
 * The view with the loop up to its last unsendable reasoning as one user message. What the model said after that was said to this
 * very record, so it stays. The same object where no such loop is open.
 */
export function foldOpenLoop(
  state: State,
  messages: readonly ViewMessage[],
  options: FoldOptions,
): { readonly messages: readonly ViewMessage[]; readonly repairs: readonly Repair[] } {
  const { cut, rule } = options
  const start = messages.findLastIndex(({ entry }) => entry?.seq === state.newestUser) + 1
  let end = messages.findLastIndex(({ entry }) => entry !== undefined && cut.has(entry.seq)) + 1
  if (!isLoopOpen(state) || end <= start) return { messages, repairs: [] }
  while (messages[end]?.role === 'tool') end += 1
  const folded = messages.slice(start, end)
  const reason = `${rule}: shown as a record, its reasoning is bound to what came before`
  const repairs = folded.flatMap(({ role, entry, blocks, positions }) =>
    entry === undefined
      ? []
      : blocks.map((block, at): Repair => {
          // What the loop itself could not show is not in its record either.
          const form = pieceOf(role, block).length === 0 ? 'dropped' : 'full'
          return { seq: entry.seq, block: positions?.[at] ?? at, form, reason }
        }),
  )
  const pieces = folded.flatMap((message) => piecesOf(message, options.resultLength))
  const record: ViewMessage = {
    role: 'user',
    origin: 'host',
    blocks: [{ type: 'text', text: opening }, ...pieces],
  }
  return { messages: messages.toSpliced(start, end - start, record), repairs }
}

/** What was said and done, piece by piece. Results are texts of their own, so that nothing is put into them. */
function piecesOf({ role, blocks }: ViewMessage, resultLength?: number): readonly Block[] {
  return blocks.flatMap((block) => pieceOf(role, block, resultLength))
}

function pieceOf(role: Role, block: Block, resultLength = Infinity): readonly Block[] {
  if (block.type === 'text' && block.text.trim() !== '') {
    return [asText(`[${role === 'assistant' ? 'Assistant' : 'Note'}]: ${block.text}`)]
  }
  if (isCall(block)) return [asText(`[Assistant tool call]: ${block.name}(${block.arguments})`)]
  if (block.type === 'image' || block.type === 'file') return [block]
  if (!isResult(block) || role === 'assistant') return []
  const text = textOf(block.content)
  const shown = text.trim() === '' ? '(empty output)' : clip(text, resultLength, block.id ?? '')
  const label = asText(block.isError === true ? '[Tool result, an error]' : '[Tool result]')
  return [label, asText(shown), ...mediaIn(block.content)]
}

function asText(text: string): Block {
  return { type: 'text', text }
}

/** Pictures and files stay beside the record. */
function mediaIn(content: string | readonly Block[]): readonly Block[] {
  if (typeof content === 'string') return []
  return content.filter(({ type }) => type === 'image' || type === 'file')
}
