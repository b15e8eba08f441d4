// What was decided and what is open, for the notes of a checkpoint: sentences that say so, word for word, and the newest plan.

import type { MessageEntry } from '../log/entry.ts'
import { isObject, type Json, type JsonObject } from '../log/json.ts'
import { isCall } from '../state/exchange.ts'
import type { Counter } from '../tokens/counter.ts'
import { oneLine, shorten } from './clip.ts'
import { type IsWithdrawn, rowsOf, seqIn } from './digest.ts'

interface Statement {
  readonly text: string
  readonly seq: number
}

const maxDecisions = 12
const maxOpen = 2
const maxPlan = 12
const shortest = 16
const longest = 240
/** Only this much of one text is read. */
const readLength = 20_000

/** Sentences that settle something: causes that were found, choices that were made. */
const decided =
  /\b(?:decid(?:ed|es)|decision(?: is| was|:)|root cause|(?:the|this) (?:actual |real |main )?(?:fix|bug|problem|issue|cause|reason|solution) (?:is|was|lies|comes from)|turns out|let(?:'|’)s (?:go with|use|keep)|(?:we|i)(?:(?:'|’)ll| will) (?:go with|use|keep)|agreed|entschieden|die ursache|das problem (?:ist|liegt)|die lösung ist|décidé|la cause|le problème (?:est|vient)|la solution est|decidid[oa]|decidimos|la causa es|el problema (?:es|está)|la solución es|o problema é|decidiu-se)\b|决定|原因是|问题在于|问题是|解决方案是|原因は|問題は|することにした|решили|причина в|проблема в/iu
/** Sentences that leave something open. */
const open =
  /\b(?:still (?:need|needs|have|has|must|to)|remaining|to-?do\b|not (?:yet|implemented)|left to do|blocked (?:by|on)|follow-?up|noch (?:offen|zu tun|nicht)|reste à|pas encore|todavía|falta|pendiente|ainda)\b|待办|尚未|还需要|まだ|残り|ещё нужно|осталось/iu

/** Collects statements of user and assistant as their messages leave the view. */
export class Statements {
  #decisions: readonly Statement[] = []
  #open: readonly Statement[] = []
  /** What is not done in the newest plan. */
  #plan: readonly Statement[] = []

  /** Restores `data`, without content from withdrawn messages. */
  constructor(data?: Json, isWithdrawn: IsWithdrawn = () => false) {
    if (!isObject(data)) return
    const read = (rows: unknown): readonly Statement[] =>
      rowsOf(rows).flatMap(([text, at]) => {
        const seq = seqIn(at)
        return typeof text === 'string' && !isWithdrawn(seq) ? [{ text, seq }] : []
      })
    this.#decisions = read(data.decisions)
    this.#open = read(data.open)
    this.#plan = read(data.plan)
  }

  /** Adds a message, as a model may read it. */
  add({ role, origin, blocks, seq }: MessageEntry): void {
    const isSaid = role === 'assistant' || (role === 'user' && origin === 'user')
    if (!isSaid) return
    for (const block of blocks) {
      if (isCall(block)) this.#planned(planIn(block.name, block.arguments), seq)
      else if (block.type === 'text') this.#said(block.text.slice(0, readLength), seq)
    }
  }

  #said(text: string, seq: number): void {
    this.#planned(uncheckedIn(text), seq)
    for (const sentence of sentencesOf(text)) {
      if (decided.test(sentence)) {
        this.#decisions = newest([...this.#decisions, { text: sentence, seq }], maxDecisions)
      } else if (open.test(sentence)) {
        this.#open = newest([...this.#open, { text: sentence, seq }], maxOpen)
      }
    }
  }

  #planned(items: readonly string[] | undefined, seq: number): void {
    if (items === undefined) return
    this.#plan = items.slice(0, maxPlan).map((text) => ({ text: shorten(text, longest), seq }))
  }

  /** Both lists within their budgets, the newest that fit, oldest first; and the input of the next ones. */
  compose({ counter, decisions, open: room }: StatementRoom): StatementTexts & {
    readonly data: JsonObject | undefined
  } {
    const next = [...this.#open, ...this.#plan]
    const shown = {
      decisions: fitting(this.#decisions, { counter, tokens: decisions }),
      open: fitting(next, { counter, tokens: room }),
    }
    const rows = (list: readonly Statement[]): Json[] => list.map(({ text, seq }) => [text, seq])
    const data = {
      decisions: rows(this.#decisions),
      open: rows(this.#open),
      plan: rows(this.#plan),
      shown: [shown.decisions.length, shown.open.length],
    }
    const isEmpty = this.#decisions.length + next.length === 0
    return {
      decisions: listOf(shown.decisions),
      open: listOf(shown.open),
      data: isEmpty ? undefined : data,
    }
  }

  /** The texts of stored data without content from withdrawn messages: nothing is listed that was not. */
  static textsWithout(data: Json | undefined, isWithdrawn: IsWithdrawn): StatementTexts {
    const all = new Statements(data)
    const [decisions, next] =
      isObject(data) && Array.isArray(data.shown) ? data.shown.map(seqIn) : []
    const readable = (list: readonly Statement[], shown = 0): string =>
      listOf(list.slice(list.length - shown).filter(({ seq }) => !isWithdrawn(seq)))
    return {
      decisions: readable(all.#decisions, decisions),
      open: readable([...all.#open, ...all.#plan], next),
    }
  }
}

interface StatementTexts {
  readonly decisions: string
  readonly open: string
}

interface StatementRoom {
  readonly counter: Counter
  /** Tokens. */
  readonly decisions: number
  readonly open: number
}

function newest(statements: readonly Statement[], most: number): readonly Statement[] {
  const last = statements.at(-1)
  // Said again, it is newer, not more.
  const others = statements.slice(0, -1).filter(({ text }) => text !== last?.text)
  return last === undefined ? [] : [...others, last].slice(-most)
}

/** The newest that fit, oldest first. */
function fitting(
  statements: readonly Statement[],
  { counter, tokens }: { readonly counter: Counter; readonly tokens: number },
): readonly Statement[] {
  let left = tokens
  let first = statements.length
  while (first > 0) {
    left -= counter.count(lineOf(statements[first - 1] as Statement)) + 1
    if (left < 0) break
    first -= 1
  }
  return statements.slice(first)
}

function listOf(statements: readonly Statement[]): string {
  return statements.map(lineOf).join('\n')
}

function lineOf({ text }: Statement): string {
  return `- ${text}`
}

/** Sentences outside of code, without marks of lists and headings. */
function* sentencesOf(text: string): Generator<string> {
  for (const line of text.replaceAll(/```[\s\S]*?(?:```|$)/g, '\n').split('\n')) {
    const bare = oneLine(line.replace(/^[\s#>*+-]*(?:\d+[.)]\s)?/, '').replaceAll('**', ''))
    for (const sentence of bare.split(/(?<=[.!?。！？])\s*(?=\p{Lu}|[\u3040-\u9fff])/u)) {
      if (sentence.length >= shortest && sentence.length <= longest && !sentence.endsWith(':')) {
        yield sentence
      }
    }
  }
}

/** Items that are not ticked in a list with boxes; undefined where there is no such list. */
function uncheckedIn(text: string): readonly string[] | undefined {
  if (!/^\s*[-*] \[[ xX]\] /m.test(text)) return undefined
  return [...text.matchAll(/^\s*[-*] \[ \] (.+)$/gm)].map(([, item = '']) => oneLine(item))
}

/** Items that are not done in the call of a tool for plans (`todo_write`, `update_plan`); undefined for other calls. */
function planIn(tool: string, text: string): readonly string[] | undefined {
  if (!/todo|plan|task_?list/i.test(tool) || text.length > readLength) return undefined
  const items = itemsIn(text)
  return items?.flatMap((item) => {
    const { status, content, step, title, text: said, description, task } = item
    const what = [content, step, title, said, task, description].find(
      (one) => typeof one === 'string',
    )
    const isDone = /^(?:completed?|done|cancell?ed)$/i.test(String(status))
    return typeof what !== 'string' || what.trim() === '' || isDone ? [] : [oneLine(what)]
  })
}

function itemsIn(text: string): readonly Readonly<Record<string, unknown>>[] | undefined {
  try {
    const input: unknown = JSON.parse(text)
    const list = isObject(input) ? Object.values(input).find(Array.isArray) : undefined
    const items = (list ?? []).filter(isObject)
    return items.some(({ status }) => typeof status === 'string') ? items : undefined
  } catch {
    return undefined
  }
}
