// The standing instructions of a conversation: collected as messages leave the view, superseded by newer ones, listed word for word.

import { type Block, textOf } from '../log/block.ts'
import type { MessageEntry } from '../log/entry.ts'
import { isObject, type Json, type JsonObject } from '../log/json.ts'
import type { Counter } from '../tokens/counter.ts'
import { type IsWithdrawn, rowsOf, seqIn } from './digest.ts'
import {
  absolute,
  change,
  permission,
  retraction,
  standing,
  topics,
  wish,
} from './directive-cues.ts'
import {
  directivesIn,
  type FoundDirective,
  firmnesses,
  isConfirmation,
  isPinOfOther,
  restatedIn,
} from './directives.ts'

/** A standing instruction or preference that holds now. */
export interface Directive {
  /** The exact words. */
  readonly text: string
  /** The id of the message that states it; pass it to `expand`. */
  readonly source: string
  /** The turn in which it was stated. */
  readonly since: number
  /** The id of the message whose instruction it replaces. */
  readonly supersedes?: string
}

/** How a checkpoint shows a directive. `shown`: its message is in the view, so it is not listed. */
const forms = ['shown', 'full', 'short', 'lookup'] as const
type ListedForm = (typeof forms)[number]

interface Kept extends FoundDirective {
  readonly from: string
  readonly seq: number
  readonly turn: number
  readonly supersedes?: string
  /** The message that replaced it. */
  readonly by?: number
}

/** Directives that are remembered word for word, replaced ones included; beyond it the weakest and oldest are only counted. */
const maxKept = 400
const maxReplaced = 50
const namedIds = 12
/** Shorter texts are not shortened. */
const shortLength = 100

export const directivesHeading =
  'Standing instructions of the user, word for word, newest last; the newest wins:'
/** Sentences that are built like an instruction and do not say that they last. */
const asksHeading = 'Also said, and perhaps for one occasion only:'

/** Collects messages in the order of the log; adding one twice is the same as once. */
export class Directives {
  readonly #kept = new Map<string, Kept>()
  #forgotten = 0

  /** Restores `data`, without content from withdrawn messages. What those replaced holds again. */
  constructor(data?: Json, isWithdrawn: IsWithdrawn = () => false) {
    if (!isObject(data)) return
    this.#forgotten = seqIn(data.forgotten)
    for (const one of keptIn(data)) {
      if (isWithdrawn(one.seq)) continue
      const { by, ...own } = one
      const isReplaced = by !== undefined && !isWithdrawn(by)
      this.#kept.set(keyOf(one), isReplaced ? one : own)
    }
  }

  /** Adds a message as a model may read it; `before` is the assistant's message that a user answers with it. */
  add(entry: MessageEntry, before?: MessageEntry): void {
    const isFromUser = entry.role === 'user' && entry.origin === 'user'
    if (!isFromUser && entry.role !== 'system') return
    const { restated, pinsOther, own } = foundIn(entry.blocks)
    if (isFromUser && before !== undefined) {
      if (restated) for (const one of restatedBy(before.blocks)) this.#add(before, one)
      const other = pinsOther ? pinnable(before) : undefined
      if (other !== undefined) this.#add(before, other)
    }
    for (const one of own) this.#add(entry, one)
  }

  /** The same list, to be added to by itself. */
  copy(): Directives {
    const copy = new Directives()
    for (const [key, one] of this.#kept) copy.#kept.set(key, one)
    copy.#forgotten = this.#forgotten
    return copy
  }

  /** Keeps the list within its bounds. */
  bound(): void {
    if (this.#kept.size > Math.min(maxReplaced, maxKept)) this.#forget()
  }

  /** What holds now, oldest first. */
  list(): readonly Directive[] {
    return this.#holding().map(({ text, from, turn, supersedes }) => ({
      text,
      source: from,
      since: turn,
      ...(supersedes === undefined ? {} : { supersedes }),
    }))
  }

  /**
   * The list for a checkpoint within `tokens`, and the input of the next one. Where there is no room for all, long ones are cut to
   * the part that instructs; then the weaker kinds and of one kind the oldest are named by the ids of their messages.
   */
  compose({
    counter,
    tokens,
    isShown,
  }: {
    readonly counter: Counter
    readonly tokens: number
    /** Whether the view shows a message as it was written. */
    readonly isShown: (seq: number) => boolean
  }): { readonly text: string; readonly data: JsonObject | undefined } {
    this.#forget()
    const listed = this.#holding().filter(({ seq }) => !isShown(seq))
    const form = fitting(listed, counter, tokens)
    const kept = [...this.#kept.values()].sort((a, b) => a.seq - b.seq)
    const data = {
      forgotten: this.#forgotten,
      rows: kept.map((one) => rowOf(one, form.get(one) ?? 'shown')),
    }
    return {
      text: textOfList(listed, (one) => form.get(one) ?? 'shown', this.#forgotten),
      data: kept.length === 0 && this.#forgotten === 0 ? undefined : data,
    }
  }

  #holding(): Kept[] {
    return [...this.#kept.values()]
      .filter(({ by }) => by === undefined)
      .sort((a, b) => a.seq - b.seq)
  }

  #add({ id, seq, turn }: MessageEntry, found: FoundDirective): void {
    const own: Kept = { ...found, from: id, seq, turn }
    const key = keyOf(own)
    if (this.#kept.has(key)) return
    const replaced = this.#replacedBy(own)
    if (found.isRetraction === true && replaced.length === 0 && found.firmness === 'ask') return
    for (const one of replaced) this.#kept.set(keyOf(one), { ...one, by: seq })
    const newest = replaced.at(-1)?.from
    this.#kept.set(key, newest === undefined ? own : { ...own, supersedes: newest })
  }

  /** Older directives that this one repeats, and the one that it changes. */
  #replacedBy(own: Kept): readonly Kept[] {
    const older = this.#holding().filter(({ seq }) => seq < own.seq)
    const same = normal(own.text)
    const repeated = older.filter(({ text }) => normal(text) === same)
    if (own.isRetraction === true) {
      const back = older.findLast((one) => isTakenBackBy(one.text, own.text))
      if (back !== undefined) return [...repeated, back].sort((a, b) => a.seq - b.seq)
    }
    if (!change.test(own.text)) return repeated
    const changed = older.findLast(
      (one) => !repeated.includes(one) && isChangedBy(one.text, own.text),
    )
    return changed === undefined ? repeated : [...repeated, changed].sort((a, b) => a.seq - b.seq)
  }

  #forget(): void {
    const all = [...this.#kept.values()].sort((a, b) => a.seq - b.seq)
    const replaced = all.filter(({ by }) => by !== undefined)
    for (const one of replaced.slice(0, Math.max(0, replaced.length - maxReplaced))) {
      this.#kept.delete(keyOf(one))
    }
    const ranked = [...this.#holding()].sort(byImportance)
    for (const one of ranked.slice(maxKept)) {
      this.#kept.delete(keyOf(one))
      this.#forgotten += 1
    }
  }
}

/** Whether a message may add to the list. */
export function mayDirect({ role, origin, blocks }: MessageEntry): boolean {
  if (role !== 'user' || origin !== 'user') return false
  const { own, restated, pinsOther } = foundIn(blocks)
  return own.length > 0 || restated || pinsOther
}

/** The list of an earlier checkpoint without content from withdrawn messages. */
export function directivesTextWithout(data: Json | undefined, isWithdrawn: IsWithdrawn): string {
  if (!isObject(data)) return ''
  const rows = rowsOf(data.rows)
  const listed = new Map<Kept, ListedForm>()
  keptIn(data).forEach((one, index) => {
    const form = forms[seqIn(rows[index]?.[8])] ?? 'shown'
    if (form !== 'shown' && !isWithdrawn(one.seq)) listed.set(one, form)
  })
  return textOfList([...listed.keys()], (one) => listed.get(one) ?? 'shown', seqIn(data.forgotten))
}

interface Found {
  readonly own: readonly FoundDirective[]
  readonly restated: boolean
  readonly pinsOther: boolean
}

/** Messages are immutable, so they are read once. */
const foundByBlocks = new WeakMap<readonly Block[], Found>()
const restatedByBlocks = new WeakMap<readonly Block[], readonly FoundDirective[]>()

function foundIn(blocks: readonly Block[]): Found {
  const known = foundByBlocks.get(blocks)
  if (known !== undefined) return known
  const texts = blocks.flatMap((block) => (block.type === 'text' ? [block.text] : []))
  const found = {
    own: texts.flatMap((text) => (isPinOfOther(text) ? [] : directivesIn(text))),
    restated: isConfirmation(texts[0] ?? ''),
    pinsOther: texts.length === 1 && isPinOfOther(texts[0] ?? ''),
  }
  foundByBlocks.set(blocks, found)
  return found
}

function restatedBy(blocks: readonly Block[]): readonly FoundDirective[] {
  const known = restatedByBlocks.get(blocks)
  if (known !== undefined) return known
  const found = restatedIn(ownText(blocks))
  restatedByBlocks.set(blocks, found)
  return found
}

/** An answer that the user asks to remember, unless it is too long to be carried. */
function pinnable({ blocks }: MessageEntry): FoundDirective | undefined {
  const text = ownText(blocks).trim()
  if (text === '' || text.length > 1000) return undefined
  return { text, firmness: 'pin', isAdjacent: false }
}

function ownText(blocks: readonly Block[]): string {
  return textOf(blocks.filter(({ type }) => type === 'text'))
}

function keyOf({ seq, text }: Pick<Kept, 'seq' | 'text'>): string {
  return `${seq}:${text}`
}

function rowOf(one: Kept, form: ListedForm): Json[] {
  const { text, from, seq, turn, firmness, isAdjacent, supersedes = '', by = 0 } = one
  const adjacent = isAdjacent ? 1 : 0
  return [
    text,
    from,
    seq,
    turn,
    firmnesses.indexOf(firmness),
    adjacent,
    supersedes,
    by,
    forms.indexOf(form),
  ]
}

function keptIn(data: Readonly<Record<string, unknown>>): readonly Kept[] {
  return rowsOf(data.rows).map(([text, from, seq, turn, firmness, adjacent, supersedes, by]) => ({
    text: String(text),
    from: String(from),
    seq: seqIn(seq),
    turn: seqIn(turn),
    firmness: firmnesses[seqIn(firmness)] ?? 'wish',
    isAdjacent: adjacent === 1,
    ...(typeof supersedes === 'string' && supersedes !== '' ? { supersedes } : {}),
    ...(typeof by === 'number' && by > 0 ? { by } : {}),
  }))
}

/** Firmer ones first; of one kind the newest. */
function byImportance(a: Kept, b: Kept): number {
  return firmnesses.indexOf(a.firmness) - firmnesses.indexOf(b.firmness) || b.seq - a.seq
}

/** The form of each within the budget. */
function fitting(
  listed: readonly Kept[],
  counter: Counter,
  tokens: number,
): ReadonlyMap<Kept, ListedForm> {
  const form = new Map<Kept, ListedForm>()
  const cost = (one: Kept, as: 'full' | 'short'): number => lineTokens(one, as, counter) + 1
  let left = tokens - counter.count(directivesHeading)
  if (listed.some(({ firmness }) => firmness === 'ask')) left -= counter.count(asksHeading) + 1
  const whole = listed.reduce((sum, one) => sum + cost(one, 'full'), 0)
  const isAll = whole <= left
  // Room for the line that names the others.
  if (!isAll) left -= 8 + 4 * Math.min(namedIds, listed.length)
  let isFull = false
  for (const one of [...listed].sort(byImportance)) {
    const room = isFull ? 0 : left
    const as = isAll
      ? 'full'
      : (['full', 'short'] as const).find((form_) => cost(one, form_) <= room)
    form.set(one, as ?? 'lookup')
    if (as !== undefined) left -= cost(one, as)
    // What comes behind is weaker or older; only a very long one does not keep it out.
    else if (cost(one, 'short') <= tokens / 4) isFull = true
  }
  return form
}

function textOfList(
  listed: readonly Kept[],
  formOf: (one: Kept) => ListedForm,
  forgotten: number,
): string {
  const lines: string[] = []
  const others: string[] = []
  let last: Kept | undefined
  const asks = listed.filter(({ firmness }) => firmness === 'ask')
  const isAskShown = asks.some((one) => ['full', 'short'].includes(formOf(one)))
  for (const one of [...listed.filter(({ firmness }) => firmness !== 'ask'), ...asks]) {
    if (one === asks[0] && isAskShown) lines.push(asksHeading)
    const form = formOf(one)
    if (form === 'lookup') others.push(one.from)
    if (form !== 'full' && form !== 'short') continue
    const isNext =
      one.isAdjacent &&
      form === 'full' &&
      last?.seq === one.seq &&
      formOf(last) === 'full' &&
      (last.firmness === 'ask') === (one.firmness === 'ask')
    if (isNext) {
      const before = (lines.pop() as string).slice(0, -idOf(one).length)
      lines.push(`${before} ${one.text}${idOf(one)}`)
    } else lines.push(lineOf(one, form))
    last = one
  }
  const missing = others.length + forgotten
  if (missing > 0) lines.push(lookupLine([...new Set(others)], missing))
  return lines.length === 0 ? '' : [directivesHeading, ...lines].join('\n')
}

function lineOf(one: Kept, form: ListedForm): string {
  return `- ${form === 'short' ? shortest(one.text) : one.text}${idOf(one)}`
}

interface CountedLines {
  readonly counter: Counter
  full?: number
  short?: number
}

/** A list is written for many views, and most of it is the same each time. */
const counted = new WeakMap<Kept, CountedLines>()

/** Tokens of a directive's line. */
function lineTokens(one: Kept, form: 'full' | 'short', counter: Counter): number {
  const known = counted.get(one)
  const lines: CountedLines = known?.counter === counter ? known : { counter }
  if (lines !== known) counted.set(one, lines)
  lines[form] ??= counter.count(lineOf(one, form))
  return lines[form]
}

function idOf({ from }: Kept): string {
  return ` (${from})`
}

function lookupLine(ids: readonly string[], count: number): string {
  const named = ids.slice(-namedIds)
  const more = ids.length > named.length ? ' and older ones' : ''
  const where = named.length === 0 ? '' : `, in messages ${named.join(', ')}${more}`
  return `- ${count} older ${count === 1 ? 'one' : 'ones'}${where}: look them up before you act against them`
}

/** The exact words from the clause with the first cue on. */
function shortest(text: string): string {
  if (text.length <= shortLength) return text
  const cues = [standing, absolute, wish].flatMap((cue) => cue.exec(text)?.index ?? [])
  const at = Math.min(...cues)
  if (at === Infinity) return text
  const start = text.slice(0, at).search(/[,;:—–][^,;:—–]*$/) + 1
  return text.slice(start).trim()
}

function normal(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
}

/** Words that say nothing about the subject. */
const common =
  /^(?:the|a|an|and|or|to|of|in|on|for|from|now|please|use|using|always|never|you|your|my|me|i|it|this|that|is|are|be|do|not|don|t|instead|anymore|longer|no|with|all|only|just|will|should|must|write|answer|reply|respond|prefer|session|rest|can|again|want|ab|jetzt|sofort|bitte|immer|nie|die|der|das|den|und|in|auf|nur|noch|doch|statt|stattdessen|verwende|antworte|schreibe|les|des|le|la|de|en|un|une|et|ne|pas|toujours|jamais|désormais|utilise|réponds|plutôt|siempre|nunca|ahora|adelante|usa|responde|vez|lugar|el|los|las|que)$/u

/** Whether a sentence takes back what another one asked for: it names most of the same things behind "forget what I said about". */
function isTakenBackBy(older: string, newer: string): boolean {
  const before = wordsIn(older, undefined)
  const cue = retraction.exec(newer) ?? permission.exec(newer)
  if (cue === null || normal(older) === normal(newer)) return false
  const [named = ''] = newer.slice(cue.index + cue[0].length).split(/[,;.!。，]/, 1)
  const after = [...wordsIn(named, undefined)].filter((word) => !speaking.test(word))
  const shared = after.filter((word) => before.has(word)).length
  return shared > 0 && shared >= after.length / 2
}

/** Words about the saying, not about what was said; cut as `wordsIn` cuts them. */
const speaking =
  /^(?:what|said|told|asked|about|rule|wrote|reque|instr|earli|previ|was|ich|gesag|regel|wegen|über|dit|deman|sur|règle|dije|pedí|sobre|regla|dett|detto|chies|disse|pedi|ik|zei|over|que|ai|what|czym|mówi|що|я|сказа|говор|про)$/u

/** Whether a directive that changes something is about the same as an older one, and not narrower. */
function isChangedBy(older: string, newer: string): boolean {
  const subject = Object.keys(topics).find((name) => {
    const topic = topics[name] as RegExp
    return topic.test(older) && topic.test(newer)
  })
  const before = wordsIn(older, subject)
  const after = wordsIn(newer, subject)
  const shared = [...after].filter((word) => before.has(word)).length
  // "From now on" alone says when it begins; "instead" says that something ends.
  const isExplicit = change.test(newer.replace(standing, ' '))
  if (subject !== undefined) {
    const isNoNarrower = shared === after.size
    if (!isExplicit) return isNoNarrower && before.size === after.size
    return isNoNarrower || (shared > 0 && after.size - shared <= 1)
  }
  if (!isExplicit) return false
  // The same words but one: what was there before is replaced.
  if (before.size === after.size && before.size > 1 && shared === before.size - 1) return true
  return shared >= Math.min(2, before.size) && shared >= Math.min(before.size, after.size) * 0.6
}

/** The words of a text that name its subject, cut to their stems; pairs of signs where words are not separated. */
function wordsIn(text: string, topic: string | undefined): ReadonlySet<string> {
  const words = new Set<string>()
  const cues = [standing, change].reduce((rest, cue) => rest.replace(cue, ' '), text)
  const pattern = topic === undefined ? undefined : topics[topic]
  for (const [word] of cues.toLowerCase().matchAll(/[\p{L}\p{N}]+/gu)) {
    if (common.test(word) || pattern?.test(word) === true) continue
    if (/[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]/.test(word)) {
      if (topic !== undefined) continue
      for (let at = 0; at + 1 < word.length; at++) words.add(word.slice(at, at + 2))
    } else words.add(word.slice(0, 5))
  }
  return words
}
