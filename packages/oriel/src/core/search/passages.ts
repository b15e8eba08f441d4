// A message as passages: pieces of its text that are found, scored and quoted by themselves.

import type { Audience, Block } from '../log/block.ts'
import type { EditEntry, Entry, MessageEntry } from '../log/entry.ts'
import { statesRule } from '../text/directives.ts'
import { analyse } from './analysis.ts'
import { hintOf } from './hint.ts'

/** Where a passage stands in its message. */
export interface Place {
  readonly seq: number
  /** Index of the message among the log's messages, from 0. */
  readonly index: number
  readonly block: number
  /** The block inside a result; absent where the block is the text itself. */
  readonly inner?: number
  /** Characters of that text, the end not included. */
  readonly from: number
  readonly to: number
}

export interface Passage extends Place {
  /** Its tokens, with spaces between them; a store may give them back in another order. */
  readonly tokens: string
  /** Whether a model may read it, by what is said at its append. A later exclusion is not known here. */
  readonly isOpen: boolean
  readonly speaker: Speaker
  /** Who says it and about how long it is, in four bits: the last ones of its id in an index. */
  readonly hint: number
}

/** Who said it and what it is, as far as its weight depends on that. A directive is a user's message that states one. */
export type Speaker = 'user' | 'directive' | 'tool' | 'checkpoint' | 'other'

/** Characters of a passage, about: one paragraph of a long text, or a short message whole. */
const passageLength = 1200
/** A piece that is left over and shorter joins the one before. */
const shortestRest = 300
/** Passages of one message that are indexed: a log of a megabyte is found by its beginning. */
const maxPassages = 400

/** The passages of the message at that index, or of a checkpoint in front of it; none of any other entry. */
export function passagesOf(entry: Entry, index: number): readonly Passage[] {
  if (isCheckpoint(entry)) return checkpointPassages(entry, index)
  if (entry.type !== 'message') return []
  const passages: Passage[] = []
  const about = { seq: entry.seq, index, speaker: speakerOf(entry) }
  for (const leaf of leavesOf(entry)) {
    for (const [from, to] of cutsOf(leaf.text)) {
      if (passages.length >= maxPassages) return passages
      const tokens = analyse(leaf.text.slice(from, to))
      if (tokens.length === 0) continue
      const { block, inner, isOpen } = leaf
      const hint = hintOf(about.speaker, tokens.length)
      const place = { ...about, block, from, to, tokens: tokens.join(' '), isOpen, hint }
      passages.push(inner === undefined ? place : { ...place, inner })
    }
  }
  return passages
}

/** The text of a checkpoint is searched as it was written: the notes, and a model's summary. */
type CheckpointEntry = EditEntry & { readonly text: string }

function isCheckpoint(entry: Entry): entry is CheckpointEntry {
  return entry.type === 'edit' && entry.text !== undefined && 'ranges' in entry.target
}

function checkpointPassages(entry: CheckpointEntry, index: number): readonly Passage[] {
  const passages: Passage[] = []
  for (const [from, to] of cutsOf(entry.text)) {
    const tokens = analyse(entry.text.slice(from, to))
    if (tokens.length === 0 || passages.length >= maxPassages) continue
    const place = { seq: entry.seq, index, block: 0, from, to }
    const speaker = 'checkpoint'
    const hint = hintOf(speaker, tokens.length)
    passages.push({ ...place, tokens: tokens.join(' '), isOpen: true, speaker, hint })
  }
  return passages
}

function speakerOf({ role, origin, blocks }: MessageEntry): Speaker {
  if (role === 'tool' || blocks.some(({ type }) => type === 'tool-result')) return 'tool'
  if (role !== 'user' || origin !== 'user') return 'other'
  const texts = blocks.flatMap((block) => (block.type === 'text' ? [block.text] : []))
  return texts.some(statesRule) ? 'directive' : 'user'
}

interface Leaf {
  readonly block: number
  readonly inner?: number
  readonly text: string
  readonly isOpen: boolean
}

/** The texts of a message, each with where it stands. */
function leavesOf(entry: MessageEntry): readonly Leaf[] {
  return entry.blocks.flatMap((block, index): Leaf[] => {
    const isOpen = isForModels(entry) && isForModels(block)
    if (block.type !== 'tool-result' || typeof block.content === 'string') {
      const text = leafText(block)
      return text === '' ? [] : [{ block: index, text, isOpen }]
    }
    return block.content.flatMap((one, inner): Leaf[] => {
      const text = leafText(one)
      return text === '' ? [] : [{ block: index, inner, text, isOpen: isOpen && isForModels(one) }]
    })
  })
}

/** The text at a place, with some of what stands around it; undefined where it is not there. */
export function textAt(
  entry: MessageEntry,
  place: Omit<Place, 'seq' | 'index'>,
  around = 0,
): string | undefined {
  const block = entry.blocks[place.block]
  if (block === undefined) return undefined
  const isInside = place.inner !== undefined
  const content = block.type === 'tool-result' ? block.content : undefined
  const leaf = isInside && Array.isArray(content) ? content[place.inner ?? 0] : block
  if (leaf === undefined || (isInside && !Array.isArray(content))) return undefined
  return excerpt(leafText(leaf), place, around)
}

/** The text of a message as far as it is searched, a line for each block. */
export function messageText(entry: MessageEntry): string {
  const texts = leavesOf(entry).flatMap(({ text }) => (text.trim() === '' ? [] : [text.trim()]))
  return texts.join('\n').toWellFormed()
}

/** A part of a text with what stands around it; undefined where the text is shorter. */
export function excerpt(
  text: string,
  place: Pick<Place, 'from' | 'to'>,
  around: number,
): string | undefined {
  if (place.from >= text.length) return undefined
  const from = Math.max(0, place.from - around)
  const to = Math.min(text.length, place.to + around)
  const part = text.slice(from, to).toWellFormed().trim()
  return `${from > 0 ? '... ' : ''}${part}${to < text.length ? ' ...' : ''}`
}

/** What is searched of a block. Reasoning is not: it belongs to the model that made it. */
function leafText(block: Block): string {
  if (block.type === 'text') return block.text
  if (block.type === 'tool-call') return `${block.name} ${block.arguments}`
  if (block.type === 'tool-result') return typeof block.content === 'string' ? block.content : ''
  if (block.type === 'file') return block.name ?? ''
  return ''
}

function isForModels({ audience }: { readonly audience?: Audience }): boolean {
  return audience?.later !== false
}

/** Cuts a text at the ends of paragraphs, lines, sentences or words, whichever comes last before a passage is full. */
function* cutsOf(text: string): Generator<readonly [number, number]> {
  for (let from = 0; from < text.length; ) {
    const rest = text.length - from
    if (rest <= passageLength + shortestRest) {
      yield [from, text.length]
      return
    }
    const to = from + endIn(text.slice(from, from + passageLength))
    yield [from, to]
    from = to
  }
}

function endIn(part: string): number {
  for (const end of ['\n\n', '\n', '. ', '。', ' ']) {
    const at = part.lastIndexOf(end)
    if (at > part.length / 2) return at + end.length
  }
  return part.length
}
