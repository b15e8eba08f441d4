// JSON report of `oriel inspect`. docs/guides/inspect.md documents the shape; `version` is
// incremented when a field changes its meaning.

import { renderJson } from '../render/json.ts'
import { firstLine } from '../render/text.ts'
import { parts } from './anatomy.ts'
import type { InspectReport } from './report.ts'
import type { Saving } from './savings.ts'

/** Version of the shape. */
const version = 1

export interface JsonOptions {
  /** Rows in the lists of largest and repeated results. */
  readonly top: number
  readonly showContent: boolean
}

/** One JSON object and a line break. Characters that could control a terminal are escaped. */
export function toJson(report: InspectReport, options: JsonOptions): string {
  const { files, isSample, notes, counter, summary, trialCount, costs } = report
  const { conversations, formats, messages, turns, steps, tokens, sentTokens } = summary
  const chosen = summary.savings[trialCount]
  const value = {
    version,
    files,
    isSample,
    notes,
    counter: counter.name,
    formats,
    totals: { conversations: conversations.length, messages, turns, steps, tokens, sentTokens },
    parts: parts.map((part) => ({ part, tokens: summary.parts[part] })),
    tools: summary.tools,
    repeats: summary.repeats,
    structure: {
      broken: summary.breaks,
      repairs: summary.repairs,
      leftAfterRepair: summary.left,
      conversationsBeyondRepair: summary.hopeless,
    },
    savings: summary.savings
      .slice(0, trialCount)
      .map((saving) => savingOf(saving, costs.get(saving.name))),
    ...(chosen === undefined ? {} : { policy: savingOf(chosen) }),
    conversations,
    largest: largestOf(report, options),
  }
  return renderJson(value)
}

function savingOf(saving: Saving, cost?: number): object {
  const { name, budget, tokensBefore, tokensAfter, forms, reasons } = saving
  return {
    name,
    ...(saving.policy === undefined ? {} : { policy: saving.policy }),
    ...(budget === undefined ? {} : { budget }),
    tokensBefore,
    tokensAfter,
    ...(cost === undefined ? {} : { cost }),
    changedConversations: saving.changedConversations,
    cannotProject: saving.cannotProject,
    ...(saving.needed === undefined ? {} : { needed: saving.needed }),
    forms: forms.map(({ rule, what, count, savedTokens }) => ({
      rule,
      form: what,
      count,
      savedTokens,
    })),
    reasons: reasons.map(({ rule, what, count, savedTokens }) => ({
      rule,
      reason: what,
      count,
      savedTokens,
    })),
  }
}

function largestOf({ detail }: InspectReport, { top, showContent }: JsonOptions): object {
  const { conversation, anatomy } = detail
  return {
    number: conversation.number,
    ...(conversation.id === undefined ? {} : { id: conversation.id }),
    tokens: anatomy.tokens,
    turns: anatomy.turnList,
    contextPerStep: anatomy.growth,
    largestResults: anatomy.results.slice(0, top).map(({ index, turn, tool, tokens, text }) => ({
      index,
      turn,
      tool,
      tokens,
      ...(showContent ? { firstLine: firstLine(text) } : {}),
    })),
    repeatedResults: anatomy.repeats.slice(0, top),
  }
}
