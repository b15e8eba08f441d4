// Tool result section: the largest, and duplicates.

import type { Anatomy } from '../inspect/anatomy.ts'
import type { Summary } from '../inspect/summary.ts'
import { heading, number, type Paper, percent, plural, table } from './layout.ts'
import { firstLine } from './text.ts'

/** Maximum indexes listed per duplicate. */
const namedIndexes = 4
/** Maximum width of tool names, because the last column needs the space. */
const toolWidth = 24

export function renderLargestResults({ results, tokens }: Anatomy, paper: Paper): string[] {
  if (results.length === 0) return []
  const { colors, top, width, showContent } = paper
  const rows = results
    .slice(0, top)
    .map((result) => [
      { text: `message ${result.index}`, style: colors.dim },
      result.tool,
      number(result.tokens),
      { text: percent(result.tokens / Math.max(1, tokens)), style: colors.dim },
      { text: showContent ? firstLine(result.text) : '', style: colors.dim },
    ])
  const columns = [
    {},
    { maxWidth: toolWidth },
    { align: 'right' },
    { align: 'right' },
    { takesRest: true },
  ] as const
  return [...heading(paper, 'Largest results'), ...table(columns, rows, width)]
}

/** One line about all conversations, if there are several. */
export function renderAllRepeats({ repeats, tokens }: Summary, paper: Paper): string[] {
  if (repeats.copies === 0) return []
  const share = percent(repeats.wastedTokens / Math.max(1, tokens))
  const cost = `older copies cost ${number(repeats.wastedTokens)} tokens, ${share} of all`
  return [
    ...heading(paper, 'Repeated results', cost),
    `  ${plural(repeats.copies, 'result')} said again, later in the same conversation`,
  ]
}

export function renderRepeats({ repeats, tokens }: Anatomy, paper: Paper): string[] {
  if (repeats.length === 0) return []
  const { colors, top, width } = paper
  const wasted = repeats.reduce((sum, repeat) => sum + repeat.wastedTokens, 0)
  const share = percent(wasted / Math.max(1, tokens))
  const rows = repeats
    .slice(0, top)
    .map((repeat) => [
      `${number(repeat.times)}x`,
      { text: repeat.isIdentical ? 'identical' : 'nearly identical', style: colors.dim },
      repeat.tool,
      { text: number(repeat.wastedTokens), style: colors.yellow },
      { text: `messages ${indexesText(repeat.indexes)}`, style: colors.dim },
    ])
  const columns = [
    { align: 'right' },
    {},
    { maxWidth: toolWidth },
    { align: 'right' },
    { takesRest: true },
  ] as const
  const rest = repeats.length - top
  return [
    ...heading(
      paper,
      'Repeated results',
      `older copies cost ${number(wasted)} tokens, ${share} of all`,
    ),
    ...table(columns, rows, width),
    ...(rest > 0 ? [colors.dim(`  and ${number(rest)} more`)] : []),
  ]
}

function indexesText(indexes: readonly number[]): string {
  const named = indexes.slice(0, namedIndexes).join(', ')
  return indexes.length > namedIndexes ? `${named} ...` : named
}
