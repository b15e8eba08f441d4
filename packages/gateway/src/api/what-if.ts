// What-if replay: replays a thread's messages into memory under another policy, step by step.
// Stores nothing.

import {
  type Entry,
  type Json,
  type MessageEntry,
  memoryStore,
  openThread,
  type Policy,
  type WireFormat,
} from 'oriel'
import { dollarsOf, RequestFacts, type ViewBlock, viewBlocks } from 'oriel/inspect'

export interface WhatIfOptions {
  readonly policy: Policy
  readonly format: WireFormat
  readonly budget?: number | undefined
}

export interface Replay {
  readonly steps: number
  /** Input tokens of all steps. */
  readonly input: number
  /**
   * Tokens that repeat the prefix of the previous request, which the provider's cache could hold.
   */
  readonly repeated: number
  /** What they would cost: what repeats is read from the cache, the rest is written to it. Absent for a model without a known price. */
  readonly dollars?: number
  /** Steps that do not extend the request before. */
  readonly breaks: number
  /** Checkpoints that would be made. */
  readonly folds: number
}

/** Longer threads are evaluated at their end only. */
const maxReplayed = 2000
/** Messages appended per batch for those. */
const batchSize = 500

export async function whatIf(entries: readonly Entry[], options: WhatIfOptions): Promise<object> {
  const { policy, format, budget } = options
  const messages = entries.filter((entry) => entry.type === 'message').filter(isSaid)
  let clock = messages[0]?.at ?? 0
  const thread = await openThread({
    id: 'what-if',
    store: memoryStore(),
    policy,
    now: () => clock,
    snapshotEvery: 0,
  })
  const facts = new RequestFacts()
  for (const entry of entries) facts.take(entry)
  const { model, frame } = facts.options
  const limit = {
    ...(budget === undefined ? {} : { budget }),
    ...(model === undefined ? {} : { model }),
    ...(frame === undefined ? {} : { frame }),
  }
  const replayed = new Replayed(model)
  const isByStep = messages.length <= maxReplayed
  const size = isByStep ? 1 : batchSize
  for (let from = 0; from < messages.length; from += size) {
    const batch = messages.slice(from, from + size)
    clock = batch.at(-1)?.at ?? clock
    if (isByStep && batch[0]?.role === 'assistant') {
      const { messages: sent, tokens } = await thread.view({ ...limit, format })
      replayed.add(sent as Json[], tokens.after)
    }
    await thread.append(batch.map(draftOf))
  }
  const view = await thread.view({ ...limit, format, dryRun: true })
  const { trace, messages: sent } = view
  const log = await thread.log()
  const shown = viewBlocks(log, { trace, format, messages: sent })
  const blocks = placed(shown, messages)
  const folds = log.filter((entry) => entry.type === 'edit' && isFold(entry)).length
  const replay = isByStep ? { replay: { ...replayed.sums, folds } } : {}
  const asked = budget === undefined ? {} : { budget }
  return { ...view, trace: view.trace, format, ...asked, blocks, ...replay }
}

/** Whether an edit puts a checkpoint in the place of messages. */
function isFold({ target, text }: Extract<Entry, { type: 'edit' }>): boolean {
  return 'ranges' in target && text !== undefined
}

/** Interrupted answers are not part of the conversation. */
export function isSaid({ kind }: MessageEntry): boolean {
  return kind !== 'interrupted'
}

export function draftOf(message: MessageEntry): object {
  const { role, blocks, origin, kind, tool, expiry, audience, meta, source, extra, native } =
    message
  const content = blocks.map(({ id: _id, ...block }) => block)
  const draft = { role, content, origin, kind, tool, expiry, audience, meta, source, extra, native }
  return Object.fromEntries(Object.entries(draft).filter(([, value]) => value !== undefined))
}

/** Maps blocks of the replayed thread to their positions and ids in the real one. */
function placed(
  blocks: readonly ViewBlock[],
  messages: readonly MessageEntry[],
): readonly ViewBlock[] {
  const order = [...new Set(blocks.map(({ seq }) => seq))]
  const originals = new Map(order.map((seq, index) => [seq, messages[index]]))
  return blocks.map(({ edit: _edit, ...block }) => {
    const original = originals.get(block.seq)
    if (original === undefined) return block
    const { id: message, seq, turn, step } = original
    const id = String(original.blocks[block.index]?.id ?? message)
    return { ...block, id, message, seq, turn, step }
  })
}

class Replayed {
  readonly #model: string | undefined
  #before: readonly string[] = []
  #steps = 0
  #input = 0
  #repeated = 0
  #breaks = 0

  constructor(model: string | undefined) {
    this.#model = model
  }

  get sums(): Omit<Replay, 'folds'> {
    const input = Math.round(this.#input)
    const repeated = Math.round(this.#repeated)
    const usage = { uncached: 0, cacheRead: repeated, cacheWrite: input - repeated, output: 0 }
    const dollars = dollarsOf(usage, this.#model)
    const priced = dollars === undefined ? {} : { dollars }
    return { steps: this.#steps, input, repeated, breaks: this.#breaks, ...priced }
  }

  add(messages: readonly Json[], tokens: number): void {
    const now = messages.map((message) => JSON.stringify(message))
    const all = now.reduce((sum, text) => sum + text.length, 0)
    let same = 0
    for (const [index, text] of now.entries()) {
      if (text !== this.#before[index]) break
      same += text.length
    }
    const isExtended = this.#before.every((text, at) => text === now[at])
    if (!isExtended) this.#breaks += 1
    this.#steps += 1
    this.#input += tokens
    // Proportional to length, because a view reports only its total tokens.
    this.#repeated += all === 0 ? 0 : (tokens * same) / all
    this.#before = now
  }
}
