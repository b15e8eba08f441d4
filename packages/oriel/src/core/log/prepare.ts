// Conversion of drafts to message entries: assigns ids, turns and steps without modifying the
// state.

import { type Call, type Exchange, ExchangeIndex, isCall } from '../state/exchange.ts'
import { type State, startsTurn } from '../state/state.ts'
import type { Block, Origin } from './block.ts'
import type { Draft, MessageEntry } from './entry.ts'
import { blockId, entryId } from './ids.ts'

/**
 * Returns the entries that appending these drafts would add. A batch gives the same entries as
 * appending one by one.
 */
export function prepare(
  state: State,
  drafts: readonly Draft[],
  at: number,
): readonly MessageEntry[] {
  // Created lazily: a batch without calls needs no index of its own.
  let batch: ExchangeIndex | undefined
  const answered = new Set<Call>()
  let { version: seq, turn, step } = state
  return drafts.map((draft) => {
    seq += 1
    const blocks = blocksOf(draft, state.salt, seq)
    const origin = draft.origin ?? originOf(draft, blocks)
    if (startsTurn({ role: draft.role, origin })) turn += 1
    const indexes = batch === undefined ? [state.exchanges] : [batch, state.exchanges]
    const exchange = answeredExchange(blocks, indexes, answered)
    const entry: Mutable<MessageEntry> = {
      type: 'message',
      id: entryId(state.salt, seq),
      seq,
      at,
      turn: exchange?.turn ?? turn,
      step: exchange?.step ?? step,
      role: draft.role,
      origin,
      blocks,
    }
    setOptional(entry, draft)
    if (draft.role === 'assistant') step += 1
    if (batch === undefined && blocks.some(isCall)) batch = new ExchangeIndex()
    batch?.add(entry)
    return entry
  })
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] }

function blocksOf(draft: Draft, salt: string, seq: number): readonly Block[] {
  const content: readonly Block[] =
    typeof draft.content === 'string' ? [{ type: 'text', text: draft.content }] : draft.content
  return content.map((block, index) => ({ ...block, id: blockId(salt, seq, index) }))
}

/** Default author. A tool result in the user role still belongs to the tool and starts no turn. */
function originOf({ role, kind, tool }: Draft, blocks: readonly Block[]): Origin {
  if (role !== 'user') return role
  const hasOnlyResults = blocks.length > 0 && blocks.every(({ type }) => type === 'tool-result')
  return hasOnlyResults || tool !== undefined || kind === 'tool-result' ? 'tool' : 'user'
}

/** The exchange of the first matching result. Calls answered earlier in the batch are skipped. */
function answeredExchange(
  blocks: readonly Block[],
  indexes: readonly ExchangeIndex[],
  answered: Set<Call>,
): Exchange | undefined {
  let found: Exchange | undefined
  for (const block of blocks) {
    if (block.type !== 'tool-result') continue
    for (const index of indexes) {
      const match = index.waitingFor(block.callId, { ...block, answered })
      if (match === undefined || answered.has(match.call)) continue
      answered.add(match.call)
      found ??= match.exchange
      break
    }
  }
  return found
}

function setOptional(entry: Mutable<MessageEntry>, draft: Draft): void {
  if (draft.id !== undefined) entry.externalId = draft.id
  if (draft.kind !== undefined) entry.kind = draft.kind
  if (draft.tool !== undefined) entry.tool = draft.tool
  if (draft.expiry !== undefined) entry.expiry = draft.expiry
  if (draft.audience !== undefined) entry.audience = draft.audience
  if (draft.meta !== undefined) entry.meta = draft.meta
  if (draft.source !== undefined) entry.source = draft.source
  if (draft.extra !== undefined) entry.extra = draft.extra
  if (draft.native !== undefined) entry.native = draft.native
  if (draft.resentAs !== undefined) entry.resentAs = draft.resentAs
}
