// Command line parsing: selects the command, checks its options, and reports every failure as one
// sentence.

import { readFileSync } from 'node:fs'
import { cac } from 'cac'
import { formatNames, OrielError, presets } from 'oriel/project'
import type { CompletedCommand } from './completion.ts'
import { defaultFolder, defaultPort, defaultTop, exactMegabytes } from './defaults.ts'
import { renderHelp } from './help.ts'
import type { RawOptions } from './inspect/settings.ts'
import { clean } from './render/text.ts'
import { colorsFor, processTerminal, type Terminal } from './terminal.ts'
import { misread, prepareWords, unmark } from './words.ts'

type Cli = ReturnType<typeof cac>

/** Exit code for invalid usage or unusable input. */
const failed = 2

/**
 * Runs the command and resolves to the exit code: 0; 1 if `--strict` found broken structure,
 * `--fail-if` holds, `doctor` found problems, or `export` or `import` left something out; 2 for
 * invalid usage or unusable input. Never exits the process. `argv` is `process.argv`.
 */
export async function main(
  argv: readonly string[],
  terminal: Terminal = processTerminal(),
): Promise<number> {
  const { stdout, stderr, env } = terminal
  try {
    const cli = createCli()
    cli.parse(prepareWords(argv, cli), { run: false })
    if (cli.options.version === true) {
      stdout.write(`${version()}\n`)
      return 0
    }
    const command = cli.matchedCommand
    const [word, topic] = cli.args
    const isAsking = word === undefined || word === 'help'
    if (cli.options.help === true || (command === undefined && isAsking)) {
      await checkOptions(cli, argv.slice(2))
      const isAll = topic === undefined || topic === 'help'
      const about = command ?? (isAll ? undefined : await commandNamed(cli, topic))
      stdout.write(renderHelp(cli, colorsFor(stdout, env), about))
      return 0
    }
    const { name } = command ?? (await commandNamed(cli, String(word)))
    await checkOptions(cli, argv.slice(2))
    return await run(cli, name, terminal)
  } catch (error) {
    stderr.write(`oriel: ${explain(error)}\n`)
    return failed
  }
}

async function commandNamed(cli: Cli, name: string): Promise<Cli['commands'][number]> {
  const command = cli.commands.find((one) => one.name === name)
  if (command !== undefined) return command
  const { unknownCommand } = await import('./mistakes.ts')
  throw unknownCommand(cli, name)
}

/** Runs a command. Only its own modules are loaded: help and mistakes need none of them. */
async function run(cli: Cli, command: string, terminal: Terminal): Promise<number> {
  const options = optionsOf(cli)
  const { env } = terminal
  switch (command) {
    case 'completion': {
      const { completionScript } = await import('./completion.ts')
      terminal.stdout.write(completionScript(filesOf(cli)[0], await completed(cli)))
      return 0
    }
    case 'doctor': {
      checkNoArguments(cli)
      const { doctor, readDoctorSettings } = await import('./doctor/index.ts')
      return doctor(readDoctorSettings(options), terminal)
    }
    case 'serve': {
      checkNoArguments(cli)
      const { serve, readServeSettings, tuneHeap } = await import('./serve/index.ts')
      tuneHeap()
      return serve(readServeSettings(options, env), terminal)
    }
    case 'export': {
      checkNoArguments(cli)
      const { exportThreads, readExportSettings } = await import('./export/index.ts')
      return exportThreads(readExportSettings(options), terminal)
    }
    case 'import': {
      const { importThreads, readImportSettings } = await import('./import/index.ts')
      return importThreads(readImportSettings(filesOf(cli), options), terminal)
    }
    case 'search': {
      const { search, readSearchSettings } = await import('./search/index.ts')
      return search(readSearchSettings(filesOf(cli), options, env), terminal)
    }
    case 'context': {
      const { context, readContextSettings } = await import('./context/index.ts')
      return context(readContextSettings(filesOf(cli), options, env), terminal)
    }
    case 'connect': {
      const { connect, readConnectSettings } = await import('./connect/index.ts')
      return connect(readConnectSettings(filesOf(cli), options), terminal)
    }
    case 'disconnect': {
      const { disconnect } = await import('./connect/index.ts')
      return disconnect(filesOf(cli), { isJson: options.json === true }, terminal)
    }
    case 'simulate': {
      const { simulateCommand, readSimulateSettings } = await import('./simulate/index.ts')
      return simulateCommand(filesOf(cli), readSimulateSettings(options), terminal)
    }
    default: {
      const { inspect, readSettings } = await import('./inspect/index.ts')
      return inspect(filesOf(cli), readSettings(options), terminal)
    }
  }
}

function createCli(): Cli {
  const cli = cac('oriel')
  cli.option('-h, --help', 'Show this help')
  cli.option('-v, --version', 'Show the version')
  addServe(cli)
  addConnect(cli)
  addInspect(cli)
  addSimulate(cli)
  addFinding(cli)
  addKeeping(cli)
  cli.command('completion [shell]', 'Print a script that completes commands: bash, zsh or fish')
  return cli
}

/** Values of options, for completion. */
const optionValues: Readonly<Record<string, readonly string[]>> = {
  '--policy': Object.keys(presets),
  '--format': formatNames,
  '--tokens': ['o200k', 'estimate'],
  '--expand': ['auto', 'always', 'never'],
  '--how': ['base-url', 'plugin'],
  '--log': ['text', 'json'],
}

async function completed({ commands }: Cli): Promise<readonly CompletedCommand[]> {
  const { agents } = await import('./connect/agents.ts')
  const { shells } = await import('./completion.ts')
  const agentNames = agents.map(({ name }) => name)
  const names: Readonly<Record<string, readonly string[]>> = {
    connect: agentNames,
    disconnect: agentNames,
    completion: shells,
    help: commands.map(({ name }) => name),
  }
  const help = { name: 'help', description: 'Explain a command', options: [] }
  return [...commands, help].map(({ name, description, options }) => ({
    name,
    description,
    ...(names[name] === undefined ? {} : { names: names[name] }),
    options: options.map(({ rawName, description: text }) => {
      const [option = ''] = rawName.split(' ')
      const values = optionValues[option]
      return { name: option, description: text, ...(values === undefined ? {} : { values }) }
    }),
  }))
}

function addServe(cli: Cli): void {
  cli
    .command('serve', 'Manage the context of any agent: point its base_url here')
    .option('--port <number>', `The port; default: ${defaultPort}`)
    .option('--host <name>', 'The address to listen on; default: 127.0.0.1')
    .option('--data <folder>', `Keep threads in this folder; default: ${defaultFolder}`)
    .option('--store <file or url>', 'Keep threads in this SQLite file or PostgreSQL database')
    .option('--upstream <base url>', 'Where model calls go; without it a built-in demo answers')
    .option('--policy <preset or file>', 'What the model sees; default: recommended')
    .option(
      '--expand [when]',
      'Let models read what was shortened: auto, always, never; default: auto',
    )
    .option('--config <file>', 'Everything else: upstreams, keys, agents, limits')
    .option(
      '--log <format>',
      'Lines on stderr: text, or json with one for each request; default: text',
    )
    .option('--json', 'Print the addresses as one line of JSON')
}

function addConnect(cli: Cli): void {
  cli
    .command(
      'connect [...agents]',
      'Send the model calls of installed coding agents through the gateway',
    )
    .option(
      '--how <way>',
      'base-url, or plugin where the agent has a slot for one; default: base-url',
    )
    .option('--url <address>', `The gateway; default: http://127.0.0.1:${defaultPort}`)
    .option('--dry-run', 'Only show what would change')
    .option('--json', 'Print JSON, for machines')
  cli
    .command('disconnect [...agents]', 'Take it back: every file is as it was')
    .option('--json', 'Print JSON, for machines')
}

function addInspect(cli: Cli): void {
  cli
    .command(
      'inspect [...files]',
      'Show where the tokens go, what is broken, what a policy would save',
    )
    .option('--conversation <id or #>', 'Only this conversation of the files')
    .option('--policy <preset or file>', 'Try this policy, a preset or a JSON file, in detail')
    .option('--budget <tokens>', 'Try this budget, such as 32k')
    .option('--format <name>', 'The format of the messages; default: detected')
    .option('--tokens <counter>', `o200k or estimate; default: o200k up to ${exactMegabytes} MB`)
    .option('--top <rows>', `Rows of each list; default: ${defaultTop}`)
    .option('--json', 'Print JSON, for machines')
    .option('--strict', 'End with exit code 1 if structure is broken')
    .option('--no-content', 'Show no first lines of results')
}

function addSimulate(cli: Cli): void {
  cli
    .command(
      'simulate [...files]',
      'Replay recorded conversations under policies: dollars, cache, facts kept',
    )
    .option(
      '--policy <preset or file>',
      'A policy to compare; may be given again; default: five presets',
    )
    .option('--prices <provider or model>', 'Such as openai or claude-opus-5; default: anthropic')
    .option('--long-cache', "The provider's longer life of the cache, at its price")
    .option('--budget <tokens>', 'Requests may have this many tokens, such as 32k')
    .option('--format <name>', 'The format of the files; default: detected')
    .option('--tokens <counter>', 'o200k or estimate; default: estimate')
    .option('--rules <count>', 'Rules to state in each conversation; 0 = none; default: 10')
    .option('--summarizer', 'Simulate a summarizer and count its calls and their price')
    .option('--workers <count>', 'Threads; default: one for each core')
    .option('--html <file>', 'Write a report with plots and timelines')
    .option('--json', 'Print JSON, for machines')
    .option('--fail-if <condition>', 'Exit code 1 if a policy meets this: "recall<0.99"')
}

/** Adds the commands that look into threads. */
function addFinding(cli: Cli): void {
  const commands = [
    cli
      .command('search [...query]', 'Find messages in all threads, the best first')
      .option('--limit <count>', 'Messages, at most; default: 10')
      .option('--thread <id>', 'Only this thread; default: all'),
    cli.command('context [...thread]', 'Show what fills the window of a thread now'),
  ]
  for (const command of commands) {
    command
      .option('--data <folder>', `The folder of the store; default: ${defaultFolder}`)
      .option('--store <file or url>', 'A SQLite file or PostgreSQL instead of it')
      .option('--tenant <name>', 'Only this tenant; default: all')
      .option('--url <address>', 'Ask a gateway that runs: http://127.0.0.1:4141')
      .option('--key <key>', 'Its API key; default: ORIEL_KEY')
      .option('--json', 'Print JSON, for machines')
  }
}

/** Adds the store commands. */
function addKeeping(cli: Cli): void {
  const commands = [
    cli
      .command('doctor', 'Check a store: every entry, every thread, every view')
      .option('--repair', 'Repair what is safe to repair, after asking; keeps a copy')
      .option('--yes', 'Do not ask')
      .option('--json', 'Print JSON, for machines'),
    cli
      .command('export', 'Write threads as JSONL, a hash with every entry')
      .option('--out <file>', 'The file to write (default, or -: standard output)')
      .option('--until <seq>', 'Only up to this entry, of one thread')
      .option('--json', 'Print the summary as JSON, for machines'),
    cli
      .command('import <...files>', 'Read exports, or histories in a format that inspect reads')
      .option('--format <name>', 'The format of a history; default: detected')
      .option('--json', 'Print JSON, for machines'),
  ]
  for (const command of commands) {
    const isImport = command.name === 'import'
    command
      .option('--data <folder>', `The folder of the store; default: ${defaultFolder}`)
      .option('--store <file or url>', 'A SQLite file or PostgreSQL instead of it')
      .option(
        '--tenant <name>',
        isImport ? 'Import for this tenant' : 'Only this tenant; default: all',
      )
      .option('--thread <id>', isImport ? 'Import under this id' : 'Only this thread; default: all')
  }
}

function optionsOf(cli: Cli): RawOptions {
  return Object.fromEntries(
    Object.entries(cli.options).map(([name, value]) => [name, unmark(value)]),
  )
}

/** Arguments after `--` are files, even if they look like options. */
function filesOf(cli: Cli): readonly string[] {
  return [...cli.args, ...cli.options['--']].map((word) => String(unmark(word)))
}

/** Rejects unknown options, options without their value, and words that the parser would misread. */
async function checkOptions(cli: Cli, words: readonly string[]): Promise<void> {
  const command = cli.matchedCommand ?? cli.globalCommand
  const mistake = misread(words, cli)
  if (mistake !== undefined) throw (await import('./mistakes.ts')).misreadError(mistake, cli)
  try {
    command.checkUnknownOptions()
    command.checkOptionValue()
  } catch (error) {
    throw (await import('./mistakes.ts')).explained(error, cli)
  }
}

/** Rejects arguments of a command that takes none. */
function checkNoArguments({ matchedCommand, args }: Cli): void {
  if (args.length === 0) return
  const problem = `oriel ${matchedCommand?.name} takes options only; got '${args[0]}'`
  throw new OrielError('invalid-option', `${problem}.`)
}

function version(): string {
  const manifest = new URL('../package.json', import.meta.url)
  return String((JSON.parse(readFileSync(manifest, 'utf8')) as { version: unknown }).version)
}

/** One sentence. Messages may quote names from the input, so they are sanitized. */
function explain(error: unknown): string {
  if (!(error instanceof Error)) return 'something failed without saying why.'
  if (error.name === 'CACError') {
    const problem = error.message.replaceAll('`', '').replace(/^\w/, (first) => first.toLowerCase())
    return clean(`${problem}; oriel --help lists the options.`)
  }
  if (OrielError.is(error)) return clean(error.message)
  return clean(`this is a bug, please report it: ${error.stack ?? error.message}`)
}
