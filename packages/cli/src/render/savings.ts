// Savings section: all policies, and one policy in detail.

import type { InspectReport } from '../inspect/report.ts'
import type { ChangeKind, Saving } from '../inspect/savings.ts'
import type { Summary } from '../inspect/summary.ts'
import { bar, type Cell, heading, number, type Paper, percent, table } from './layout.ts'
import { fit } from './text.ts'

const barWidth = 30

export function renderSavings(
  { summary, trialCount, costs }: InspectReport,
  paper: Paper,
): string[] {
  const { colors, width } = paper
  const savings = summary.savings.slice(0, trialCount)
  const before = savings[0]?.tokensBefore ?? 0
  if (before === 0) return []
  const rows = shownRows(savings, summary).map((saving) => {
    const share = savedShare(saving)
    return [
      saving.name,
      fitsNowhere(saving, summary) ? '' : number(saving.tokensAfter),
      { text: share === 0 ? '' : `-${percent(share)}`, style: colors.dim },
      costCell(costs.get(saving.name), colors),
      { text: bar(share, barWidth), style: colors.green },
      { text: failureText(saving, summary), style: colors.yellow },
    ]
  })
  // Budgets larger than the conversation are not listed as having no effect.
  const idle = savings.filter((saving) => saving.policy !== undefined && !hasEffect(saving))
  const remark = `no effect here: ${idle.map(({ name }) => name).join('; ')}`
  const right = { align: 'right' } as const
  return [
    ...heading(paper, 'What a policy would save', `tokens of the next request${eachText(summary)}`),
    ...table(
      [{}, right, right, right, {}, { takesRest: true }],
      [['no policy', number(before)], ...rows],
      width,
    ),
    ...(idle.length === 0 ? [] : [colors.dim(`  ${fit(remark, width - 2)}`)]),
    ...(costs.size === 0 ? [] : [colors.dim(`  ${fit(costRemark, width - 2)}`)]),
  ]
}

const costRemark =
  'cost: input of the whole run with a prompt cache, as in oriel simulate; none = 1.00'

/** Fewer tokens may cost more: a changed prefix is written to the cache again. */
function costCell(cost: number | undefined, colors: Paper['colors']): Cell | string {
  if (cost === undefined) return ''
  return { text: `cost ${cost.toFixed(2)}`, style: cost > 1.005 ? colors.yellow : colors.dim }
}

/** The requested policy: its changes by form and reason. */
export function renderPolicy({ summary, trialCount }: InspectReport, paper: Paper): string[] {
  const saving = summary.savings[trialCount]
  if (saving === undefined) return []
  const { colors, top } = paper
  const title = heading(paper, `Policy ${saving.name}`)
  const failure = failureText(saving, summary)
  const remark = failure === '' ? [] : [`  ${colors.yellow(failure)}`]
  if (fitsNowhere(saving, summary)) return [...title, ...remark]
  const share = savedShare(saving)
  const change = share === 0 ? 'the same' : colors.green(`-${percent(share)}`)
  const sizes = `${number(saving.tokensBefore)} to ${number(saving.tokensAfter)} tokens`
  const head = [...title, `  ${sizes}, ${change}`, ...remark]
  if (saving.forms.length === 0) return [...head, colors.dim('  it changes nothing here')]
  return [
    ...head,
    '',
    ...renderChanges('form', saving.forms, paper),
    '',
    ...renderChanges('reason', saving.reasons.slice(0, top), paper),
  ]
}

function renderChanges(
  title: 'form' | 'reason',
  kinds: readonly ChangeKind[],
  { colors, width }: Paper,
): string[] {
  const titles = ['rule', title, 'blocks', 'tokens saved']
  const rows = kinds.map(({ rule, what, count, savedTokens }) => [
    rule,
    what,
    number(count),
    number(savedTokens),
  ])
  const right = { align: 'right' } as const
  return table(
    [{}, { takesRest: true }, right, right],
    [titles.map((text) => ({ text, style: colors.dim })), ...rows],
    width,
  )
}

/** Policies with an effect; of the budgets in which nothing fits, only the largest. */
function shownRows(savings: readonly Saving[], summary: Summary): readonly Saving[] {
  const effective = savings.filter(hasEffect)
  const hopeless = effective.filter((saving) => fitsNowhere(saving, summary))
  return effective.filter((saving) => !hopeless.includes(saving) || saving === hopeless[0])
}

function hasEffect({ changedConversations, cannotProject }: Saving): boolean {
  return changedConversations > 0 || cannotProject > 0
}

function fitsNowhere({ cannotProject }: Saving, { conversations, hopeless }: Summary): boolean {
  return cannotProject > 0 && cannotProject === conversations.length - hopeless
}

function savedShare({ tokensBefore, tokensAfter }: Saving): number {
  return tokensBefore === 0 ? 0 : Math.max(0, 1 - tokensAfter / tokensBefore)
}

function failureText({ cannotProject, needed }: Saving, { conversations }: Summary): string {
  if (cannotProject === 0) return ''
  const needs = needed === undefined ? '' : `, needs ${number(needed)}`
  const which = conversations.length === 1 ? '' : `${number(cannotProject)} of them `
  return `${which}cannot fit${needs}`
}

function eachText({ conversations }: Summary): string {
  return conversations.length === 1 ? '' : ', all conversations together'
}
