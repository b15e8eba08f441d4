// Structure section: violations of the provider's rules, and repairs.

import type { RepairKind } from '../inspect/structure.ts'
import type { BreakEverywhere, Summary } from '../inspect/summary.ts'
import { heading, number, type Paper, plural } from './layout.ts'
import { clean, fit, pad, wrap } from './text.ts'

const margin = ' '.repeat(8)
/** Maximum lines of the provider's message. */
const messageLines = 2

export function renderStructure(summary: Summary, paper: Paper): string[] {
  const { colors } = paper
  const { breaks, repairs } = summary
  if (breaks.length === 0) {
    const formats = summary.formats.map(({ format }) => format).join(', ')
    return [
      ...heading(paper, 'Structure'),
      `  ${colors.green('sound')}  no rule of ${formats} is broken`,
      ...unrelated(repairs, paper),
    ]
  }
  const total = breaks.reduce((sum, one) => sum + one.count, 0)
  const known = new Set(breaks.map(({ rule }) => rule))
  const others = repairs.filter(({ rule }) => !known.has(rule))
  return [
    ...heading(paper, 'Broken structure', `${plural(total, 'violation')}; ${verdict(summary)}`),
    ...breaks.flatMap((one) => renderBreak(one, { summary, paper })),
    ...unrelated(others, paper),
  ]
}

function renderBreak(
  one: BreakEverywhere,
  { summary, paper }: { summary: Summary; paper: Paper },
): string[] {
  const { colors, width } = paper
  const isOnly = summary.conversations.length === 1
  const where = isOnly
    ? `first at ${one.path}`
    : `in ${plural(one.conversations, 'conversation')}, first in #${number(one.conversation)} at ${one.path}`
  const title = `  ${pad(one.rule, 4, 'left')}  ${number(one.count)}x  `
  const lines = wrap(clean(one.message), width - margin.length, messageLines)
  const own = summary.repairs.filter(({ rule }) => rule === one.rule)
  return [
    colors.red(title) + fit(clean(where), width - title.length),
    ...lines.map((line) => colors.dim(margin + line)),
    ...own.flatMap((repair) => renderRepair(repair, paper)),
  ]
}

function renderRepair({ what, count }: RepairKind, { colors, width }: Paper): string[] {
  const text = `${clean(what)} (${plural(count, 'block')})`
  return [margin + colors.green('repair  ') + fit(text, width - margin.length - 8)]
}

/** Repairs for a rule other than the violations shown. */
function unrelated(repairs: readonly RepairKind[], { colors, width }: Paper): string[] {
  return repairs.map(({ rule, what, count }) => {
    const text = `${clean(what)} (${plural(count, 'block')})`
    return `  ${pad(rule, 4, 'left')}  ${colors.green('repair  ')}${fit(text, width - margin.length - 8)}`
  })
}

function verdict({ left, hopeless, conversations }: Summary): string {
  if (conversations.length === 1 && hopeless === 1) return 'no valid request can be made of it'
  const lost = hopeless === 0 ? '' : `, ${number(hopeless)} of them beyond repair`
  if (left > 0) return `${number(left)} would be left after the repairs of Oriel${lost}`
  return hopeless === 0 ? 'Oriel repairs all of them' : `Oriel repairs the rest${lost}`
}
