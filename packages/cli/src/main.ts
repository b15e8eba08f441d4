// The command line: which command, which options, and every failure as one sentence.

import { readFileSync } from 'node:fs'
import { cac } from 'cac'
import { OrielError } from 'oriel'
import { renderHelp } from './help.ts'
import { inspect } from './inspect/command.ts'
import { defaultTop, exactMegabytes, readSettings } from './inspect/settings.ts'
import { clean } from './render/text.ts'
import { colorsFor, processTerminal, type Terminal } from './terminal.ts'

type Cli = ReturnType<typeof cac>

/** What `-` is called while options are parsed, since the parser drops it. No word of a command line holds a NUL. */
const stdinWord = '\0-'

/** The request was wrong, or the input cannot be used. */
const failed = 2

/**
 * Runs the command and resolves to the exit code: 0; 1 if `--strict` found broken structure; 2 if the request was wrong or the
 * input cannot be used. Never ends the process. `argv` is that of the process: the program and the script come first.
 */
export async function main(
  argv: readonly string[],
  terminal: Terminal = processTerminal(),
): Promise<number> {
  const { stdout, stderr, env } = terminal
  try {
    const cli = createCli()
    cli.parse(
      argv.map((word) => (word === '-' ? stdinWord : word)),
      { run: false },
    )
    if (cli.options.version === true) {
      stdout.write(`${version()}\n`)
      return 0
    }
    const command = cli.matchedCommand
    if (cli.options.help === true || (command === undefined && cli.args.length === 0)) {
      checkOptions(cli)
      stdout.write(renderHelp(cli, colorsFor(stdout, env)))
      return 0
    }
    if (command === undefined) {
      const problem = `there is no command '${cli.args[0]}'; to look at a file: oriel inspect <file>.`
      throw new OrielError('invalid-option', problem)
    }
    checkOptions(cli)
    return await inspect(filesOf(cli), readSettings(cli.options), terminal)
  } catch (error) {
    stderr.write(`oriel: ${explain(error)}\n`)
    return failed
  }
}

function createCli(): Cli {
  const cli = cac('oriel')
  cli.option('-h, --help', 'Show this help')
  cli.option('-v, --version', 'Show the version')
  cli
    .command(
      'inspect [...files]',
      'Show where the tokens go, what is broken, what a policy would save',
    )
    .option('--conversation <id or #>', 'Only this conversation of the files')
    .option('--policy <preset or file>', 'Try this policy, a preset or a JSON file, in detail')
    .option('--budget <tokens>', 'Try this budget, such as 32k')
    .option('--format <name>', 'openai-chat, openai-responses or anthropic; else it is found out')
    .option('--tokens <counter>', `o200k or estimate; else o200k up to ${exactMegabytes} MB`)
    .option('--top <rows>', `Rows of each list; else ${defaultTop}`)
    .option('--json', 'Print JSON, for machines')
    .option('--strict', 'End with exit code 1 if structure is broken')
    .option('--no-content', 'Show no first lines of results')
  return cli
}

/** Words behind `--` are files, even if they look like options. */
function filesOf(cli: Cli): readonly string[] {
  const words: readonly string[] = [...cli.args, ...cli.options['--']]
  return words.map((word) => (word === stdinWord ? '-' : word))
}

/** Refuses options that the command does not have, and options without their value. */
function checkOptions(cli: Cli): void {
  const command = cli.matchedCommand ?? cli.globalCommand
  command.checkUnknownOptions()
  command.checkOptionValue()
}

function version(): string {
  const manifest = new URL('../package.json', import.meta.url)
  return String((JSON.parse(readFileSync(manifest, 'utf8')) as { version: unknown }).version)
}

/** One sentence. Messages may quote names from the input: they are cleaned like everything else that is printed. */
function explain(error: unknown): string {
  if (!(error instanceof Error)) return 'something failed without saying why.'
  if (error.name === 'CACError') {
    const problem = error.message.replaceAll('`', '').replace(/^\w/, (first) => first.toLowerCase())
    return clean(`${problem}; oriel --help lists the options.`)
  }
  if (OrielError.is(error)) return clean(error.message)
  return clean(`this is a bug, please report it: ${error.stack ?? error.message}`)
}
