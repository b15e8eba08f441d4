// From state to view: render, repair for the provider, fit into the budget. Pure; used by `project` and by the thread.

import { tailOf } from './core/audience.ts'
import type { Block } from './core/block.ts'
import type { Edit } from './core/entry.ts'
import type { Profile, Repair } from './core/profile.ts'
import { withoutUnboundReasoning } from './core/reasoning.ts'
import { type Rendered, render } from './core/render.ts'
import { repair } from './core/repair.ts'
import type { State } from './core/state.ts'
import { frameTokens, viewTokens } from './core/tally.ts'
import type { Frame, ViewMessage } from './core/view.ts'
import { fitToBudget } from './schedule/fit.ts'
import type { Fitted } from './schedule/fitting.ts'

export interface AssembleOptions {
  readonly profile: Profile
  readonly frame?: Frame | undefined
  /** Tokens that the request may use, frame included. */
  readonly budget?: number | undefined
}

export interface Assembled {
  readonly messages: readonly ViewMessage[]
  readonly repairs: readonly Repair[]
  readonly fitted: Pick<Fitted, 'edits' | 'folded' | 'digest'>
  /** Tokens of the request, frame included; counted when first asked for. */
  readonly tokens: number
}

/** What the model would see with these edits applied on top of the log. */
export function assemble(
  state: State,
  planned: readonly Edit[],
  { profile, frame, budget }: AssembleOptions,
): Assembled {
  const rendered: readonly Rendered[] = render(state, planned)
  const repaired = repair(state, rendered, profile, checkpointText(state, planned))
  const { messages } = repaired
  const tail = sendable(tailOf(state), profile)
  const around = (): number => frameTokens(state.counter, frame) + viewTokens(state, tail)
  const fitted: Fitted =
    budget === undefined
      ? unfitted(messages)
      : fitToBudget(state, messages, { budget, frame: around() })
  const changes = [...planned, ...fitted.edits, ...foldedAsEdits(fitted)]
  const bound = profile.bindsReasoning
    ? withoutUnboundReasoning(state, fitted.messages, changes, profile.rules.reasoning)
    : { messages: fitted.messages, repairs: [] }
  return {
    messages: [...bound.messages, ...tail],
    repairs: [...repaired.repairs, ...bound.repairs],
    fitted,
    get tokens() {
      return around() + viewTokens(state, bound.messages)
    },
  }
}

/** What is shown only now, as far as the provider takes it. */
function sendable(tail: ViewMessage | undefined, profile: Profile): readonly ViewMessage[] {
  if (tail === undefined) return []
  const isBlank = (block: Block): boolean => block.type === 'text' && block.text.trim() === ''
  const blocks = tail.blocks.filter((block) => !(profile.refusesBlankText && isBlank(block)))
  return blocks.length === 0 ? [] : [{ ...tail, blocks }]
}

/** The text of the newest checkpoint: one that is being made, else the one in force. */
function checkpointText(state: State, planned: readonly Edit[]): string | undefined {
  const isCheckpoint = (edit: Edit): boolean => !('seq' in edit.target) && edit.text !== undefined
  return (planned.findLast(isCheckpoint) ?? state.checkpoint)?.text
}

function unfitted(messages: readonly ViewMessage[]): Fitted {
  return { messages, tokens: 0, edits: [], folded: [] }
}

function foldedAsEdits(fitted: Fitted): readonly Edit[] {
  if (fitted.folded.length === 0) return []
  const ranges = fitted.folded.flatMap(({ entry }) =>
    entry === undefined ? [] : [[entry.seq, entry.seq] as const],
  )
  return [
    {
      rule: 'budget',
      form: 'dropped',
      target: { ranges },
      reason: 'folded into the digest',
      tokensBefore: 0,
      tokensAfter: 0,
    },
  ]
}
