// Summary of all conversations, accumulated one at a time, so that a file may be larger than
// memory.

import type { FormatName } from 'oriel'
import type { Detection } from '../transcript/detect.ts'
import { byTokens, type Part, parts, type ToolUse } from './anatomy.ts'
import type { ConversationReport } from './report.ts'
import { type Saving, SavingSum, type Trial } from './savings.ts'
import { type Break, compareIds, type RepairKind } from './structure.ts'

/** One conversation in a line. */
export interface ConversationLine {
  readonly number: number
  readonly file: string
  readonly id?: string
  readonly format: FormatName
  readonly messages: number
  readonly turns: number
  readonly steps: number
  readonly tokens: number
  readonly violations: number
}

export interface FormatSeen {
  readonly format: FormatName
  readonly conversations: number
  /** Conversations by certainty of the format. */
  readonly certainty: Readonly<Partial<Record<Detection['certainty'], number>>>
  /** Evidence for the format, from the first conversation that had some. */
  readonly evidence: readonly string[]
}

/** All violations of one rule, in all conversations. */
export interface BreakEverywhere extends Break {
  readonly conversations: number
  /** The conversation of the first one. */
  readonly conversation: number
}

export interface Summary {
  readonly conversations: readonly ConversationLine[]
  readonly formats: readonly FormatSeen[]
  readonly messages: number
  readonly turns: number
  readonly steps: number
  readonly tokens: number
  readonly sentTokens: number
  readonly parts: Readonly<Record<Part, number>>
  readonly tools: readonly ToolUse[]
  readonly repeats: { readonly copies: number; readonly wastedTokens: number }
  readonly breaks: readonly BreakEverywhere[]
  readonly repairs: readonly RepairKind[]
  /** Violations left after Oriel's repairs. */
  readonly left: number
  /** Conversations without any valid request. */
  readonly hopeless: number
  readonly savings: readonly Saving[]
}

/** Accumulates reports. */
export class SummarySum {
  readonly #lines: ConversationLine[] = []
  readonly #formats = new Map<FormatName, FormatSeen>()
  readonly #parts = Object.fromEntries(parts.map((part) => [part, 0])) as Record<Part, number>
  readonly #tools = new Map<string, ToolUse>()
  readonly #breaks = new Map<string, BreakEverywhere>()
  readonly #repairs = new Map<string, RepairKind>()
  readonly #savings: readonly SavingSum[]
  #sentTokens = 0
  #copies = 0
  #wastedTokens = 0
  #left = 0
  #hopeless = 0

  constructor(trials: readonly Trial[]) {
    this.#savings = trials.map((trial) => new SavingSum(trial))
  }

  add(report: ConversationReport): void {
    const { anatomy, structure, conversation, unchangedTokens, outcomes } = report
    const { number, file, id, detection } = conversation
    const { messages, turns, steps, tokens } = anatomy
    const violations = structure.breaks.reduce((sum, { count }) => sum + count, 0)
    const { format } = detection
    const named = id === undefined ? {} : { id }
    this.#lines.push({ number, file, ...named, format, messages, turns, steps, tokens, violations })
    this.#addFormat(detection)
    for (const part of parts) this.#parts[part] += anatomy.parts[part]
    for (const use of anatomy.tools) this.#addTool(use)
    for (const { times, wastedTokens } of anatomy.repeats) {
      this.#copies += times - 1
      this.#wastedTokens += wastedTokens
    }
    this.#sentTokens += anatomy.sentTokens
    for (const one of structure.breaks) this.#addBreak(one, number)
    for (const one of structure.repairs) this.#addRepair(one)
    if (unchangedTokens === undefined) this.#hopeless += 1
    else {
      this.#left += structure.left
      this.#savings.forEach((saving, index) => {
        const outcome = outcomes[index]
        if (outcome !== undefined) saving.add(unchangedTokens, outcome)
      })
    }
  }

  summary(): Summary {
    const total = (field: 'messages' | 'turns' | 'steps' | 'tokens'): number =>
      this.#lines.reduce((sum, line) => sum + line[field], 0)
    return {
      conversations: this.#lines,
      formats: [...this.#formats.values()].sort((a, b) => b.conversations - a.conversations),
      messages: total('messages'),
      turns: total('turns'),
      steps: total('steps'),
      tokens: total('tokens'),
      sentTokens: this.#sentTokens,
      parts: this.#parts,
      tools: [...this.#tools.values()].sort(byTokens),
      repeats: { copies: this.#copies, wastedTokens: this.#wastedTokens },
      breaks: [...this.#breaks.values()].sort(byCount),
      repairs: [...this.#repairs.values()].sort(byCount),
      left: this.#left,
      hopeless: this.#hopeless,
      savings: this.#savings.map((saving) => saving.saving()),
    }
  }

  #addFormat({ format, certainty, evidence }: Detection): void {
    const known = this.#formats.get(format)
    this.#formats.set(format, {
      format,
      conversations: (known?.conversations ?? 0) + 1,
      certainty: { ...known?.certainty, [certainty]: (known?.certainty[certainty] ?? 0) + 1 },
      evidence: known === undefined || known.evidence.length === 0 ? evidence : known.evidence,
    })
  }

  #addTool(use: ToolUse): void {
    const known = this.#tools.get(use.tool)
    if (known === undefined) this.#tools.set(use.tool, use)
    else {
      this.#tools.set(use.tool, {
        tool: use.tool,
        calls: known.calls + use.calls,
        results: known.results + use.results,
        failed: known.failed + use.failed,
        callTokens: known.callTokens + use.callTokens,
        resultTokens: known.resultTokens + use.resultTokens,
        largestResult: Math.max(known.largestResult, use.largestResult),
      })
    }
  }

  #addBreak(one: Break, conversation: number): void {
    const known = this.#breaks.get(one.rule)
    this.#breaks.set(
      one.rule,
      known === undefined
        ? { ...one, conversation, conversations: 1 }
        : { ...known, count: known.count + one.count, conversations: known.conversations + 1 },
    )
  }

  #addRepair(one: RepairKind): void {
    const key = `${one.rule}: ${one.what}`
    const count = (this.#repairs.get(key)?.count ?? 0) + one.count
    this.#repairs.set(key, { ...one, count })
  }
}

function byCount(
  a: { readonly count: number; readonly rule: string },
  b: { readonly count: number; readonly rule: string },
): number {
  return b.count - a.count || compareIds(a.rule, b.rule)
}
