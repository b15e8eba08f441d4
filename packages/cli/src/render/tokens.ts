// Token sections: by part, by tool, by turn.

import { type Anatomy, type Part, parts, type ToolUse, type Turn } from '../inspect/anatomy.ts'
import type { Summary } from '../inspect/summary.ts'
import type { Colors } from '../terminal.ts'
import {
  bar,
  heading,
  number,
  type Paper,
  percent,
  plural,
  type Style,
  sparkline,
  table,
} from './layout.ts'

const barWidth = 40
const shortBarWidth = 20
const sparkWidth = 56

export function renderParts(summary: Summary, paper: Paper): string[] {
  const shown = parts.filter((part) => summary.parts[part] > 0)
  const rows = shown.map((part) => {
    const share = summary.parts[part] / Math.max(1, summary.tokens)
    return [
      part,
      number(summary.parts[part]),
      { text: percent(share), style: paper.colors.dim },
      { text: bar(share, barWidth), style: partStyle(paper.colors, part) },
    ]
  })
  const columns = [{}, { align: 'right' }, { align: 'right' }, {}] as const
  return [...heading(paper, 'Where the tokens go'), ...table(columns, rows, paper.width)]
}

export function renderTools({ tools, tokens }: Summary, paper: Paper): string[] {
  if (tools.length === 0) return []
  const { colors, top, width } = paper
  const hasFailures = tools.some((use) => use.failed > 0)
  const titles = ['tool', 'calls', 'tokens', 'share', '', 'average', 'largest']
  if (hasFailures) titles.push('failed')
  const rows = tools.slice(0, top).map((use) => {
    const share = (use.callTokens + use.resultTokens) / Math.max(1, tokens)
    return [
      use.tool,
      number(use.calls),
      number(use.callTokens + use.resultTokens),
      { text: percent(share), style: colors.dim },
      { text: bar(share, shortBarWidth), style: colors.yellow },
      number(averageResult(use)),
      number(use.largestResult),
      { text: use.failed === 0 ? '' : number(use.failed), style: colors.red },
    ]
  })
  const right = { align: 'right' } as const
  const columns = [{ takesRest: true }, right, right, right, {}, right, right]
  return [
    ...heading(paper, 'Tools', 'calls and results together; average and largest result'),
    ...table(
      hasFailures ? [...columns, right] : columns,
      [titles.map((text) => ({ text, style: colors.dim })), ...rows],
      width,
    ),
    ...moreTools(tools.slice(top), paper),
  ]
}

export function renderTurns(anatomy: Anatomy, paper: Paper): string[] {
  const { colors, top, width } = paper
  const { turnList, growth, tokens, steps } = anatomy
  if (steps === 0) return []
  const added = growth.map((size, step) => (growth[step + 1] ?? tokens) - size)
  const largestStep = added.indexOf(Math.max(...added))
  const first = growth[0] ?? 0
  const lines = table(
    [{}, {}, {}],
    [
      [
        { text: 'context', style: colors.dim },
        { text: sparkline([...growth, tokens], sparkWidth), style: colors.blue },
        `${number(first)} to ${number(tokens)}`,
      ],
      [
        { text: 'added', style: colors.dim },
        { text: sparkline(added, sparkWidth), style: colors.blue },
        `most at step ${number(largestStep + 1)}: ${number(added[largestStep] ?? 0)}`,
      ],
    ],
    width,
  )
  const largest = turnList.toSorted((a, b) => b.tokens - a.tokens || a.turn - b.turn)
  const rows = largest.slice(0, top).map((turn) => {
    const share = turn.tokens / Math.max(1, tokens)
    return [
      turn.turn === 0 ? 'before the first turn' : `turn ${number(turn.turn)}`,
      number(turn.tokens),
      { text: percent(share), style: colors.dim },
      { text: bar(share, shortBarWidth), style: colors.blue },
      plural(turn.steps, 'step'),
      { text: messagesText(turn), style: colors.dim },
    ]
  })
  const right = { align: 'right' } as const
  return [
    ...heading(
      paper,
      'Turns',
      `${plural(steps, 'step')} in ${plural(anatomy.turns, 'turn')}; the context of each step, and what was added behind it`,
    ),
    ...lines,
    ...(anatomy.turns > 1 ? table([{}, right, right, {}, right, {}], rows, width) : []),
  ]
}

function messagesText({ from, to }: Turn): string {
  return from === to ? `message ${from}` : `messages ${from} to ${to}`
}

function averageResult({ results, resultTokens }: ToolUse): number {
  return results === 0 ? 0 : Math.round(resultTokens / results)
}

function moreTools(rest: readonly ToolUse[], { colors }: Paper): string[] {
  if (rest.length === 0) return []
  const tokens = rest.reduce((sum, use) => sum + use.callTokens + use.resultTokens, 0)
  return [colors.dim(`  and ${plural(rest.length, 'more tool')} with ${number(tokens)} tokens`)]
}

function partStyle(colors: Colors, part: Part): Style {
  if (part === 'system' || part === 'tool definitions') return colors.magenta
  if (part === 'user') return colors.green
  return part === 'tool results' || part === 'tool calls' ? colors.yellow : colors.blue
}
