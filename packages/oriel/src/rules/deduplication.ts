// Lines that the view shows already are not sent again: a tool result refers to the message that brought them.
//
// It acts before a result is first sent, so that no cached prefix breaks. A reference is in force while the view shows what it refers to
// (State.blockEdit): when that is folded, dropped or shortened, the lines come back by themselves.

import { type Block, textOf } from '../core/log/block.ts'
import type { Edit, MessageEntry } from '../core/log/entry.ts'
import { boolean, count, object, optional } from '../core/schema/schema.ts'
import { isLookupTool } from '../core/state/expansion.ts'
import type { Item, State } from '../core/state/state.ts'
import { remaining } from '../core/state/weight.ts'
import { readableIn } from '../core/text/readable.ts'
import { LineIndex, type Lines, linesOf, type Repeat } from '../core/text/repeats.ts'
import { sourceNames } from '../core/text/source-name.ts'
import { withoutTerminalCodes } from '../core/text/terminal.ts'
import { isLasting, lastingBlock } from '../core/view/audience.ts'
import { reduceResult } from '../core/view/reduction.ts'
import { goneIn } from '../core/view/render.ts'
import { isStronger } from '../core/view/strength.ts'
import type { Defaults, Rule } from './rule.ts'

export interface DeduplicationSettings {
  /** Fewest characters of lines in a row that a reference replaces; below 100 it is 100. @default 200 */
  readonly minChars?: number | undefined
  /** Whether a line that follows itself again and again is shown once, with a count. @default false */
  readonly countLines?: boolean | undefined
}

const name = 'deduplication'
const defaults = { minChars: 200, countLines: false } as const satisfies Defaults
/** Below this a reference is longer than what it stands for. */
const leastChars = 100
/** Longer texts are neither shortened nor referred to, so that the cost is bounded. */
const mostChars = 400_000

export const deduplication = {
  name,
  schema: object({ minChars: optional(count), countLines: optional(boolean) }),
  defaults,
  isAskedAgain: true,
  propose(state, settings, { planned }) {
    const { countLines = defaults.countLines } = settings
    const minChars = Math.max(settings.minChars ?? defaults.minChars, leastChars)
    const own = { minChars, countLines }
    if (state.exchanges.isEmpty) return []
    const others = planned.filter((edit) => edit.rule !== name && !isInForce(state, edit))
    if (others.length > 0) return new References(state, own, others).edits(state)
    const known = state.derive(`${name}:${minChars}:${countLines}`, () => ({
      references: new References(state, own, []),
    }))
    if (known.references.isOutdated(state)) known.references = new References(state, own, [])
    return known.references.edits(state)
  },
} satisfies Rule<DeduplicationSettings>

/** Whether a rule only repeats what is in force. */
function isInForce(state: State, { target, form, text }: Edit): boolean {
  if (!('seq' in target)) return false
  const live = state.blockEdit(target.seq, target.block)
  return live !== undefined && live.form === form && live.text === text
}

/** A block whose lines others may refer to. */
interface Source {
  readonly entry: MessageEntry
  readonly block: number
}

/**
 * The references of a view, message by message. While nothing but new messages comes, each message is read once; it always equals a
 * fresh one.
 */
class References {
  readonly #minChars: number
  readonly #countsLines: boolean
  readonly #planned: readonly Edit[]
  readonly #reshaped: number
  readonly #index = new LineIndex()
  readonly #sources: Source[] = []
  readonly #edits: Edit[] = []
  #newest = 0

  constructor(
    state: State,
    { minChars, countLines }: Required<DeduplicationSettings>,
    planned: readonly Edit[],
  ) {
    this.#minChars = minChars ?? defaults.minChars
    this.#countsLines = countLines ?? defaults.countLines
    this.#planned = planned
    this.#reshaped = state.reshaped
  }

  isOutdated(state: State): boolean {
    return state.reshaped !== this.#reshaped
  }

  edits(state: State): readonly Edit[] {
    for (const item of itemsAfter(state, this.#newest, this.#planned)) {
      item.entry.blocks.forEach((block, position) => {
        this.#read(state, item, { block, position })
      })
      this.#newest = item.entry.seq
    }
    const isGone = goneIn(this.#planned)
    return this.#edits.filter(({ target }) => {
      const live = 'seq' in target ? state.blockEdit(target.seq, target.block, isGone) : undefined
      return live?.refersTo === undefined
    })
  }

  #read(
    state: State,
    item: Item,
    { block, position }: { readonly block: Block; readonly position: number },
  ): void {
    const { entry } = item
    const { seq } = entry
    if (!isLasting(entry) || lastingBlock(entry, block) !== block) return
    if (!state.isSource(seq, position)) return
    const texts = textsIn(block).filter((text) => isReadable(text, this.#minChars))
    if (texts.length === 0) return
    const all = texts.map((text, index) => linesIn(state, text, `${seq}:${position}:${index}`))
    const others = this.#planned.filter(
      ({ target }) => 'seq' in target && target.seq === seq && target.block === position,
    )
    // What is bounded when it comes in keeps that form.
    const isBounded = others.some(({ rule }) => rule === 'toolOutput')
    const isReferring =
      state.blockEdit(seq, position, goneIn(this.#planned))?.refersTo !== undefined
    const edit =
      isReferring || isBounded ? undefined : this.#reference(state, item, { block, position })
    if (edit !== undefined) this.#edits.push(edit)
    // What another rule shortens further shows no lines to refer to.
    if (others.some((other) => edit === undefined || !isStronger(edit, other))) return
    for (const lines of all) {
      this.#index.add(lines)
      this.#sources.push({ entry, block: position })
    }
  }

  /** The edit that refers to earlier lines; none where too little repeats, or where the block must stay as it is. */
  #reference(
    state: State,
    item: Item,
    { block, position }: { readonly block: Block; readonly position: number },
  ): Edit | undefined {
    const { seq } = item.entry
    if (block.type !== 'tool-result' || state.isPinned(seq)) return undefined
    const call = state.exchanges.answeredBy({ seq, block: position })?.call
    if (call === undefined || isLookupTool(call.name)) return undefined
    if (typeof block.content !== 'string' && block.content.some(({ type }) => type !== 'text')) {
      return undefined
    }
    const text = textOf(block.content)
    const lines = linesIn(state, text, `${seq}:${position}:0`)
    const repeats = this.#index.find(lines, this.#minChars, { countsLines: this.#countsLines })
    const codes = text.length - lines.length
    if (repeats.length === 0 && codes < this.#minChars) return undefined
    const sources = new Set(
      repeats.flatMap(({ source }) => (typeof source === 'number' ? [source] : [])),
    )
    const target = { item, block: position, content: block }
    const [edit] = reduceResult(state, target, {
      rule: name,
      form: 'clipped',
      text: this.#write(state, lines, repeats, { seq, block: position }),
      since: seq,
      reason: reasonOf(lines, repeats, codes),
      refersTo: [...sources].map((source) => {
        const { entry, block: own } = this.#sources[source] as Source
        return [entry.seq, own] as const
      }),
    })
    return edit
  }

  #write(
    state: State,
    { lines }: Lines,
    repeats: readonly Repeat[],
    place: { readonly seq: number; readonly block: number },
  ): string {
    const written: string[] = []
    let at = 0
    for (const { from, count, source } of repeats) {
      written.push(...lines.slice(at, from))
      const what = this.#describe(state, count, source)
      written.push(at === 0 ? `[${what}; id ${state.blockIdAt(place)}]` : `[${what}]`)
      at = from + count
    }
    written.push(...lines.slice(at))
    if (at === 0) written.push(`[without terminal codes; id ${state.blockIdAt(place)}]`)
    return written.join('\n')
  }

  #describe(state: State, count: number, source: Repeat['source']): string {
    if (source === 'before') return `the line above ${count} more ${count === 1 ? 'time' : 'times'}`
    const lines = `${count} ${count === 1 ? 'line' : 'lines'}`
    const entry = source === 'own' ? undefined : (this.#sources[source] as Source).entry
    if (entry === undefined) return `${lines} as above`
    if (entry.role === 'assistant') return `${lines} as in your message above`
    if (entry.role === 'user' && entry.origin === 'user') return `${lines} as in the user's message`
    const found = sourceNames(state, readableIn(state, this.#planned))(entry)?.name
    return found === undefined ? `${lines} as above` : `${lines} as in \`${found}\` above`
  }
}

/** The lines of a text, without terminal codes, and how many characters are left. */
function linesIn(state: State, text: string, key: string): Lines & { readonly length: number } {
  return state.derive(`lines:${key}`, () => {
    const plain = withoutTerminalCodes(text)
    return { ...linesOf(plain), length: plain.length }
  })
}

function reasonOf({ lines }: Lines, repeats: readonly Repeat[], codes: number): string {
  const repeated = repeats.reduce((sum, { count }) => sum + count, 0)
  const reasons = [
    ...(repeated > 0 ? [`${repeated} of ${lines.length} lines are shown further up`] : []),
    ...(codes > 0 ? [`${codes} characters are terminal codes or were overwritten`] : []),
  ]
  return reasons.join('; ')
}

/** Visible messages behind a seq that no planned edit drops, in order. Looks at no older ones. */
function itemsAfter(state: State, newest: number, planned: readonly Edit[]): readonly Item[] {
  if (newest === 0 || planned.length > 0) return remaining(state, planned)
  return state.visibleFrom(state.positionOf(newest + 1))
}

function isReadable({ length }: string, minChars: number): boolean {
  return length >= minChars && length <= mostChars
}

function textsIn(block: Block): readonly string[] {
  switch (block.type) {
    case 'text':
      return [block.text]
    case 'tool-call':
      return leavesOf(block.arguments)
    case 'tool-result':
      return [textOf(block.content)]
    default:
      return []
  }
}

/** The texts in a call's arguments: a file that was written, a long command. */
function leavesOf(text: string): readonly string[] {
  if (text.length > mostChars) return []
  const leaves: string[] = []
  let left: unknown[]
  try {
    left = [JSON.parse(text)]
  } catch {
    return [text]
  }
  // Not recursive: arguments may be nested as deeply as a model likes.
  for (let value = left.pop(); value !== undefined; value = left.pop()) {
    if (typeof value === 'string') leaves.push(value)
    else if (typeof value === 'object' && value !== null) {
      left.push(
        ...Object.values(value)
          .filter((one) => typeof one === 'object' || typeof one === 'string')
          .reverse(),
      )
    }
  }
  return leaves
}
