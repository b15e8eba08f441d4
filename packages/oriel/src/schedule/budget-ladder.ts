// The budget ladder: one fixed order of reductions, of which the shortest sufficient prefix is taken. Needs no model.

import { textOf } from '../core/log/block.ts'
import type { Edit } from '../core/log/entry.ts'
import { OrielError } from '../core/log/errors.ts'
import { isResult } from '../core/state/exchange.ts'
import type { State } from '../core/state/state.ts'
import { checkpointRungs, shortenCheckpoint } from '../core/text/checkpoint-rungs.ts'
import { clip } from '../core/text/clip.ts'
import { messagesIn, type Segment } from '../core/view/segments.ts'
import type { ViewMessage } from '../core/view/view.ts'
import { fitSegments } from './fitted-segments.ts'
import { type Fitted, Fitting, hasMedia, type Slot, textTokens } from './fitted-view.ts'
import {
  blocksOf,
  clippedLength,
  clipTexts,
  dropReasoning,
  omitResults,
  slotsOf,
} from './ladder-steps.ts'

/** The lengths to which results that the model has not seen are clipped, one after the other, at the very end. */
const lastLengths = [16_000, 8000, 4000, 2000, 1000, 500, 250] as const
/** Rungs of a checkpoint that come before whole exchanges are folded: what is new is worth more than old notes. */
const firstRungs = 2

/** A part of a request that no reduction makes smaller. */
export interface RequestPart {
  readonly name: string
  readonly tokens: number
}

export interface FitOptions {
  readonly budget: number
  /** Tokens of the frame, which no reduction can change. */
  readonly frame: number
  /** What the frame consists of, for the error. @default one part */
  readonly frameParts?: (() => readonly RequestPart[]) | undefined
  /** Edits of the view that are not in the log yet. @default none */
  readonly planned?: readonly Edit[]
  /** The checkpoint in the view. @default none */
  readonly checkpoint?: Edit | undefined
}

/**
 * Fits a valid view into a budget: omits old results, clips old texts, shortens the checkpoint, folds the oldest exchanges (behind a
 * checkpoint before what the user said), then the checkpoint, into a digest, clips the newest results, and folds the newest exchange last. System and pinned messages and the newest
 * user message stay verbatim. Throws OrielError 'cannot-project', which names the parts, when what must stay is larger than the budget.
 */
export function fitToBudget(
  state: State,
  segments: readonly Segment[],
  options: FitOptions,
): Fitted {
  return fitSegments(state, segments, options) ?? walkLadder(state, messagesIn(segments), options)
}

/** Walks the whole ladder, one reduction after the other. */
export function walkLadder(
  state: State,
  messages: readonly ViewMessage[],
  options: FitOptions,
): Fitted {
  const work = new Fitting(state, messages, options)
  if (work.fits(options.budget)) return work.result()
  const slots = slotsOf(state, work.messages)
  for (const _reduction of ladder(work, slots)) {
    if (work.fits(options.budget)) return work.result()
  }
  throw tooLarge(work, slots, options)
}

function* ladder(work: Fitting, slots: readonly Slot[]): Generator<void> {
  const newest = slots.findLast((slot) => slot.isUnseen)
  const older = slots.filter((slot) => slot !== newest && slot.protection === undefined)
  yield* omitResults(work, older)
  yield* dropReasoning(work, older)
  yield* clipTexts(work, older, clippedLength)
  const checkpoint = slots.find(({ messages: [message] }) => work.isCheckpoint(message as number))
  if (checkpoint !== undefined)
    yield* shorten(work, checkpoint, checkpointRungs.slice(0, firstRungs))
  yield* fold(work, checkpoint === undefined ? older : answersFirst(older))
  if (checkpoint !== undefined) yield* foldCheckpoint(work, checkpoint)
  if (newest !== undefined) yield* shrinkNewest(work, newest)
  yield* work.shortenDigest()
  if (newest === undefined || newest.protection !== undefined) return
  work.lengthenDigest()
  if (work.fold(newest)) yield
  yield* work.shortenDigest()
}

/** Names what is too large, so that a caller knows what to shorten. */
function tooLarge(
  work: Fitting,
  slots: readonly Slot[],
  { budget, frame, frameParts }: FitOptions,
): OrielError {
  const sizes = new Map<string, number>()
  const add = (name: string, tokens: number): void => {
    if (tokens > 0) sizes.set(name, (sizes.get(name) ?? 0) + tokens)
  }
  if (frameParts === undefined) add('system text and tools', frame)
  else for (const { name, tokens } of frameParts()) add(name, tokens)
  for (const slot of slots) {
    const tokens = slot.messages.reduce((sum, message) => sum + work.sizeOf(message), 0)
    const isCheckpoint = work.isCheckpoint(slot.messages[0] as number)
    add(isCheckpoint ? 'checkpoint' : (slot.protection ?? 'earlier messages'), tokens)
  }
  add('digest', work.digestTokens)
  const parts = [...sizes]
    .sort(([, a], [, b]) => b - a)
    .map(([name, tokens]) => `${name} ${tokens}`)
  const named = parts.join(', ')
  return new OrielError(
    'cannot-project',
    `What must stay needs ${work.total} tokens, the budget is ${budget}: ${named}. Raise the budget or shorten the largest part.`,
    { details: { budget, needed: work.total, frame, parts } },
  )
}

/** Folds oldest first; the first user message, which states the goal, goes last. What does not pay at first may once others have gone. */
function* fold(work: Fitting, slots: readonly Slot[]): Generator<void> {
  const goal = slots.find((slot) => slot.isUser)
  const order = goal === undefined ? slots : [...slots.filter((slot) => slot !== goal), goal]
  const refused: Slot[] = []
  for (const slot of order) {
    if (work.fold(slot)) yield
    else refused.push(slot)
  }
  for (const slot of refused) if (work.fold(slot)) yield
}

/** Turns whose answers leave no sooner than what the user said before them. */
const newestTurns = 5

/** Behind a checkpoint answers are folded before what the user said, as the checkpoint itself folds them; those of the newest turns are not. */
function answersFirst(slots: readonly Slot[]): readonly Slot[] {
  const users = slots.filter(({ isUser }) => isUser)
  const newest = slots.indexOf(users.at(-newestTurns) as Slot)
  const isFirst = (slot: Slot, index: number): boolean => !slot.isUser && index < newest
  return [...slots.filter(isFirst), ...slots.filter((slot, index) => !isFirst(slot, index))]
}

/** Gives the checkpoint fewer and fewer notes. */
function* shorten(
  work: Fitting,
  { messages: [message] }: Slot,
  rungs: readonly number[],
): Generator<void> {
  const [block] = work.messages[message as number]?.blocks ?? []
  if (block?.type !== 'text') return
  for (const share of rungs) {
    if (work.shorten(message as number, rungOf(work.state, block.text, share))) yield
  }
}

/** A checkpoint with a share of its notes. One is shown by many views, so that each form is made and counted once. */
function rungOf(
  state: State,
  text: string,
  share: number,
): { readonly text: string; readonly tokens: number } {
  const known = state.derive('checkpoint-rungs', () => ({
    of: '',
    rungs: new Map<number, { readonly text: string; readonly tokens: number }>(),
  }))
  if (known.of !== text) known.rungs.clear()
  known.of = text
  const found = known.rungs.get(share)
  if (found !== undefined) return found
  const shorter = shortenCheckpoint(text, share)
  const rung = { text: shorter, tokens: textTokens(state.counter, shorter) }
  known.rungs.set(share, rung)
  return rung
}

/** Shortens the checkpoint further, then folds it into the digest, and only after the digest itself was shortened. */
function* foldCheckpoint(work: Fitting, slot: Slot): Generator<void> {
  yield* shorten(work, slot, checkpointRungs.slice(firstRungs))
  yield* work.shortenDigest()
  work.lengthenDigest()
  // By its whole size it pays: one note stands for it and for what was folded before.
  work.lengthen(slot.messages[0] as number)
  if (work.fold(slot)) yield
  else yield* shorten(work, slot, checkpointRungs.slice(-1))
}

/** The newest exchange: results clipped step by step, then omitted; at last the model's own words around its calls leave. */
function* shrinkNewest(work: Fitting, slot: Slot): Generator<void> {
  for (const length of lastLengths) {
    for (const [message, block] of blocksOf(work, [slot])) {
      const shown = work.block(message, block)
      if (!isResult(shown) || shown.id === undefined || hasMedia(shown.content)) continue
      const original = textOf(work.original(message, block))
      if (original.length <= length) continue
      const text = clip(original, length, shown.id)
      if (work.reduce(message, block, 'clipped', text, 'over the budget, newest result')) yield
    }
  }
  yield* omitResults(work, [slot])
  const shortest = lastLengths[lastLengths.length - 1] as number
  yield* clipTexts(work, [slot], shortest)
  yield* dropWords(work, slot, shortest)
  yield* dropReasoning(work, [slot])
}

/** Drops an assistant's texts of more than `length` characters. */
function* dropWords(work: Fitting, slot: Slot, length: number): Generator<void> {
  for (const [message, block] of blocksOf(work, [slot])) {
    const shown = work.block(message, block)
    const isOwn = work.messages[message]?.role === 'assistant'
    if (!isOwn || shown.type !== 'text' || shown.text.length <= length) continue
    if (work.drop(message, block, 'over the budget')) yield
  }
}
