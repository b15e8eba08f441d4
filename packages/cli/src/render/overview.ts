// Report header: files, sizes and conversations.

import { basename } from 'node:path'
import type { InspectReport } from '../inspect/report.ts'
import type { FormatSeen } from '../inspect/summary.ts'
import { heading, number, type Paper, percent, plural, roughly, table } from './layout.ts'
import { clean, fit, wrap } from './text.ts'

/** Maximum files named. */
const namedFiles = 3
const noteLines = 3

export function renderHead(report: InspectReport, paper: Paper): string[] {
  const { colors } = paper
  const { summary, files, counter, notes } = report
  const title = report.isSample ? 'the bundled sample' : filesText(files)
  const facts: [string, string][] = [['format', formatsText(summary.formats)]]
  if (summary.conversations.length > 1) {
    facts.push(['conversations', number(summary.conversations.length)])
  }
  facts.push(
    [
      'messages',
      `${number(summary.messages)} in ${plural(summary.turns, 'turn')}, ${plural(summary.steps, 'step')}`,
    ],
    [
      'tokens',
      `${number(summary.tokens)} by ${counter.name}${counter.remark}${claudeText(summary.formats)}`,
    ],
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
    ...notes.flatMap((note) => renderNote(note, paper)),
  ]
}

function renderNote(note: string, { colors, width }: Paper): string[] {
  const label = '  note  '
  return wrap(clean(note), width - label.length, noteLines).map(
    (line, index) => (index === 0 ? colors.yellow(label) : ' '.repeat(label.length)) + line,
  )
}

/** The largest conversations, if there are several. */
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

function filesText(files: readonly string[]): string {
  if (files.length === 1) return clean(files[0] === '-' ? 'standard input' : String(files[0]))
  const names = files.slice(0, namedFiles).map((file) => clean(basename(file)))
  const more = files.length > namedFiles ? [`${files.length - namedFiles} more`] : []
  return `${files.length} files: ${[...names, ...more].join(', ')}`
}

function formatsText(formats: readonly FormatSeen[]): string {
  return formats
    .map(({ format, conversations, certainty, evidence }) => {
      const share = formats.length === 1 ? '' : ` for ${number(conversations)}`
      return `${format}${share}, ${certaintyText(certainty, conversations)}${evidenceText(evidence)}`
    })
    .join('; ')
}

/** Anthropic's current tokenizers are not public. */
function claudeText(formats: readonly FormatSeen[]): string {
  return formats.some(({ format }) => format === 'anthropic')
    ? '; Claude itself counts otherwise'
    : ''
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
