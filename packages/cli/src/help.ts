// Help texts: all commands on one page, and one command in full, as a manual page has it.

import type { cac } from 'cac'
import type { Colors } from './terminal.ts'

type Cli = ReturnType<typeof cac>
type Command = Cli['commands'][number]

/** Commands by what they are for, in the order of the help. */
const groups: readonly (readonly [string, readonly string[]])[] = [
  ['Between your agent and its model', ['serve', 'connect', 'disconnect']],
  ['Your recordings: files and folders', ['inspect', 'simulate']],
  ['Your threads', ['search', 'context', 'doctor', 'export', 'import']],
  ['Your shell', ['completion', 'help']],
]

const examples = [
  ['oriel serve', 'the gateway, with a built-in demo'],
  ['oriel serve --upstream https://llm.example', 'between your agent and its model'],
  ['oriel connect --dry-run', 'which agents are here, and what would change'],
  ['oriel connect claude-code', 'its model calls go through the gateway'],
  ['oriel disconnect', 'every file as it was'],
  ['oriel inspect', 'the bundled sample: see what a report looks like'],
  ['oriel inspect session.jsonl', 'your own conversations'],
  ['oriel inspect logs/ --top 10', 'all files of a folder, longer lists'],
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
  ['eval "$(oriel completion bash)"', 'for this shell, or in ~/.bashrc'],
  ['eval "$(oriel completion zsh)"', 'in ~/.zshrc, after compinit'],
  ['oriel completion fish | source', 'for this shell'],
] as const

/** What to try first. */
const firstExamples: readonly string[] = [
  'oriel serve',
  'oriel serve --upstream https://llm.example',
  'oriel inspect',
  'oriel inspect session.jsonl',
  'oriel simulate logs/ --html report.html',
]

/** What a command does, in more than one line, and the guide that says everything. */
const abouts: Readonly<Record<string, readonly string[]>> = {
  serve: [
    'An HTTP server that speaks the APIs of OpenAI, Anthropic and Gemini. Agents resend their whole',
    'history as always; it keeps all of it, sends the model what the policy shows, and streams the',
    'answer back. Its page shows every thread. Guide: docs/guides/gateway.md',
  ],
  connect: [
    'Writes the address of the gateway into the settings of agents: claude-code, codex, opencode, pi,',
    'qwen-code, gemini-cli, openclaw; without names, of all that are installed.',
    'Guide: docs/guides/connect.md',
  ],
  disconnect: [
    'Takes back what connect wrote; without names, everywhere. Guide: docs/guides/connect.md',
  ],
  inspect: [
    'Reads recorded conversations, from files, folders or standard input (-): messages of OpenAI chat,',
    'OpenAI Responses, Anthropic, Gemini, the AI SDK and LangChain, as one JSON value or as JSONL.',
    'Sends nothing and changes nothing. Guide: docs/guides/inspect.md',
  ],
  simulate: [
    'Makes every request that a recorded agent would have sent, under each policy, and bills it with a',
    "provider's prompt cache. Reads what inspect reads. Guide: docs/guides/simulate.md",
  ],
  search: ['Finds original messages, also those that no view shows. Guide: docs/guides/search.md'],
  context: ['Tokens of the next request by part. Guide: docs/guides/search.md'],
  doctor: [
    'Reads the whole store and changes nothing, unless --repair. Guide: docs/guides/keep.md',
  ],
  export: ['A backup, or threads for another store. Guide: docs/guides/keep.md'],
  import: [
    'Reads files and folders: exports, and conversations that inspect reads. What the store already',
    'has is not changed. Guide: docs/guides/keep.md',
  ],
  completion: ['Prints a script; the examples say where it goes.'],
}

/** What an exit code of 1 means, for commands that have one. */
const ones: Readonly<Record<string, string>> = {
  connect: 'an agent could not be connected, or none was found',
  disconnect: 'an agent could not be disconnected, or none was connected',
  inspect: 'with --strict: structure is broken',
  simulate: 'a policy meets the condition of --fail-if',
  search: 'nothing was found',
  doctor: 'problems were found',
  export: 'a thread was left out, or is not whole',
  import: 'a part was not imported',
}

const variables = [
  ['NO_COLOR', 'no colour; pipes and files never get any'],
  ['ORIEL_KEY', 'the API key of a gateway, for search and context'],
  ['ORIEL_HOME', 'the folder of what connect keeps; else ~/.oriel'],
  ['ORIEL_HISTORY_LENGTH=10 ...', 'fields of the policy, for serve: docs/policy.md lists all'],
] as const

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
  const described = new Map(commands.map(({ name, description }) => [name, description]))
  described.set('help', 'Explain a command, its options and exit codes: oriel help serve')
  const width = Math.max(...[...described.keys()].map((name) => name.length))
  const rowsOf = (names: readonly string[]): readonly Row[] =>
    names.map((name) => [name.padEnd(width), described.get(name) ?? ''])
  return [
    `${colors.bold('oriel')}  context management for LLM agents`,
    ...section('Usage', [['oriel <command> [options]', '']], colors),
    ...groups.flatMap(([title, names]) => section(title, rowsOf(names), colors)),
    ...section('Options', globalCommand.options.map(row), colors),
    ...section('Try', examplesOf(firstExamples), colors),
    ...section('Environment', variables, colors),
    '',
    'Exit codes: 0 done; 1 something was found or left out (oriel help <command> says what); 2 a wrong',
    'command line, or input that cannot be used. Nothing leaves this machine, but for what serve sends',
    'to the upstream that you name.',
  ]
}

function examplesOf(lines: readonly string[]): readonly Row[] {
  return examples.filter(([line]) => lines.includes(line))
}

function helpOf(command: Command, { globalCommand }: Cli, colors: Colors): readonly string[] {
  const { name, rawName, description, options } = command
  const about = (abouts[name] ?? []).map((line): Row => [line, ''])
  const own = examples.filter(([line]) => line.includes(`oriel ${name}`))
  return [
    `${colors.bold(`oriel ${name}`)}  ${description}`,
    ...section(
      'Usage',
      [[`oriel ${rawName}${options.length > 0 ? ' [options]' : ''}`, '']],
      colors,
    ),
    ...section('About', about, colors),
    ...section('Options', [...options, ...globalCommand.options].map(row), colors),
    ...section('Exit codes', exitCodes(name), colors),
    ...section('Examples', own, colors),
    '',
    'oriel --help lists all commands.',
  ]
}

function exitCodes(name: string): readonly Row[] {
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

/** A name, and what it is. */
type Row = readonly [string, string]

function row({
  rawName,
  description,
}: {
  readonly rawName: string
  readonly description: string
}): Row {
  return [rawName, description]
}

function section(title: string, rows: readonly Row[], colors: Colors): string[] {
  const width = Math.max(...rows.map(([name]) => name.length))
  const lines = rows.map(([name, text]) =>
    text === '' ? `  ${name}` : `  ${colors.cyan(name.padEnd(width))}  ${text}`,
  )
  return ['', colors.bold(title), ...lines]
}
