// The help text: what the command does, by example first.

import type { cac } from 'cac'
import type { Colors } from './terminal.ts'

const examples = [
  ['oriel serve', 'the gateway, with a built-in demo'],
  ['oriel serve --upstream https://llm.example', 'between your agent and its model'],
  ['oriel inspect', 'the bundled sample: see what a report looks like'],
  ['oriel inspect session.jsonl', 'your own conversations'],
  ['oriel inspect *.jsonl --top 10', 'many files at once, longer lists'],
  ['oriel inspect s.json --policy history-window', 'what one policy would do, in detail'],
  ['oriel inspect s.json --budget 32k', 'what has to go to fit a budget'],
  ['cat s.json | oriel inspect - --json', 'for machines'],
  ['oriel simulate', 'the bundled samples under five policies'],
  ['oriel simulate logs/ --html report.html', 'your recordings, with plots'],
  ['oriel simulate logs/ --fail-if "cost>0.8"', 'a check for your pipeline'],
  ['oriel doctor', 'is the store sound, and what to do if it is not'],
  ['oriel export --out backup.jsonl', 'a backup of all threads'],
  ['oriel import backup.jsonl --data ./other', 'the same threads in another store'],
  ['oriel import session.json', 'a recorded conversation as a new thread'],
] as const

export function renderHelp(cli: ReturnType<typeof cac>, colors: Colors): string {
  const commands = cli.commands.map(row)
  const lines = [
    `${colors.bold('oriel')}  context management for LLM agents`,
    ...section('Commands', commands, colors),
    ...cli.commands.flatMap(({ name, options }) =>
      section(`Options of ${name}`, options.map(row), colors),
    ),
    ...section('Options of all', cli.globalCommand.options.map(row), colors),
    ...section('Examples', examples, colors),
    '',
    'Reads OpenAI chat, OpenAI Responses, Anthropic, AI SDK and LangChain messages: one JSON value,',
    'or JSONL with one message or one conversation a line. Nothing leaves this machine.',
  ]
  return `${lines.join('\n')}\n`
}

function row({
  rawName,
  description,
}: {
  readonly rawName: string
  readonly description: string
}): readonly [string, string] {
  return [rawName, description]
}

function section(
  title: string,
  rows: readonly (readonly [string, string])[],
  colors: Colors,
): string[] {
  const width = Math.max(...rows.map(([name]) => name.length))
  const lines = rows.map(([name, text]) => `  ${colors.cyan(name.padEnd(width))}  ${text}`)
  return ['', colors.bold(title), ...lines]
}
