// The head of a report: what was read, how large it is, and which conversations it holds.

import type { InspectReport } from '../inspect/report.ts'
import type { FormatSeen } from '../inspect/summary.ts'
import { heading, number, type Paper, percent, plural, roughly, table } from './layout.ts'
import { clean, fit } from './text.ts'

/** Files that are named in the head. */
const namedFiles = 3

export function renderHead(report: InspectReport, paper: Paper): string[] {
  const { colors } = paper
  const { summary, files, counter, notes } = report
  const names = files.slice(0, namedFiles).map((file) => clean(file))
  const more = files.length > namedFiles ? [`and ${files.length - namedFiles} more`] : []
  const title = report.isSample ? 'the bundled sample' : [...names, ...more].join(', ')
  const facts: [string, string][] = [['format', formatsText(summary.formats)]]
  if (summary.conversations.length > 1) {
    facts.push(['conversations', number(summary.conversations.length)])
  }
  facts.push(
    [
      'messages',
      `${number(summary.messages)} in ${plural(summary.turns, 'turn')}, ${plural(summary.steps, 'step')}`,
    ],
    ['tokens', `${number(summary.tokens)} by ${counter.name}${counter.remark}`],
  )
  if (summary.steps > 1) {
    const sent = `${roughly(summary.sentTokens)} tokens of input, if each step sent all before it`
    facts.push(['sent', sent])
  }
  const rows = facts.map(([name, text]) => [{ text: name, style: colors.dim }, text])
  return [
    `${colors.bold('oriel inspect')}  ${colors.cyan(fit(title, paper.width - 16))}`,
    '',
    ...table([{}, { takesRest: true }], rows, paper.width),
    ...notes.map((note) => fit(`  ${colors.yellow('note')}  ${clean(note)}`, paper.width)),
  ]
}

/** The largest conversations, where there are several. */
export function renderConversations({ summary }: InspectReport, paper: Paper): string[] {
  const { colors, top, width } = paper
  const lines = summary.conversations
  if (lines.length < 2) return []
  const largest = lines.toSorted((a, b) => b.tokens - a.tokens || a.number - b.number)
  const dim = colors.dim
  const title = [
    { text: '#', style: dim },
    { text: 'id', style: dim },
    { text: 'messages', style: dim },
    { text: 'turns', style: dim },
    { text: 'steps', style: dim },
    { text: 'tokens', style: dim },
    { text: 'share', style: dim },
    { text: 'broken', style: dim },
  ]
  const rows = largest
    .slice(0, top)
    .map((line) => [
      number(line.number),
      line.id ?? '',
      number(line.messages),
      number(line.turns),
      number(line.steps),
      number(line.tokens),
      percent(line.tokens / Math.max(1, summary.tokens)),
      { text: line.violations === 0 ? '' : number(line.violations), style: colors.yellow },
    ])
  const right = { align: 'right' } as const
  const columns = [right, { takesRest: true }, right, right, right, right, right, right]
  return [
    ...heading(paper, 'Largest conversations', 'one of them alone: --conversation <id or #>'),
    ...table(columns, [title, ...rows], width),
  ]
}

function formatsText(formats: readonly FormatSeen[]): string {
  return formats
    .map(({ format, conversations, certainty, evidence }) => {
      const share = formats.length === 1 ? '' : ` x${number(conversations)}`
      return `${format}${share}, ${certaintyText(certainty, conversations)}${evidenceText(evidence)}`
    })
    .join('; ')
}

function certaintyText(certainty: FormatSeen['certainty'], conversations: number): string {
  const words = {
    told: 'as told',
    certain: 'certain',
    likely: 'likely',
    assumed: 'assumed',
  } as const
  return (Object.keys(words) as (keyof typeof words)[])
    .flatMap((key) => {
      const count = certainty[key] ?? 0
      if (count === 0) return []
      return [count === conversations ? words[key] : `${words[key]} for ${number(count)}`]
    })
    .join(', ')
}

function evidenceText(evidence: readonly string[]): string {
  return evidence.length === 0 ? '' : ` (${evidence.join(', ')})`
}
