// Open tool loops whose signed reasoning can no longer be sent: the loop so far is folded into a
// transcript in the user role.

import { type Block, type Role, textOf } from '../log/block.ts'
import type { Edit } from '../log/entry.ts'
import { clip } from '../text/clip.ts'
import type { Repair } from '../view/profile.ts'
import type { ViewMessage } from '../view/view.ts'
import { isInRanges } from './edits.ts'
import { isCall, isResult } from './exchange.ts'
import { type Item, type State, startsTurn } from './state.ts'

const opening =
  '[Work of this turn so far, as a record: what came before it has changed, so it cannot be sent as it was. Go on from here.]'

export interface FoldOptions {
  /** Seqs of messages that lost their signed reasoning. */
  readonly cut: ReadonlySet<number>
  /** The provider's rule id, for the trace. */
  readonly rule: string
  /** Maximum characters of one result in the transcript. @default no limit */
  readonly resultLength?: number
  /** Edits that are not logged yet. @default none */
  readonly planned?: readonly Edit[]
}

/**
 * Seq after which the open tool loop starts: that of the user message it answers, 0 if there is
 * none. Undefined if no loop is open, that is, if the model has answered the newest results. An
 * unfinished answer counts as an open loop. `planned` has edits that are not logged yet.
 */
export function loopStart(state: State, planned: readonly Edit[] = []): number | undefined {
  const { newestAssistant, exchanges } = state
  if (newestAssistant === undefined) return undefined
  if (!hasCalls(state, newestAssistant) && exchanges.parts.open === undefined) return undefined
  const drops = planned.filter(({ target }) => 'ranges' in target)
  // Treat planned drops as applied: a rebuilt request reads a log that contains them.
  const visible =
    drops.length === 0
      ? state.visible
      : state.visible.filter(({ entry }) => !drops.some((edit) => isInRanges(edit, entry.seq)))
  const opener = visible.findLastIndex((_, index) => endsLoop(state, visible, index))
  const start = visible[opener]?.entry.seq ?? 0
  return start < newestAssistant ? start : undefined
}

/**
 * True if the visible message ends the tool loop before it. A user message does, unless it directly
 * follows calls or results: then it is sent together with the results and the loop continues.
 */
export function endsLoop(state: State, visible: readonly Item[], index: number): boolean {
  const message = visible[index]?.entry
  if (message === undefined || !startsTurn(message)) return false
  for (let at = index - 1; at >= 0; at--) {
    const { role, seq } = (visible[at] as Item).entry
    if (role === 'system' || role === 'user') continue
    return role !== 'tool' && !hasCalls(state, seq)
  }
  return true
}

function hasCalls({ exchanges }: State, seq: number): boolean {
  return exchanges.exchangeAt(seq) !== undefined
}

/**
 * Replaces the loop, up to its last unsendable reasoning, by transcript messages in the user role.
 * Later answers stay: the model gave them in reply to this transcript. Returns the same list if
 * there is no such loop.
 */
export function foldOpenLoop(
  state: State,
  messages: readonly ViewMessage[],
  options: FoldOptions,
): { readonly messages: readonly ViewMessage[]; readonly repairs: readonly Repair[] } {
  const { cut, rule, planned } = options
  const opener = loopStart(state, planned)
  const start = messages.findLastIndex(({ entry }) => entry?.seq === opener) + 1
  let end = messages.findLastIndex(({ entry }) => entry !== undefined && cut.has(entry.seq)) + 1
  if (opener === undefined || end <= start) return { messages, repairs: [] }
  while (messages[end]?.role === 'tool') end += 1
  const folded = messages.slice(start, end)
  const reason = `${rule}: shown as a record, its reasoning is bound to what came before`
  const repairs = folded.flatMap(({ role, entry, blocks, positions }) =>
    entry === undefined || role === 'user'
      ? []
      : blocks.map((block, at): Repair => {
          const form = recordedForm(role, block)
          return { seq: entry.seq, block: positions?.[at] ?? at, form, reason }
        }),
  )
  const shown = recordsOf(folded, options.resultLength)
  return { messages: messages.toSpliced(start, end - start, ...shown), repairs }
}

/** What the loop itself could not show is not in its record either, and a result that is no text, picture or file is only named. */
function recordedForm(role: Role, block: Block): Repair['form'] {
  if (pieceOf(role, block).length === 0) return 'dropped'
  if (!isResult(block) || typeof block.content === 'string') return 'full'
  const isSaid = textOf(block.content).trim() !== '' || mediaIn(block.content).length > 0
  return isSaid || block.content.every(({ type }) => type === 'text') ? 'full' : 'omitted'
}

/** Folds everything except user messages into transcripts. */
function recordsOf(folded: readonly ViewMessage[], resultLength?: number): readonly ViewMessage[] {
  const shown: ViewMessage[] = []
  let pieces: Block[] = []
  const close = (): void => {
    if (pieces.length === 0) return
    const blocks: readonly Block[] = [{ type: 'text', text: opening }, ...pieces]
    shown.push({ role: 'user', origin: 'host', blocks })
    pieces = []
  }
  for (const message of folded) {
    if (message.role === 'user') {
      close()
      shown.push(message)
    } else pieces.push(...piecesOf(message, resultLength))
  }
  close()
  return shown
}

/**
 * Converts a message to transcript blocks. Results are separate text blocks, so that their content
 * cannot pose as a label.
 */
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

/** Images and files are kept beside the transcript. */
function mediaIn(content: string | readonly Block[]): readonly Block[] {
  if (typeof content === 'string') return []
  return content.filter(({ type }) => type === 'image' || type === 'file')
}
