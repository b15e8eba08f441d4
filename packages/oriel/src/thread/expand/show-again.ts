// Originals on request: at the tail, as the answer to whoever asks, or in their place for a few steps.

import { type Block, textOf } from '../../core/log/block.ts'
import type { MessageEntry } from '../../core/log/entry.ts'
import { isObject, type Json } from '../../core/log/json.ts'
import { expansionsOf } from '../../core/state/expansion.ts'
import { waitsFrom } from '../../core/state/reasoning.ts'
import type { State } from '../../core/state/state.ts'
import { readableIn } from '../../core/text/readable.ts'
import { finalIn } from '../../core/view/reduction.ts'
import type { ViewMessage } from '../../core/view/view.ts'
import type { ThreadEngine } from '../engine.ts'
import type { EventMessage } from '../events.ts'
import type { Journal } from '../journal/journal.ts'
import { eventMessage } from '../lifecycle.ts'
import { type BuiltView, viewIndex } from '../view/view.ts'
import {
  type ExpandOptions,
  type Expansion,
  expandText,
  isWhole,
  mediaIn,
  originalText,
  refuse,
} from './expand.ts'
import { expandRange } from './range.ts'

/** How many requests show an original in its place when nothing is said. */
const defaultSteps = 3
const maxSteps = 1000

/** What an id stands for. */
interface Found {
  readonly entry: MessageEntry
  /** Absent for a whole message. */
  readonly block?: number
}

/** What expanding needs of a thread. */
interface Expanding {
  readonly journal: Journal
  find(id: string): Promise<Found | undefined>
  /** The newest view, as it was sent. */
  lastView(): Promise<BuiltView | undefined>
}

/** Answers a request and tells of it. */
export async function expandMessage(
  session: ThreadEngine,
  target: string | number,
  options: ExpandOptions,
): Promise<Expansion> {
  const { journal } = session
  await journal.refresh()
  const range = typeof target === 'string' ? await expandRange(session, target, options) : undefined
  if (range !== undefined) return range
  const { found, ...expansion } = await expandIn(session, target, options)
  if (!expansion.ok || found === undefined) return expansion
  const { seq } = found.entry
  const id = journal.state.blockIdAt({ seq, block: found.block ?? 0 })
  const view = await session.lastView()
  const index = view === undefined ? 0 : viewIndex(view, seq)
  const { reason = 'Agent requested expansion' } = options
  const inPlace = options.inPlace === true
  const message = inPlace ? `${id} is shown in its place again.` : `${id} was expanded.`
  const canExpand = !inPlace
  const about = (): EventMessage => eventMessage(journal.state, { seq, canExpand })
  session.emit('message-expanded', { id, index, message, reason, canExpand, about })
  session.say(`[Turn ${journal.state.step}] Expanded message at index ${index}`)
  return expansion
}

/** A message, or one block of it, as a model may read it. */
interface ReadableFound extends Found {
  readonly blocks: readonly Block[]
  /** Where they stand in the message. */
  readonly positions: readonly number[]
}

/** What an id or an index stands for, as a model may read it, or the reason why it may not. */
export async function findReadable(
  thread: Expanding,
  target: string | number,
): Promise<ReadableFound | (Expansion & { readonly ok: false })> {
  const found =
    typeof target === 'number' ? await findAt(thread, target) : await thread.find(target)
  if (found === undefined) {
    const what = String(target).slice(0, 40)
    return refuse(`nothing here has the id ${what}. Do not request this expansion again`)
  }
  if ('reason' in found) return refuse(found.reason)
  const { entry, block } = found
  const { state } = thread.journal
  const asked = block === undefined ? [...entry.blocks.keys()] : [block]
  const isLost = finalIn(state)
  if (asked.some((one) => isLost(entry.seq, one))) {
    return refuse(
      'it is not expandable: the original was not preserved. Do not request this expansion again',
    )
  }
  const readable = readableIn(state)(entry).filter(({ position }) => asked.includes(position))
  if (readable.length === 0 && entry.blocks.length > 0) {
    const why = state.excluded.has(entry.seq) ? 'was excluded' : 'is for people only'
    return refuse(`it is not expandable: it ${why}. Do not request this expansion again`)
  }
  const blocks = readable.map((one) => one.block)
  return { ...found, blocks, positions: readable.map(({ position }) => position) }
}

/** Answers a request; what changes in the view is one entry of the log for each block. */
export async function expandIn(
  thread: Expanding,
  target: string | number,
  options: ExpandOptions,
): Promise<Expansion & { readonly found?: Found }> {
  const found = await findReadable(thread, target)
  if ('reason' in found) return found
  const { entry, block } = found
  const original = originalText({ ...entry, blocks: found.blocks })
  const expansion = expandText(original, options)
  if (!expansion.ok) return expansion
  const media = isWhole(options) ? mediaIn(found.blocks) : []
  const whole = { ...expansion, ...(media.length === 0 ? {} : { media }), found }
  const { inPlace = false } = options
  if (inPlace === false || (inPlace === 'media' && media.length === 0)) return whole
  const blocks = block === undefined ? [...entry.blocks.keys()] : [block]
  const isPart = !isWhole(options) && expansion.text !== original
  if (isPart && inPlace === true && entry.role === 'assistant') {
    return refuse('an answer is shown in its place whole or not at all; ask without inPlace')
  }
  const problem = await restore(
    thread,
    { entry, blocks },
    { ...options, ...(isPart && { text: expansion.text }) },
  )
  if (inPlace === 'media') return { ...whole, text: `${whole.text}\n${mediaLine(media, problem)}` }
  return problem === undefined ? whole : refuse(problem)
}

/** Tells a model that reads text where it sees the pictures. */
function mediaLine(media: readonly Block[], problem: string | undefined): string {
  const what = `${media.length} ${media.length === 1 ? 'picture or file' : 'pictures or files'}`
  if (problem === undefined)
    return `[${what}: shown again where the message stands, for a few requests]`
  return `[${what}: ${problem}]`
}

interface Restore extends ExpandOptions {
  /** The part to show; absent for the whole. */
  readonly text?: string
}

/** Shows blocks in their place again. Answers why not, where it cannot. */
async function restore(
  { journal }: Expanding,
  { entry, blocks }: { readonly entry: MessageEntry; readonly blocks: readonly number[] },
  { steps = defaultSteps, text }: Restore,
): Promise<string | undefined> {
  if (!Number.isInteger(steps) || steps < 1 || steps > maxSteps) {
    return `steps must be a whole number from 1 to ${maxSteps}`
  }
  const { seq } = entry
  let problem: string | undefined
  await journal.commit((state, stamp) => {
    const reduced = blocks.filter((block) => state.blockEdit(seq, block) !== undefined)
    problem = whyNot(state, seq, reduced)
    if (problem !== undefined) return []
    return reduced.map((block) =>
      stamp.entry({
        type: 'mark',
        mark: 'expand',
        target: seq,
        block,
        until: state.step + steps - 1,
        ...(text === undefined ? {} : { text }),
      }),
    )
  })
  return problem
}

function whyNot(state: State, seq: number, reduced: readonly number[]): string | undefined {
  const again = 'Do not request this expansion again'
  const isVisible = state.visible.some(({ entry }) => entry.seq === seq)
  if (!isVisible) return 'its message left the view whole; ask for it without inPlace'
  const expansionOf = expansionsOf(state)
  if (reduced.length === 0) return `it is not expandable: it is shown in full already. ${again}`
  if (reduced.every((block) => expansionOf(seq, block) !== undefined)) {
    return `it is not expandable: it was expanded and is still shown. ${again}`
  }
  const waits = waitsFrom(state)
  if (seq < waits && waits !== Infinity) {
    return 'what stands before reasoning that goes on cannot change now; ask for it without inPlace'
  }
  return undefined
}

/** The first shortened block of the message at a position of the newest view: what document 001 calls an index. */
async function findAt(
  thread: Expanding,
  index: number,
): Promise<Found | { readonly reason: string } | undefined> {
  const view = await thread.lastView()
  const message = Number.isInteger(index) ? view?.messages[index] : undefined
  if (view === undefined || message === undefined) {
    const name = Number.isNaN(index) ? 'the messageIndex' : `messageIndex ${index}`
    return { reason: `${name} is out of bounds. Do not request this expansion again` }
  }
  const positions = view.origins[index]?.shown ?? []
  const shown = positions.flatMap((at) => view.shown[at] ?? [])
  for (const one of shown) {
    if (one.entry === undefined) continue
    const block = shortenedIn(one, message)
    if (block !== undefined) return { entry: one.entry, block }
  }
  const isSummary = shown.some(
    ({ entry, blocks }) => entry === undefined && blocks.some(({ type }) => type === 'text'),
  )
  const reason = isSummary
    ? 'it is a summary of earlier messages. Expand the ids that it names; do not request expansion of this message again'
    : `the message at ${index} is not expandable: it is shown in full. Do not request this expansion again`
  return { reason }
}

/** The first shortened block of a view message that is in one of the messages that it was encoded as. */
function shortenedIn(
  { entry, blocks, positions, wireIds }: ViewMessage,
  message: Json,
): number | undefined {
  const strings = new Set(stringsIn(message))
  for (const [at, block] of blocks.entries()) {
    const position = positions?.[at] ?? at
    if (block === entry?.blocks[position]) continue
    const isResult = block.type === 'tool-result'
    const text = isResult ? textOf(block.content) : block.type === 'text' ? block.text : undefined
    if (text === undefined || ![...strings].some((one) => one.includes(text))) continue
    if (!isResult || strings.has(wireIds?.get(at) ?? block.callId)) return position
  }
  return undefined
}

function stringsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value]
  if (Array.isArray(value)) return value.flatMap(stringsIn)
  return isObject(value) ? Object.values(value).flatMap(stringsIn) : []
}
