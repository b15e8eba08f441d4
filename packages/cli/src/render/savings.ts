// What policies would save, and one policy in detail.

import type { InspectReport } from '../inspect/report.ts'
import type { ChangeKind, Saving } from '../inspect/savings.ts'
import type { Summary } from '../inspect/summary.ts'
import { bar, heading, number, type Paper, percent, plural, table } from './layout.ts'

const barWidth = 30

export function renderSavings({ summary, trialCount }: InspectReport, paper: Paper): string[] {
  const { colors, width } = paper
  const savings = summary.savings.slice(0, trialCount).filter(isWorthARow)
  const before = summary.savings[0]?.tokensBefore ?? 0
  if (before === 0) return []
  const rows = savings.map((saving) => {
    const share = savedShare(saving)
    return [
      saving.name,
      number(saving.tokensAfter),
      { text: share === 0 ? 'the same' : `-${percent(share)}`, style: colors.dim },
      { text: bar(share, barWidth), style: colors.green },
      { text: failureText(saving, summary), style: colors.yellow },
    ]
  })
  const right = { align: 'right' } as const
  return [
    ...heading(paper, 'What a policy would save', `tokens of the next request${eachText(summary)}`),
    ...table(
      [{}, right, right, {}, { takesRest: true }],
      [['no policy', number(before)], ...rows],
      width,
    ),
  ]
}

/** The policy that was asked for. */
export function renderPolicy({ summary, trialCount }: InspectReport, paper: Paper): string[] {
  const saving = summary.savings[trialCount]
  if (saving === undefined) return []
  const { colors, top, width } = paper
  const share = savedShare(saving)
  const title = (texts: readonly string[]): { text: string; style: typeof colors.dim }[] =>
    texts.map((text) => ({ text, style: colors.dim }))
  const row = ({ rule, what, count, savedTokens }: ChangeKind): string[] => [
    rule,
    what,
    number(count),
    number(savedTokens),
  ]
  const right = { align: 'right' } as const
  const columns = [{}, { takesRest: true }, right, right]
  const failure = failureText(saving, summary)
  const change = share === 0 ? 'the same' : `-${percent(share)}`
  return [
    ...heading(paper, `Policy ${saving.name}`),
    `  ${number(saving.tokensBefore)} to ${number(saving.tokensAfter)} tokens, ${colors.green(change)}`,
    ...(failure === '' ? [] : [`  ${colors.yellow(failure)}`]),
    ...(saving.forms.length === 0
      ? [colors.dim('  it changes nothing here')]
      : table(
          columns,
          [title(['rule', 'form', 'blocks', 'tokens saved']), ...saving.forms.map(row)],
          width,
        )),
    ...(saving.reasons.length === 0
      ? []
      : table(
          columns,
          [
            title(['rule', 'reason', 'blocks', 'tokens saved']),
            ...saving.reasons.slice(0, top).map(row),
          ],
          width,
        )),
  ]
}

/** Budgets in which everything fits anyway say nothing. */
function isWorthARow({ policy, changedConversations, cannotProject }: Saving): boolean {
  return policy !== undefined || changedConversations > 0 || cannotProject > 0
}

function savedShare({ tokensBefore, tokensAfter }: Saving): number {
  return tokensBefore === 0 ? 0 : Math.max(0, 1 - tokensAfter / tokensBefore)
}

function failureText({ cannotProject, needed }: Saving, { conversations }: Summary): string {
  if (cannotProject === 0) return ''
  const needs = needed === undefined ? '' : `, needs ${number(needed)}`
  if (conversations.length === 1) return `cannot fit${needs}`
  return `${plural(cannotProject, 'conversation')} cannot fit${needs}`
}

function eachText({ conversations }: Summary): string {
  return conversations.length === 1 ? '' : ', all conversations together'
}
