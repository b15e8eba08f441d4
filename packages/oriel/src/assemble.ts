// From state to view: render, repair for the provider, fit into the budget. Pure; used by `project` and by the thread.

import type { Block } from './core/log/block.ts'
import type { Edit } from './core/log/entry.ts'
import { OrielError } from './core/log/errors.ts'
import { firstOf } from './core/state/edits.ts'
import { foldOpenLoop, loopStart } from './core/state/open-loop.ts'
import { waitsFrom, withoutUnboundReasoning } from './core/state/reasoning.ts'
import type { State } from './core/state/state.ts'
import { shownCheckpointText, withoutOffer, withSearchOffer } from './core/text/checkpoint.ts'
import { withoutHints } from './core/text/expand-hint.ts'
import { countBlock } from './core/tokens/counter.ts'
import { mostPlainTokens } from './core/tokens/margin.ts'
import { mostViewTokens, viewTokens } from './core/tokens/tally.ts'
import { tailOf } from './core/view/audience.ts'
import type { Profile, Repair } from './core/view/profile.ts'
import type { InForce } from './core/view/render.ts'
import {
  inForceIn,
  madeSegment,
  messagesIn,
  perSegment,
  perSegmentOf,
  repairsIn,
  type Segment,
  segmentsOf,
} from './core/view/segments.ts'
import type { ViewMessage } from './core/view/view.ts'
import { fitToBudget, type RequestPart } from './schedule/budget-ladder.ts'
import type { Fitted } from './schedule/fitted-view.ts'

export interface AssembleOptions {
  readonly profile: Profile
  /** Tokens of what stands around the messages. @default 0 */
  readonly frameTokens?: (() => number) | undefined
  /** The parts of it, for an error that names what is too large. @default one part */
  readonly frameParts?: (() => readonly RequestPart[]) | undefined
  /** Whether the request carries the expand tool, so that reduced texts may offer it. @default nobody knows: all but checkpoints do */
  readonly hasExpandTool?: boolean | undefined
  /** The name under which the request carries the search tool, so that a checkpoint may name it. @default it does not */
  readonly searchTool?: string | undefined
  /** What stands behind the messages for this request only, beside what the log has for it. @default nothing */
  readonly tail?: readonly Block[] | undefined
  /** Tokens that the request may use, frame included. */
  readonly budget?: number | undefined
  /** Whether the host turns reasoning off for a request whose open loop has lost some; else the loop goes as a record. @default false */
  readonly mayTurnReasoningOff?: boolean | undefined
}

export interface Assembled {
  /** The messages in pieces, which are the same objects in the next view where they are shown as they were. */
  readonly segments: readonly Segment[]
  readonly messages: readonly ViewMessage[]
  readonly repairs: readonly Repair[]
  /** What live edits and audiences change in it. */
  readonly inForce: () => InForce
  readonly fitted: Pick<Fitted, 'edits' | 'folded' | 'digest'>
  /** Whether the provider accepts it only with reasoning turned off. */
  readonly turnsReasoningOff: boolean
  /** Whether an open tool loop is shown as a record. */
  readonly isRecord: boolean
  /** The first message that is shown otherwise because of the budget. */
  readonly fittedFrom?: number
  /**
   * The edits with which the expand tool can be added to the request: without reasoning that is signed for a list of tools without it.
   * Undefined where there is nothing to expand, the request has the tool, or an open tool loop is bound to its tools.
   */
  readonly offering: readonly Edit[] | undefined
  /** Tokens of the request, frame included; counted when first asked for. */
  readonly tokens: () => number
}

/** What the model would see with these edits applied on top of the log. */
export function assemble(
  state: State,
  planned: readonly Edit[],
  options: AssembleOptions,
): Assembled {
  const { profile, frameTokens = () => 0, budget, hasExpandTool, searchTool } = options
  const offered = hasExpandTool === true
  const checkpoint = checkpointOf(state, planned, (text) =>
    offered ? withSearchOffer(text, searchTool) : withoutOffer(text),
  )
  const repaired = segmentsOf(state, planned, { profile, checkpoint: checkpoint?.text })
  const tail = sendable(withMemory(tailOf(state, planned), options.tail), profile)
  const around = (): number => frameTokens() + viewTokens(state, tail)
  const { fitted, bound } = fitAndBind(state, repaired, planned, {
    ...options,
    checkpoint,
    aroundTokens: budget === undefined ? 0 : mostPlainTokens(state.counter, around()),
    frameParts: () => [
      ...(options.frameParts?.() ?? [{ name: 'system text and tools', tokens: frameTokens() }]),
      { name: 'content shown only now', tokens: viewTokens(state, tail) },
    ],
  })
  const unhinted = hasExpandTool === false ? bound.segments.map(withoutHintsIn) : []
  const hadHints = unhinted.some((one) => one.hadHints)
  const segments = hadHints ? unhinted.map(({ segment }) => segment) : bound.segments
  const shown = tail.length === 0 ? segments : [...segments, madeSegment(tail)]
  let tokens: number | undefined
  let messages: readonly ViewMessage[] | undefined
  const assembled: Assembled = {
    segments: shown,
    get messages() {
      messages ??= messagesIn(shown)
      return messages
    },
    repairs: [...repairsIn(repaired), ...bound.repairs],
    inForce: () => inForceIn(repaired),
    fitted,
    turnsReasoningOff: bound.turnsReasoningOff,
    isRecord: bound.isRecord,
    offering:
      hasExpandTool === false && (hadHints || checkpoint !== undefined)
        ? unbinding(state, messagesIn(segments), profile, bound.isRecord)
        : undefined,
    tokens: () => {
      tokens ??= segments.reduce((sum, one) => sum + segmentTokens(state, one), around())
      return tokens
    },
  }
  const first = fittedFrom(state, { fitted, bound, checkpoint, planned })
  return first === Infinity ? assembled : Object.assign(assembled, { fittedFrom: first })
}

/**
 * The same within what the model can read, where the caller gave no budget. What nothing can make fit is shown as it is: the provider says
 * what is wrong with it, and knows better than a catalogue.
 */
export function assembleWithin(
  state: State,
  planned: readonly Edit[],
  { window, ...options }: AssembleOptions & { readonly window: number | undefined },
): { readonly assembled: Assembled; readonly budget: number | undefined } {
  const { budget } = options
  if (budget === undefined && window !== undefined) {
    try {
      return { assembled: assemble(state, planned, { ...options, budget: window }), budget: window }
    } catch (error) {
      if (!OrielError.is(error, 'cannot-project')) throw error
    }
  }
  return { assembled: assemble(state, planned, options), budget }
}

const segmentTokens = perSegmentOf('tokens', (state, { messages }) => viewTokens(state, messages))

const withoutHintsIn = perSegment((segment) => {
  const { messages, hadHints } = withoutHints(segment.messages)
  return { segment: hadHints ? { ...segment, messages } : segment, hadHints }
})

/** Edits that leave out reasoning which may be bound to the list of tools; undefined where an open tool loop needs it. */
function unbinding(
  state: State,
  messages: readonly ViewMessage[],
  { bindsReasoning = false }: Profile,
  isRecord: boolean,
): readonly Edit[] | undefined {
  if (bindsReasoning === false) return []
  const isBound = bindsReasoning === true ? () => true : bindsReasoning
  const edits = messages.flatMap(({ entry, blocks, positions }) =>
    blocks.flatMap((block, index): readonly Edit[] => {
      if (block.type !== 'reasoning' || !isBound(block) || entry === undefined) return []
      const target = { seq: entry.seq, block: positions?.[index] ?? index }
      const reason = 'signed for a list of tools without the expand tool'
      const tokensBefore = countBlock(state.counter, block)
      return [{ rule: 'expand', form: 'dropped', target, reason, tokensBefore, tokensAfter: 0 }]
    }),
  )
  return edits.length > 0 && !isRecord && waitsFrom(state) !== Infinity ? undefined : edits
}

/** What is shown only now, with what comes from memory. */
export function withMemory(
  tail: ViewMessage | undefined,
  memory: readonly Block[] = [],
): ViewMessage | undefined {
  if (memory.length === 0) return tail
  return { role: 'user', origin: 'plugin', blocks: [...(tail?.blocks ?? []), ...memory] }
}

/** What is shown only now, as far as the provider takes it. */
function sendable(tail: ViewMessage | undefined, profile: Profile): readonly ViewMessage[] {
  if (tail === undefined) return []
  const isBlank = (block: Block): boolean => block.type === 'text' && block.text.trim() === ''
  const blocks = tail.blocks.filter((block) => !(profile.refusesBlankText && isBlank(block)))
  return blocks.length === 0 ? [] : [{ ...tail, blocks }]
}

/** Fits, then leaves out what the fitting has unbound. Where the record of a loop is longer than the loop, the rest gets less. */
function fitAndBind(
  state: State,
  segments: readonly Segment[],
  planned: readonly Edit[],
  options: BindOptions,
): { readonly fitted: Fitted; readonly bound: Bound } {
  const { budget, aroundTokens: frame, checkpoint, frameParts } = options
  const around = { frame, frameParts, planned, checkpoint }
  for (let room = budget; ; ) {
    const fitted =
      room === undefined
        ? unfitted(segments)
        : fitToBudget(state, segments, { ...around, budget: Math.max(1, room) })
    const bound = bind(state, fitted, planned, options)
    if (budget === undefined || room === undefined || !bound.isRecord) return { fitted, bound }
    const excess = frame + mostViewTokens(state, messagesIn(bound.segments)) - budget
    if (excess <= 0) return { fitted, bound }
    room -= excess
  }
}

interface BindOptions extends AssembleOptions {
  readonly aroundTokens: number
  /** The one that is being made, else the one in force. */
  readonly checkpoint: Edit | undefined
}

interface Bound extends Pick<Assembled, 'segments' | 'repairs' | 'turnsReasoningOff' | 'isRecord'> {
  /** Whether results in it had to be clipped. */
  readonly isClipped?: boolean
}

function fittedFrom(
  state: State,
  {
    fitted,
    bound: { isClipped = false },
    checkpoint,
    planned,
  }: {
    readonly fitted: Fitted
    readonly bound: Bound
    readonly checkpoint: Edit | undefined
    readonly planned: readonly Edit[]
  },
): number {
  const seqs = [
    ...fitted.edits.map(firstOf),
    ...(fitted.foldedFrom === undefined
      ? rewritten(fitted).flatMap((message) => seqsIn(message, checkpoint))
      : [fitted.foldedFrom]),
    ...(isClipped ? [(loopStart(state, planned) ?? 0) + 1] : []),
  ]
  return seqs.reduce((first, seq) => Math.min(first, seq), Infinity)
}

/** Whole messages that are not shown as they were: folded, or the shortened checkpoint. */
function rewritten({ folded, shortened }: Fitted): readonly ViewMessage[] {
  return shortened === undefined ? folded : [...folded, shortened]
}

/** Where a folded message stands in the log: the summary of a checkpoint where the first that it covers does. */
function seqsIn({ entry, blocks }: ViewMessage, checkpoint: Edit | undefined): readonly number[] {
  if (entry !== undefined) return [entry.seq]
  const [block] = blocks
  const isCheckpoint = block?.type === 'text' && block.text === checkpoint?.text
  return isCheckpoint && checkpoint !== undefined ? [firstOf(checkpoint)] : []
}

/** The lengths to which results in the record of a loop are clipped, one after the other, until it fits. */
const recordLengths = [Infinity, 8000, 2000, 500, 100] as const

/** Leaves out reasoning that is bound to what has changed. In an open loop the provider demands it: then the loop goes as a record. */
function bind(state: State, fitted: Fitted, planned: readonly Edit[], options: BindOptions): Bound {
  const { profile, mayTurnReasoningOff = false, budget = Infinity } = options
  const { segments } = fitted
  const { bindsReasoning = false } = profile
  const plain = { segments, repairs: [], turnsReasoningOff: false, isRecord: false }
  if (bindsReasoning === false) return plain
  const edits = [...planned, ...fitted.edits]
  const dropped = edits.flatMap((edit) => thoughtDroppedBy(state, edit))
  if (dropped.length === 0 && !segments.some(hasReasoning)) return plain
  const messages = messagesIn(segments)
  const changes = [...edits, ...foldedAsEdits(fitted, options.checkpoint)]
  const isFitted = fitted.edits.length + rewritten(fitted).length > 0
  const rule = profile.rules.reasoning
  const isBound = typeof bindsReasoning === 'function' ? bindsReasoning : () => true
  const binding = { rule, isBound, isFitted }
  const { cut: unbound, ...bound } = withoutUnboundReasoning(state, messages, changes, binding)
  const cut = new Set([...unbound, ...dropped])
  const start = loopStart(state, planned) ?? Infinity
  const isLoopCut = [...cut].some((seq) => seq > start)
  if (!isLoopCut || mayTurnReasoningOff) {
    const { repairs } = bound
    const kept = bound.messages === messages ? segments : [madeSegment(bound.messages)]
    return { segments: kept, repairs, turnsReasoningOff: isLoopCut, isRecord: false }
  }
  const room = budget - options.aroundTokens
  const records = recordLengths.map((resultLength) => () => {
    return foldOpenLoop(state, bound.messages, { cut, rule, resultLength, planned })
  })
  const fits = records.find(
    (record) => room === Infinity || mostViewTokens(state, record().messages) <= room,
  )
  const record = (fits ?? (records.at(-1) as (typeof records)[number]))()
  return {
    segments: [madeSegment(record.messages)],
    repairs: [...bound.repairs, ...record.repairs],
    turnsReasoningOff: false,
    isRecord: true,
    isClipped: fits !== records[0],
  }
}

const hasReasoning = perSegment(({ messages }) =>
  messages.some(({ blocks }) => blocks.some(({ type }) => type === 'reasoning')),
)

/** The message that loses signed reasoning by an edit of that very block. */
function thoughtDroppedBy(state: State, { form, target }: Edit): readonly number[] {
  if (form !== 'dropped' || !('seq' in target)) return []
  const block = state.item(target.seq)?.entry.blocks[target.block]
  return block?.type === 'reasoning' && block.signature !== undefined ? [target.seq] : []
}

/** The newest checkpoint: one that is being made, else the one in force. */
function checkpointOf(
  state: State,
  planned: readonly Edit[],
  offer: (text: string) => string,
): Edit | undefined {
  const isCheckpoint = (edit: Edit): boolean => !('seq' in edit.target) && edit.text !== undefined
  const made = planned.findLast(isCheckpoint)
  const { checkpoint } = state
  const edit = made ?? checkpoint
  const logged =
    made === undefined && checkpoint !== undefined
      ? shownCheckpointText(state, checkpoint, planned)
      : edit?.text
  if (edit === undefined || logged === undefined) return edit
  const text = offer(logged)
  return text === edit.text ? edit : { ...edit, text }
}

function unfitted(segments: readonly Segment[]): Fitted {
  return { segments, tokens: 0, edits: [], folded: [] }
}

function foldedAsEdits(fitted: Fitted, checkpoint: Edit | undefined): readonly Edit[] {
  const changed = rewritten(fitted)
  if (changed.length === 0) return []
  const ranges = changed
    .flatMap((message) => seqsIn(message, checkpoint))
    .map((seq) => [seq, seq] as const)
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
