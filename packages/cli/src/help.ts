// Help text, starting with examples.

import type { cac } from 'cac'
import type { Colors } from './terminal.ts'

type Cli = ReturnType<typeof cac>
type Command = Cli['commands'][number]

const examples = [
  ['oriel serve', 'the gateway, with a built-in demo'],
  ['oriel serve --upstream https://llm.example', 'between your agent and its model'],
  ['oriel connect --dry-run', 'which agents are here, and what would change'],
  ['oriel connect claude-code', 'its model calls go through the gateway'],
  ['oriel disconnect', 'every file as it was'],
  ['oriel inspect', 'the bundled sample: see what a report looks like'],
  ['oriel inspect session.jsonl', 'your own conversations'],
  ['oriel inspect *.jsonl --top 10', 'many files at once, longer lists'],
  ['oriel inspect s.json --policy history-window', 'what one policy would do, in detail'],
  ['oriel inspect s.json --budget 32k', 'what has to go to fit a budget'],
  ['cat s.json | oriel inspect - --json', 'for machines'],
  ['oriel simulate', 'the bundled samples under five policies'],
  ['oriel simulate logs/ --html report.html', 'your recordings, with plots'],
  ['oriel simulate logs/ --fail-if "cost>0.8"', 'a check for your pipeline'],
  ['oriel search "invoice 4711"', 'who said it, in which thread'],
  ['oriel context trip-1', 'what fills the window of a thread now'],
  ['oriel doctor', 'is the store sound, and what to do if it is not'],
  ['oriel export --out backup.jsonl', 'a backup of all threads'],
  ['oriel import backup.jsonl --data ./other', 'the same threads in another store'],
  ['oriel import session.json', 'a recorded conversation as a new thread'],
  ['eval "$(oriel completion bash)"', 'the shell completes commands and options'],
] as const

/** The help of one command, or of all. */
export function renderHelp(cli: Cli, colors: Colors): string {
  const { matchedCommand: command } = cli
  const lines = command === undefined ? helpOfAll(cli, colors) : helpOf(command, cli, colors)
  return `${lines.join('\n')}\n`
}

function helpOfAll({ commands, globalCommand }: Cli, colors: Colors): readonly string[] {
  return [
    `${colors.bold('oriel')}  context management for LLM agents`,
    ...section('Commands', commands.map(row), colors),
    ...commands.flatMap(({ name, options }) =>
      section(`Options of ${name}`, options.map(row), colors),
    ),
    ...section('Options of all', globalCommand.options.map(row), colors),
    ...section('Examples', examples, colors),
    '',
    'inspect, simulate and import read messages of OpenAI chat, OpenAI Responses, Anthropic, the AI SDK',
    'and LangChain: one JSON value, or JSONL with one message or one conversation a line. Nothing leaves',
    'this machine, but for what serve sends to the upstream that you name.',
  ]
}

function helpOf(command: Command, { globalCommand }: Cli, colors: Colors): readonly string[] {
  const { name, rawName, description, options } = command
  return [
    `${colors.bold(`oriel ${rawName}`)}  ${description}`,
    ...section('Options', [...options, ...globalCommand.options].map(row), colors),
    ...section(
      'Examples',
      examples.filter(([line]) => line.includes(`oriel ${name}`)),
      colors,
    ),
    '',
    'oriel --help lists all commands.',
  ]
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
