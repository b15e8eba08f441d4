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

/** What a command does, in more than one line, and the guide that says everything. */
const abouts: Readonly<Record<string, readonly string[]>> = {
  serve: [
    'An HTTP server that speaks the APIs of OpenAI, Anthropic and Gemini. Agents resend their whole',
    'history as always; it keeps all of it, sends the model what the policy shows, and streams the',
    'answer back. Its page shows every thread. Guide: docs/guides/gateway.md',
  ],
  connect: [
    'Writes the address of the gateway into the settings of agents: claude-code, codex, opencode, pi,',
    'qwen-code, gemini-cli; without names, of all that are installed. Guide: docs/guides/connect.md',
  ],
  disconnect: [
    'Takes back what connect wrote; without names, everywhere. Guide: docs/guides/connect.md',
  ],
  inspect: [
    'Reads recorded conversations, from files, folders or standard input (-). Sends nothing and',
    'changes nothing. Guide: docs/guides/inspect.md',
  ],
  simulate: [
    'Makes every request that a recorded agent would have sent, under each policy, and bills it with a',
    "provider's prompt cache. Reads files and folders. Guide: docs/guides/simulate.md",
  ],
  search: ['Finds original messages, also those that no view shows. Guide: docs/guides/search.md'],
  context: ['Tokens of the next request by part. Guide: docs/guides/search.md'],
  doctor: [
    'Reads the whole store and changes nothing, unless --repair. Guide: docs/guides/keep.md',
  ],
  export: ['A backup, or threads for another store. Guide: docs/guides/keep.md'],
  import: [
    'Reads files and folders. What the store already has is not changed. Guide: docs/guides/keep.md',
  ],
  completion: ['Prints a script; the examples say where it goes.'],
}

/** What an exit code of 1 means, for commands that have one. */
const ones: Readonly<Record<string, string>> = {
  inspect: 'with --strict: structure is broken',
  simulate: 'a policy meets the condition of --fail-if',
  doctor: 'problems were found',
  export: 'a thread was left out, or is not whole',
  import: 'a part was not imported',
}

/** The help of one command, or of all. */
export function renderHelp(
  cli: Cli,
  colors: Colors,
  command: Command | undefined = cli.matchedCommand,
): string {
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
    'Exit codes: 0 done; 1 something was found or left out (oriel help <command> says what); 2 a wrong',
    'command line, or input that cannot be used.',
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
    ...section(
      'About',
      (abouts[name] ?? []).map((line) => [line, ''] as const),
      colors,
    ).map((line) => line.trimEnd()),
    ...section('Options', [...options, ...globalCommand.options].map(row), colors),
    ...section('Exit codes', exitCodes(name), colors),
    ...section(
      'Examples',
      examples.filter(([line]) => line.includes(`oriel ${name}`)),
      colors,
    ),
    '',
    'oriel --help lists all commands.',
  ]
}

function exitCodes(name: string): readonly (readonly [string, string])[] {
  const one = ones[name]
  return [
    ['0', 'done'],
    ...(one === undefined ? [] : [['1', one] as const]),
    [
      '2',
      'a wrong command line, or input that cannot be used: one sentence on stderr says what to do',
    ],
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
