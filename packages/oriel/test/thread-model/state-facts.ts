// Everything that can be asked of a State, as plain data.

import type { Entry } from '../../src/core/log/entry.ts'
import { forms } from '../../src/core/log/entry.ts'
import type { State } from '../../src/core/state/state.ts'

/** The answers of a state to every question that these entries of its log give rise to. */
export function factsOf(state: State, entries: readonly Entry[]): unknown {
  return {
    version: state.version,
    messageCount: state.messageCount,
    totalTokens: state.totalTokens,
    turn: state.turn,
    step: state.step,
    newestUser: state.newestUser,
    newestAssistant: state.newestAssistant,
    visible: state.visible.map(({ entry }) => entry.seq),
    excluded: [...state.excluded].sort((a, b) => a - b),
    liveEdits: [...state.liveEdits()],
    dropEdits: state.dropEdits,
    entries: entries.map((entry) => entryFacts(state, entry)),
  }
}

function entryFacts(state: State, entry: Entry): unknown {
  const { seq } = entry
  if (entry.type === 'edit') return { edit: state.edit(entry.id) }
  if (entry.type !== 'message') return { item: itemFacts(state, seq) }
  const { externalId } = entry
  return {
    item: itemFacts(state, seq),
    isPinned: state.isPinned(seq),
    isVetoed: forms.map((form) => state.isVetoed(seq, '*', form)),
    seqOfId: externalId === undefined ? undefined : state.seqOf(externalId),
    exchange: state.exchanges.exchangeAt(seq),
    blocks: entry.blocks.map((block, index) => {
      const callId = 'callId' in block ? block.callId : undefined
      return {
        edit: state.blockEdit(seq, index),
        isVetoed: forms.map((form) => state.isVetoed(seq, index, form)),
        answers: state.exchanges.answeredBy({ seq, block: index }),
        waiting: callId === undefined ? undefined : state.exchanges.waitingFor(callId),
        hasSeen: callId === undefined ? undefined : state.exchanges.hasSeen(callId),
      }
    }),
  }
}

function itemFacts(state: State, seq: number): unknown {
  const item = state.item(seq)
  return item && { entry: item.entry, index: item.index, tokens: [...item.tokens] }
}
