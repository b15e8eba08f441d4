// A thread under another policy from its first message on: its messages are replayed into memory, step by step. Nothing is kept.

import {
  type Entry,
  type Json,
  type MessageEntry,
  memoryStore,
  openThread,
  type Policy,
  type WireFormat,
} from 'oriel'
import { blocksOf, type ViewBlock } from './view-blocks.ts'

export interface WhatIfOptions {
  readonly policy: Policy
  readonly format: WireFormat
  readonly budget?: number | undefined
}

export interface Replay {
  readonly steps: number
  /** Input of all steps together, in tokens. */
  readonly input: number
  /** What of it stood, unchanged, at the beginning of the request before: what a provider's cache could hold. */
  readonly repeated: number
}

/** Longer threads are looked at as they are at the end only. */
const maxReplayed = 2000
/** Messages of those that are appended at once. */
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
  const limit = budget === undefined ? {} : { budget }
  const replayed = new Replayed()
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
  const blocks = placed(
    blocksOf(await thread.log(), view.trace, { format, messages: view.messages }),
    messages,
  )
  const replay = isByStep ? { replay: replayed.sums } : {}
  return { ...view, trace: view.trace, format, ...limit, blocks, ...replay }
}

/** What broke off was never a part of the conversation. */
function isSaid({ kind }: MessageEntry): boolean {
  return kind !== 'interrupted'
}

function draftOf(message: MessageEntry): object {
  const { role, blocks, origin, kind, tool, expiry, audience, meta, source, extra, native } =
    message
  const content = blocks.map(({ id: _id, ...block }) => block)
  const draft = { role, content, origin, kind, tool, expiry, audience, meta, source, extra, native }
  return Object.fromEntries(Object.entries(draft).filter(([, value]) => value !== undefined))
}

/** Blocks of the replayed thread with the places and ids that they have in the real one. */
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
  #before: readonly string[] = []
  #steps = 0
  #input = 0
  #repeated = 0

  get sums(): Replay {
    return {
      steps: this.#steps,
      input: Math.round(this.#input),
      repeated: Math.round(this.#repeated),
    }
  }

  add(messages: readonly Json[], tokens: number): void {
    const now = messages.map((message) => JSON.stringify(message))
    const all = now.reduce((sum, text) => sum + text.length, 0)
    let same = 0
    for (const [index, text] of now.entries()) {
      if (text !== this.#before[index]) break
      same += text.length
    }
    this.#steps += 1
    this.#input += tokens
    // By length, since a view says its tokens as a whole.
    this.#repeated += all === 0 ? 0 : (tokens * same) / all
    this.#before = now
  }
}
