// Text report of `oriel inspect`. Pure: the same report and paper give the same text.

import type { InspectReport } from '../inspect/report.ts'
import { heading, number, type Paper } from './layout.ts'
import { renderConversations, renderHead } from './overview.ts'
import { renderAllRepeats, renderLargestResults, renderRepeats } from './results.ts'
import { renderPolicy, renderSavings } from './savings.ts'
import { renderStructure } from './structure.ts'
import { renderParts, renderTools, renderTurns } from './tokens.ts'

export function renderReport(report: InspectReport, paper: Paper): string {
  const { summary, detail } = report
  const inside = [
    ...renderTurns(detail.anatomy, paper),
    ...renderLargestResults(detail.anatomy, paper),
    ...renderRepeats(detail.anatomy, paper),
  ]
  const isOnly = summary.conversations.length === 1
  const lines = [
    ...renderHead(report, paper),
    ...renderParts(summary, paper),
    ...renderTools(summary, paper),
    ...(isOnly
      ? inside
      : [...renderConversations(report, paper), ...renderAllRepeats(summary, paper)]),
    ...renderStructure(summary, paper),
    ...renderSavings(report, paper),
    ...renderPolicy(report, paper),
    ...(isOnly ? [] : [...detailHeading(report, paper), ...inside]),
    ...renderHint(report, paper),
  ]
  return `${lines.join('\n')}\n`
}

function detailHeading({ detail, summary }: InspectReport, paper: Paper): string[] {
  const { conversation, anatomy } = detail
  const title = `The largest: #${number(conversation.number)}`
  const tokens = `${number(anatomy.tokens)} of ${number(summary.tokens)} tokens`
  const remark = conversation.id === undefined ? tokens : `${tokens}, ${conversation.id}`
  return ['', paper.colors.dim('─'.repeat(paper.width)), ...heading(paper, title, remark).slice(1)]
}

function renderHint({ isSample }: InspectReport, { colors }: Paper): string[] {
  if (!isSample) return []
  return ['', `${colors.dim('Your own conversations:')} oriel inspect <file.json or .jsonl>`]
}
