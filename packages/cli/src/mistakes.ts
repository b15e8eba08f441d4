// What is wrong with a command line, as one sentence that says what to do. Loaded only where something is.

import { existsSync } from 'node:fs'
import type { cac } from 'cac'
import { OrielError } from 'oriel/project'
import { nearest } from './names.ts'
import type { Misread } from './words.ts'

type Cli = ReturnType<typeof cac>

/** Words that people try, and the command that does it. */
const synonyms: Readonly<Record<string, string>> = {
  ...{ studio: 'serve', ui: 'serve', start: 'serve', gateway: 'serve', proxy: 'serve' },
  ...{ setup: 'connect', init: 'connect', uninstall: 'disconnect' },
  ...{ stats: 'inspect', analyze: 'inspect', analyse: 'inspect', tokens: 'inspect' },
  ...{ compare: 'simulate', replay: 'simulate', bench: 'simulate' },
  ...{ find: 'search', grep: 'search', check: 'doctor', verify: 'doctor', repair: 'doctor' },
  ...{ backup: 'export', dump: 'export', restore: 'import', load: 'import' },
  ...{ version: '--version' },
}

export function unknownCommand({ commands }: Cli, name: string): OrielError {
  const known = commands.map((command) => command.name)
  return new OrielError('invalid-option', `there is no command '${name}'${adviceFor(name, known)}.`)
}

function adviceFor(name: string, known: readonly string[]): string {
  const meant = nearest(name, known) ?? synonyms[name.toLowerCase()]
  if (meant !== undefined) return `, did you mean oriel ${meant}`
  if (/[./\\]/.test(name) || existsSync(name)) return `; to look at a file: oriel inspect ${name}`
  return '; oriel --help lists the commands'
}

/** The parser's error as a sentence that says what to do. */
export function explained(error: unknown, cli: Cli): unknown {
  if (!(error instanceof Error)) return error
  const [, rawName] = /option `(.+)` value is missing/.exec(error.message) ?? []
  if (rawName !== undefined) {
    const [option = ''] = rawName.split(' ')
    return wrong(`${option} needs a value: ${rawName}`, cli)
  }
  const [, given] = /Unknown option `(.+)`/.exec(error.message) ?? []
  return given === undefined ? error : unknownOption(given, cli)
}

/** The same for a word that the parser would misread. */
export function misreadError({ word, hasValue }: Misread, cli: Cli): OrielError {
  return hasValue ? wrong(`${word} takes no value`, cli) : unknownOption(word, cli)
}

function unknownOption(given: string, cli: Cli): OrielError {
  if (/^-\d/.test(given)) {
    const advice = `a value that begins with - needs a = before it, such as --top=${given}`
    return new OrielError('invalid-option', `unknown option ${given}; ${advice}.`)
  }
  const name = dashed(given.replace(/^-+/, ''))
  const { commands, matchedCommand, globalCommand } = cli
  const isCommand = matchedCommand === undefined && commands.some((one) => one.name === name)
  if (isCommand) {
    return new OrielError('invalid-option', `unknown option ${given}, did you mean oriel ${name}.`)
  }
  const options = [...(matchedCommand?.options ?? []), ...globalCommand.options]
  const known = options.flatMap(({ names }) => names.map(dashed))
  const near = nearest(name, known)
  const hint = near === undefined ? '' : `, did you mean --${near}`
  const shown = given.startsWith('--') ? `--${name}` : given
  return wrong(`unknown option ${shown}${hint}`, cli)
}

function dashed(name: string): string {
  return name.replaceAll(/[A-Z]/g, (one) => `-${one.toLowerCase()}`)
}

function wrong(problem: string, { matchedCommand }: Cli): OrielError {
  const command = matchedCommand === undefined ? 'oriel' : `oriel ${matchedCommand.name}`
  return new OrielError('invalid-option', `${problem}; ${command} --help lists the options.`)
}
