// An answer that broke off in a later of several rounds, and that its client kept. The client saw one message; the rounds behind its first
// part are not in the branch on which it continues, and reasoning that was signed for them cannot be sent there.

import type { Block } from '../../core/log/block.ts'
import type { Draft } from '../../core/log/entry.ts'
import type { State } from '../../core/state/state.ts'
import { formatNamed, isFormatName } from '../../providers/registry.ts'
import type { History } from '../append.ts'

export interface BrokenOff {
  /** Position of the answer in the history. */
  readonly at: number
  /** The signatures that hold where it stands: those of the first round. */
  readonly signatures: ReadonlySet<string>
}

/** The signatures of the first answer behind `seq`. */
export function signaturesBehind(state: State, seq: number): ReadonlySet<string> {
  for (let at = seq + 1; at <= state.version; at++) {
    const entry = state.item(at)?.entry
    if (entry?.role === 'assistant') return new Set(entry.blocks.flatMap(signatureOf))
  }
  return new Set()
}

/** The history in which people alone see what cannot be sent. */
export function withoutForeignThoughts(history: History, broken: BrokenOff | undefined): History {
  if (broken === undefined) return history
  const draft = history.conversation[broken.at]
  const format = draft?.source?.format ?? ''
  if (draft === undefined || !isFormatName(format)) return history
  if (formatNamed(format).profile.bindsReasoning !== true) return history
  const kept = { ...draft, content: contentOf(draft, broken.signatures) }
  return { ...history, conversation: history.conversation.with(broken.at, kept) }
}

function contentOf({ content }: Draft, signatures: ReadonlySet<string>): Draft['content'] {
  if (typeof content === 'string') return content
  const forPeople = { now: false, later: false, person: true }
  return content.map((block) => {
    const [signature] = signatureOf(block)
    const isHeld = signature === undefined || signatures.has(signature)
    return isHeld ? block : { ...block, audience: forPeople }
  })
}

function signatureOf(block: Block): readonly string[] {
  return block.type === 'reasoning' && block.signature !== undefined ? [block.signature] : []
}
