// The working state of the budget ladder: a view that is being fitted, its token count, and the reductions so far.

import { type Block, textOf } from '../core/log/block.ts'
import type { Edit, EditEntry, Form, MessageEntry } from '../core/log/entry.ts'
import type { State } from '../core/state/state.ts'
import { isAmong, withdrawnFrom } from '../core/text/checkpoint.ts'
import { Digest } from '../core/text/digest.ts'
import { Directives } from '../core/text/directive-list.ts'
import { type Readable, readableIn, readableMessage } from '../core/text/readable.ts'
import { type Counter, countBlock, overheadOf } from '../core/tokens/counter.ts'
import { mostTokens } from '../core/tokens/margin.ts'
import { blockTokens } from '../core/tokens/tally.ts'
import { finalIn } from '../core/view/reduction.ts'
import { reduce } from '../core/view/render.ts'
import { madeSegment, type Segment } from '../core/view/segments.ts'
import type { ViewMessage } from '../core/view/view.ts'

export interface Fitted {
  readonly segments: readonly Segment[]
  readonly tokens: number
  /** Reductions of single blocks. */
  readonly edits: readonly Edit[]
  /** Messages folded into the digest, as they were shown. */
  readonly folded: readonly ViewMessage[]
  /** The seq of the first of them, where that is known without a look at all. */
  readonly foldedFrom?: number
  /** The message of the checkpoint, as it was, where its text is shortened. */
  readonly shortened?: ViewMessage
  readonly digest?: string
}

/** A unit of the view: one message, or an assistant message with its results. */
export interface Slot {
  readonly messages: readonly number[]
  readonly isUser: boolean
  /** The newest exchange, which the model has not seen. */
  readonly isUnseen: boolean
  /** Why it must stay as it is; undefined where it may be reduced. */
  readonly protection: string | undefined
}

const none: ReadonlySet<number> = new Set()
/** Tokens of the user's standing instructions in a digest, at most. */
const directiveTokens = 400

/** Ever shorter: counts, quotes and instructions; the count and instructions; the count; nothing. */
const digestStyles = ['long', 'brief', 'bare', 'none'] as const
type DigestStyle = (typeof digestStyles)[number]

/** Every reduction keeps `total` right, so that the ladder can stop at once. */
export class Fitting {
  readonly messages: readonly ViewMessage[]
  readonly state: State
  /** Tokens without the digest. */
  #own: number
  readonly #isLost: (seq: number, block: number) => boolean
  readonly #readable: Readable
  readonly #checkpoint: Edit | EditEntry | undefined
  readonly #planned: readonly Edit[]
  readonly #shown: (Block | undefined)[][]
  readonly #tokens: number[][]
  readonly #edits = new Map<string, Edit>()
  readonly #folded = new Set<number>()
  #digest = new Digest()
  /** Undefined until it is needed: composing a digest is most of the work of folding a message. */
  #weight: number | undefined = 0
  /** Of what was in the log: a digest does not stand for notices that repairs added. */
  #foldedTokens = 0
  #digestStyle: DigestStyle = 'long'
  /** The user's standing instructions in what was folded. */
  #directives = new Directives()
  /** The index of the checkpoint whose text is shortened. */
  #shortened: number | undefined
  /** Where the first message that is spoken and not folded was found last. */
  #start = 0

  constructor(
    state: State,
    messages: readonly ViewMessage[],
    {
      frame,
      planned = [],
      checkpoint,
    }: {
      readonly frame: number
      readonly planned?: readonly Edit[]
      readonly checkpoint?: Edit | undefined
    },
  ) {
    this.#isLost = finalIn(state, planned)
    this.#readable = readableIn(state, planned)
    this.state = state
    this.messages = messages
    this.#checkpoint = checkpoint
    this.#planned = planned
    this.#shown = messages.map((message) => [...message.blocks])
    this.#tokens = messages.map((message) => this.#most(message))
    this.#own = this.#tokens.reduce(
      (sum, tokens, index) => sum + this.#overhead(index) + tokens.reduce((a, b) => a + b, 0),
      frame,
    )
  }

  /** Tokens of the view, with everything around it. */
  get total(): number {
    return this.#own + this.digestTokens
  }

  /** Whether the view is within a budget. Composes a digest only where everything else is. */
  fits(budget: number): boolean {
    return this.#own <= budget && this.total <= budget
  }

  /** The most tokens that each block of a message may have, so that the budget holds when the provider counts. */
  #most(message: ViewMessage): number[] {
    return blockTokens(this.state, message).map((tokens, at) =>
      mostTokens(this.state.counter, message.blocks[at] as Block, tokens),
    )
  }

  blockCount(message: number): number {
    return this.messages[message]?.blocks.length ?? 0
  }

  /** The block as it is shown now; a dropped one still answers with what it was. */
  block(message: number, block: number): Block {
    return this.#shown[message]?.[block] ?? (this.messages[message]?.blocks[block] as Block)
  }

  /** What a model may read of a result in the log: every form derives from it. */
  original(message: number, block: number): string | readonly Block[] {
    const { entry, positions } = this.messages[message] as ViewMessage
    const position = positions?.[block] ?? block
    if (entry === undefined) return ''
    const readable = this.#readable(entry).find((one) => one.position === position)?.block
    return readable?.type === 'tool-result' ? readable.content : ''
  }

  /** Whether the original of a block may be shown again. */
  canExpand(message: number, block: number): boolean {
    const { entry, positions } = this.messages[message] as ViewMessage
    return entry === undefined || !this.#isLost(entry.seq, positions?.[block] ?? block)
  }

  /** Gives a block a smaller form; false when that would not make it smaller. */
  reduce(message: number, block: number, form: Form, text: string, reason: string): boolean {
    const view = this.messages[message] as ViewMessage
    if (view.entry === undefined || this.#shown[message]?.[block] === undefined) return false
    const position = view.positions?.[block] ?? block
    if (this.state.isVetoed(view.entry.seq, position, form)) return false
    const original = view.entry.blocks[position] as Block
    const shown = reduce(original, { form, text })
    const before = this.#tokens[message]?.[block] as number
    const after =
      shown === undefined ? 0 : this.#tokensOf(original, shown, `${form}:${text.length}`)
    if (after >= before || isLonger(original, text)) return false
    ;(this.#shown[message] as (Block | undefined)[])[block] = shown
    ;(this.#tokens[message] as number[])[block] = after
    this.#own += after - before
    this.#edits.set(`${view.entry.seq}:${position}`, {
      rule: 'budget',
      form,
      target: { seq: view.entry.seq, block: position },
      ...(form === 'dropped' ? {} : { text }),
      reason,
      tokensBefore: this.state.item(view.entry.seq)?.tokens[position] ?? before,
      tokensAfter: shown === undefined ? 0 : countBlock(this.state.counter, shown),
    })
    return true
  }

  /** Drops a block beside others; false for the only one that is left, without which nothing of the message would be there. */
  drop(message: number, block: number, reason: string): boolean {
    const shown = this.#shown[message] ?? []
    const isLast = shown.every((other, at) => at === block || other === undefined)
    return !isLast && this.reduce(message, block, 'dropped', '', reason)
  }

  /** Reduced forms derive from the log alone: each is counted once. */
  #tokensOf(original: Block, shown: Block, form: string): number {
    const { counter } = this.state
    const count = (): number => mostTokens(counter, shown, countBlock(counter, shown))
    if (original.id === undefined) return count()
    const key = `most:${original.id}:${form}`
    return this.state.derive(key, () => ({ tokens: count() })).tokens
  }

  /** Folds a unit into the digest; false, and nothing is changed, when a digest that must then be there costs more than it saves. */
  fold(slot: Slot): boolean {
    const size = slot.messages.reduce((sum, message) => sum + this.#sizeOf(message), 0)
    const logged = slot.messages
      .filter(
        (message) => this.messages[message]?.entry !== undefined || this.isCheckpoint(message),
      )
      .reduce((sum, message) => sum + this.#sizeOf(message), 0)
    this.#mark(slot)
    if (this.#needsDigest() && this.#isTooSmall(slot, { size, logged })) {
      this.#unmark(slot)
      return false
    }
    this.#addTo(this.#digest, slot, (digest) => {
      this.#digest = digest
    })
    this.#hear(slot)
    this.#directives.bound()
    this.#own -= size
    this.#foldedTokens += logged
    this.#weight = undefined
    return true
  }

  /** Whether the shortest digest with a unit costs more than the unit. */
  #isTooSmall(slot: Slot, { size, logged }: { size: number; logged: number }): boolean {
    this.#unmark(slot)
    const before = this.digestTokens
    this.#mark(slot)
    let digest = Digest.from(this.#digest.data())
    this.#addTo(digest, slot, (other) => {
      digest = other
    })
    const needed = noteTokens(this.state.counter, digest.text('brief'))
    return needed > Math.min(this.#foldedTokens + logged, before + size)
  }

  #mark({ messages }: Slot): void {
    for (const message of messages) this.#folded.add(message)
  }

  #unmark({ messages }: Slot): void {
    for (const message of messages) this.#folded.delete(message)
    this.#start = 0
  }

  /** Adds a unit to a digest; with the checkpoint, everything is told again, in another one. */
  #addTo(digest: Digest, { messages }: Slot, replace: (digest: Digest) => void): void {
    let current = digest
    for (const message of messages) {
      const { entry } = this.messages[message] as ViewMessage
      if (this.isCheckpoint(message)) {
        current = this.#withCheckpoint()
        replace(current)
      } else if (entry !== undefined) this.#addReadable(current, entry)
    }
  }

  /** Shows a checkpoint with this text; false, and nothing is changed, when that would not make it smaller. */
  shorten(message: number, { text, tokens: after }: { text: string; tokens: number }): boolean {
    if (after >= (this.#tokens[message]?.[0] as number)) return false
    this.#setText(message, text, after)
    this.#shortened = message
    return true
  }

  /** Shows the checkpoint as it is in the log. */
  lengthen(message: number): void {
    if (this.#shortened !== message) return
    const view = this.messages[message] as ViewMessage
    const [block] = view.blocks
    if (block?.type !== 'text') return
    this.#setText(message, block.text, this.#most(view)[0] as number)
    this.#shortened = undefined
  }

  #setText(message: number, text: string, tokens: number): void {
    const view = this.messages[message] as ViewMessage
    const [block] = view.blocks
    const isWhole = block?.type === 'text' && block.text === text
    ;(this.#shown[message] as (Block | undefined)[])[0] = isWhole ? block : { type: 'text', text }
    this.#own += tokens - (this.#tokens[message]?.[0] as number)
    ;(this.#tokens[message] as number[])[0] = tokens
  }

  /** Whether a message is the summary of the checkpoint. */
  isCheckpoint(message: number): boolean {
    const { entry, blocks } = this.messages[message] as ViewMessage
    const [block] = blocks
    return entry === undefined && block?.type === 'text' && block.text === this.#checkpoint?.text
  }

  /** A digest of what the checkpoint covers and of everything folded so far. */
  #withCheckpoint(): Digest {
    const made = this.#checkpoint
    const withdrawn =
      made !== undefined && 'seq' in made ? withdrawnFrom(this.state, made, this.#planned) : none
    const digest = Digest.from(made?.digest, isAmong(withdrawn))
    for (const index of [...this.#folded].sort((a, b) => a - b)) {
      const entry = this.messages[index]?.entry
      if (entry !== undefined) this.#addReadable(digest, entry)
    }
    return digest
  }

  /** Adds what a folded unit says for good. */
  #hear({ messages }: Slot): void {
    const isCovered = messages.some((message) => this.isCheckpoint(message))
    if (isCovered) this.#directives = this.#coveredDirectives()
    for (const message of isCovered ? [...this.#folded].sort((a, b) => a - b) : messages) {
      const { entry } = this.messages[message] as ViewMessage
      const said = entry && readableMessage(this.#readable, entry)
      if (said !== undefined) this.#directives.add(said)
    }
  }

  #coveredDirectives(): Directives {
    const made = this.#checkpoint
    const withdrawn =
      made !== undefined && 'seq' in made ? withdrawnFrom(this.state, made, this.#planned) : none
    return new Directives(made?.digest?.directives, isAmong(withdrawn))
  }

  #addReadable(digest: Digest, entry: MessageEntry): void {
    const said = readableMessage(this.#readable, entry)
    if (said !== undefined) digest.add(said)
  }

  #sizeOf(message: number): number {
    const tokens = this.#tokens[message] as number[]
    return this.#overhead(message) + tokens.reduce((a, b) => a + b, 0)
  }

  *shortenDigest(): Generator<void> {
    if (this.#folded.size === 0) return
    for (const style of digestStyles.slice(1)) {
      if (style === 'none' && this.#needsDigest()) return
      this.#digestStyle = style
      this.#weight = undefined
      yield
    }
  }

  lengthenDigest(): void {
    this.#digestStyle = 'long'
    this.#weight = undefined
  }

  result(): Fitted {
    const digest = this.#digestText()
    const first = Math.min(...this.#folded)
    const messages = this.messages.flatMap((message, index): ViewMessage[] => {
      const note: ViewMessage[] =
        digest !== undefined && index === first
          ? [{ role: 'user', origin: 'host', blocks: [{ type: 'text', text: digest }] }]
          : []
      return this.#folded.has(index) ? note : [...note, this.#message(message, index)]
    })
    const folded = [...this.#folded].sort((a, b) => a - b)
    return {
      segments: [madeSegment(messages)],
      tokens: this.total,
      edits: this.#unfoldedEdits(),
      folded: folded.map((index) => this.messages[index] as ViewMessage),
      ...(digest === undefined ? {} : { digest }),
      ...this.#shortening(),
    }
  }

  #shortening(): Pick<Fitted, 'shortened'> {
    const index = this.#shortened
    if (index === undefined || this.#folded.has(index)) return {}
    return { shortened: this.messages[index] as ViewMessage }
  }

  /** Tokens of a message as it is shown; 0 for one that is folded. */
  sizeOf(message: number): number {
    return this.#folded.has(message) ? 0 : this.#sizeOf(message)
  }

  get digestTokens(): number {
    if (this.#weight !== undefined) return this.#weight
    const text = this.#digestText()
    this.#weight = text === undefined ? 0 : noteTokens(this.state.counter, text)
    return this.#weight
  }

  #message(message: ViewMessage, index: number): ViewMessage {
    const shown = this.#shown[index] as (Block | undefined)[]
    if (shown.every((block, at) => block === message.blocks[at])) return message
    const kept = shown.flatMap((block, at) => (block === undefined ? [] : [at]))
    const wireIds = new Map<number, string>()
    kept.forEach((from, to) => {
      const id = message.wireIds?.get(from)
      if (id !== undefined) wireIds.set(to, id)
    })
    return {
      ...message,
      blocks: kept.map((at) => shown[at] as Block),
      positions: kept.map((at) => message.positions?.[at] ?? at),
      ...(message.wireIds === undefined ? {} : { wireIds }),
    }
  }

  /** By block: results of one message may answer calls of several, of which only one is folded. */
  #unfoldedEdits(): readonly Edit[] {
    const folded = new Set<string>()
    for (const index of this.#folded) {
      const { entry, blocks, positions } = this.messages[index] as ViewMessage
      blocks.forEach((_, block) => {
        folded.add(`${entry?.seq}:${positions?.[block] ?? block}`)
      })
    }
    return [...this.#edits].flatMap(([place, edit]) => (folded.has(place) ? [] : [edit]))
  }

  /** Whether the view began with a user's message and would not without the digest. */
  #needsDigest(): boolean {
    const isSpoken = ({ role }: ViewMessage): boolean => role !== 'system'
    if (this.messages.find(isSpoken)?.role !== 'user') return false
    // Folding continues from there: what stands before it was looked at.
    for (; this.#start < this.messages.length; this.#start++) {
      const message = this.messages[this.#start] as ViewMessage
      if (isSpoken(message) && !this.#folded.has(this.#start)) return message.role !== 'user'
    }
    return true
  }

  #overhead(message: number): number {
    return overheadOf(this.messages[message]?.role ?? 'user')
  }

  /** The longest note that the ladder allows and that costs no more than what it replaces. */
  #digestText(): string | undefined {
    if (this.#folded.size === 0 || this.#digestStyle === 'none') return undefined
    // Nothing of it is for the model: only a request that would begin with something else needs a note.
    if (this.#digest.size === 0 && !this.#needsDigest()) return undefined
    const { counter } = this.state
    const notes = notesOf(counter, this.#digest, this.#directives, this.#digestStyle)
    const fits = notes.find((note) => noteTokens(counter, note) <= this.#foldedTokens)
    return fits ?? (this.#needsDigest() ? notes.at(-1) : undefined)
  }
}

/** The notes that may stand for what was folded, longest first. */
export function notesOf(
  counter: Counter,
  digest: Digest,
  directives: Directives,
  style: Exclude<DigestStyle, 'none'>,
): readonly string[] {
  const bare = digest.text('brief')
  if (style === 'bare') return [bare]
  const isShown = (): boolean => false
  const { text } = directives.compose({ counter, tokens: directiveTokens, isShown })
  const withDirectives = (note: string): string => (text === '' ? note : `${text}\n\n${note}`)
  const brief = [withDirectives(bare), bare]
  return style === 'brief' ? brief : [withDirectives(digest.text('whole')), ...brief]
}

/** The most tokens that a note may have as a message of its own. */
export function noteTokens(counter: Counter, text: string): number {
  return overheadOf('user') + textTokens(counter, text)
}

export function textTokens(counter: Counter, text: string): number {
  return mostTokens(counter, { type: 'text', text }, counter.count(text))
}

export function hasMedia(content: string | readonly Block[]): boolean {
  return typeof content !== 'string' && content.some((block) => block.type !== 'text')
}

function isLonger(original: Block, text: string): boolean {
  if (original.type === 'text') return text.length > original.text.length
  if (original.type === 'tool-result' && !hasMedia(original.content)) {
    return text.length > textOf(original.content).length
  }
  return false
}
