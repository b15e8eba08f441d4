// What the agent did, for the notes of a checkpoint: each action by the argument that names it, with its outcome; older and minor ones are counted.

import { type Block, type ToolCallBlock, textOf } from '../log/block.ts'
import type { MessageEntry } from '../log/entry.ts'
import { isObject, type Json, type JsonObject } from '../log/json.ts'
import { isCall } from '../state/exchange.ts'
import type { Counter } from '../tokens/counter.ts'
import { oneLine, shorten } from './clip.ts'
import { commandIn, type IsWithdrawn, isChanging, rowsOf, seqIn, targetOf } from './digest.ts'
import { outcomeOf } from './outcome.ts'

/** What an action is to the work: kinds that matter more are listed first where there is little room. */
const kinds = ['change', 'run', 'look'] as const
type Kind = (typeof kinds)[number]

interface Action {
  readonly kind: Kind
  /** Tool and target, or the command. */
  readonly label: string
  /** What it is counted as: the tool, or the command's program. */
  readonly name: string
  readonly count: number
  /** The newest call. */
  readonly seq: number
  /** In a few words; empty where no result is known. */
  readonly outcome: string
  readonly hasFailed: boolean
  /** The message that the outcome is from. */
  readonly outcomeSeq: number
}

interface Tally {
  readonly count: number
  readonly failed: number
  readonly seq: number
}

/** Actions that are remembered one by one, and names that are counted. */
const maxActions = 80
const maxNames = 40
/** Names in the line of counts, and the tokens that are set aside for it. */
const shownNames = 8
const countsTokens = 40
const labelLength = 72
/** Actions whose last run failed that are named as open. */
const maxFailing = 3

/** Programs of a shell that only look. */
const looking =
  /^(?:awk|cat|cut|df|diff|du|echo|env|fd|file|find|grep|head|jq|less|ls|nl|pwd|rg|sort|stat|tail|tree|uniq|wc|which)$/
const lookingAtGit = /^git (?:-\S+ )*(?:blame|branch$|diff|grep|log|ls-files|rev-parse|show|status)/
/** Commands that change files or the machine, whatever program they start with. */
const changingCommand =
  /(?:^|[;&|]\s*)(?:apt|brew|chmod|cp|git (?:add|apply|checkout|cherry-pick|clone|commit|merge|mv|pull|push|rebase|reset|restore|revert|rm|stash|switch|tag)|ln|mkdir|mv|patch|pip3? install|(?:npm|pnpm|yarn) (?:add|ci|i|install|remove)|rm|tee|touch)\b|\bsed -i|(?<![\d&-])>>?\s*(?!\/dev\/null)[\w./~-]/

/** Collects what leaves the view, message by message. The text stays within its budget whatever their number. */
export class Actions {
  readonly #actions = new Map<string, Action>()
  readonly #tallies = new Map<string, Tally>()
  readonly #waiting = new Map<string, string>()

  /** Restores `data`, without content from withdrawn messages. */
  constructor(data?: Json, isWithdrawn: IsWithdrawn = () => false) {
    if (!isObject(data)) return
    for (const row of rowsOf(data.rows)) {
      const action = actionIn(row, isWithdrawn)
      if (action !== undefined) this.#actions.set(action.label, action)
    }
    for (const [name, count, failed, at] of rowsOf(data.tallies)) {
      const seq = seqIn(at)
      if (isWithdrawn(seq)) continue
      this.#tallies.set(String(name), { count: seqIn(count), failed: seqIn(failed), seq })
    }
  }

  /** Adds a message, as a model may read it. Calls come before their results. */
  add(entry: MessageEntry): void {
    for (const block of entry.blocks) {
      if (isCall(block)) this.#call(block, entry.seq)
      else if (block.type === 'tool-result') this.#result(block, entry.seq)
    }
  }

  #call(block: ToolCallBlock, seq: number): void {
    const { kind, label, name } = described(block)
    const before = this.#actions.get(label)
    // The newest comes last.
    this.#actions.delete(label)
    const outcome = { outcome: '', hasFailed: false, outcomeSeq: 0 }
    this.#actions.set(label, {
      kind,
      label,
      name,
      seq,
      count: (before?.count ?? 0) + 1,
      ...outcome,
    })
    this.#waiting.set(block.callId, label)
  }

  #result(block: Extract<Block, { type: 'tool-result' }>, seq: number): void {
    const label = this.#waiting.get(block.callId)
    const action = label === undefined ? undefined : this.#actions.get(label)
    this.#waiting.delete(block.callId)
    if (action === undefined) return
    const isLook = action.kind === 'look'
    const { text, hasFailed } = outcomeOf(textOf(block.content), {
      isError: block.isError === true,
      isLook,
    })
    this.#actions.set(action.label, { ...action, outcome: text, hasFailed, outcomeSeq: seq })
  }

  /** The list within `tokens`, and the input of the next one. Changes and runs first, then the newest; what is not listed is counted. */
  compose({ counter, tokens }: { readonly counter: Counter; readonly tokens: number }): {
    readonly text: string
    readonly data: JsonObject | undefined
  } {
    this.#forget()
    const shown = new Set<string>()
    let left = tokens - countsTokens
    for (const action of this.#ranked()) {
      left -= counter.count(lineOf(action)) + 1
      if (left < 0) break
      shown.add(action.label)
    }
    const rows = [...this.#actions.values()].map((action) => rowOf(action, shown.has(action.label)))
    const tallies = [...this.#tallies].map(
      ([name, { count, failed, seq }]): Json => [name, count, failed, seq],
    )
    const data = rows.length === 0 && tallies.length === 0 ? undefined : { rows, tallies }
    return { text: tokens < countsTokens ? '' : this.#text((label) => shown.has(label)), data }
  }

  /** The text of restored data: the same actions are listed. */
  static textWithout(data: Json | undefined, isWithdrawn: IsWithdrawn): string {
    if (!isObject(data)) return ''
    const shown = new Set(
      rowsOf(data.rows).flatMap((row) => (row[8] === true ? [String(row[1])] : [])),
    )
    return new Actions(data, isWithdrawn).#text((label) => shown.has(label))
  }

  /** What failed when it was last run, oldest first. */
  failing(): readonly string[] {
    return [...this.#actions.values()]
      .filter(({ kind, hasFailed }) => kind === 'run' && hasFailed)
      .slice(-maxFailing)
      .map(({ label }) => label)
  }

  #text(isShown: (label: string) => boolean): string {
    const lines: string[] = []
    const others = new Map(this.#tallies)
    for (const action of this.#actions.values()) {
      if (isShown(action.label)) lines.push(lineOf(action))
      else count(others, action)
    }
    const counts = countsLine(others, lines.length > 0)
    return [...lines, ...(counts === '' ? [] : [counts])].join('\n')
  }

  #ranked(): readonly Action[] {
    return [...this.#actions.values()]
      .reverse()
      .sort((a, b) => kinds.indexOf(a.kind) - kinds.indexOf(b.kind))
  }

  /** Keeps the data small: beyond the limit the least of them are only counted. */
  #forget(): void {
    for (const action of this.#ranked().slice(maxActions)) {
      this.#actions.delete(action.label)
      if (this.#tallies.has(action.name) || this.#tallies.size < maxNames)
        count(this.#tallies, action)
    }
  }
}

function described({
  name,
  arguments: text,
}: ToolCallBlock): Pick<Action, 'kind' | 'label' | 'name'> {
  const tool = shorten(oneLine(name), 40)
  const command = commandIn(text)
  if (command === undefined) {
    const target = targetOf(text, labelLength)
    const kind = isChanging(name) ? 'change' : 'look'
    return { kind, name: tool, label: target === '' ? tool : `${tool} ${target}` }
  }
  const label = targetOf(text, labelLength)
  const program = label.split(' ', 1)[0] ?? tool
  return { kind: kindOf(command, label), label, name: program === '' ? tool : program }
}

function kindOf(command: string, label: string): Kind {
  if (changingCommand.test(command.split('\n', 1)[0] ?? '')) return 'change'
  const program = label.split(' ', 1)[0] ?? ''
  return looking.test(program) || lookingAtGit.test(label) || /^sed -n/.test(label) ? 'look' : 'run'
}

function lineOf({ label, count, outcome }: Action): string {
  const times = count > 1 ? ` x${count}` : ''
  return `- ${label}${times}${outcome === '' ? '' : `: ${outcome}`}`
}

function countsLine(others: ReadonlyMap<string, Tally>, isBesides: boolean): string {
  const ranked = [...others].sort(([, a], [, b]) => b.count - a.count || b.seq - a.seq)
  const named = ranked.slice(0, shownNames).map(([name, { count, failed }]) => {
    return `${name} x${count}${failed > 0 ? ` (${failed} failed)` : ''}`
  })
  const rest = ranked.slice(shownNames).reduce((sum, [, { count }]) => sum + count, 0)
  if (rest > 0) named.push(`${rest} more`)
  return named.length === 0 ? '' : `${isBesides ? 'Besides: ' : ''}${named.join(', ')}`
}

function count(tallies: Map<string, Tally>, { name, count, hasFailed, seq }: Action): void {
  const known = tallies.get(name) ?? { count: 0, failed: 0, seq: 0 }
  tallies.set(name, {
    count: known.count + count,
    failed: known.failed + (hasFailed ? 1 : 0),
    seq: Math.max(known.seq, seq),
  })
}

function rowOf(action: Action, isShown: boolean): Json[] {
  const { kind, label, name, count, seq, outcome, hasFailed, outcomeSeq } = action
  return [kind, label, name, count, seq, outcome, hasFailed, outcomeSeq, isShown]
}

function actionIn(row: readonly unknown[], isWithdrawn: IsWithdrawn): Action | undefined {
  const [kind, label, name, count, at, outcome, hasFailed, from] = row
  const seq = seqIn(at)
  const known = kinds.find((one) => one === kind)
  if (known === undefined || typeof label !== 'string' || isWithdrawn(seq)) return undefined
  const outcomeSeq = seqIn(from)
  const isKnown = outcomeSeq > 0 && !isWithdrawn(outcomeSeq)
  return {
    kind: known,
    label,
    name: String(name),
    count: seqIn(count),
    seq,
    outcome: isKnown ? String(outcome) : '',
    hasFailed: isKnown && hasFailed === true,
    outcomeSeq: isKnown ? outcomeSeq : 0,
  }
}
