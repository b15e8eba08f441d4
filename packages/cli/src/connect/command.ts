// `oriel connect` and `oriel disconnect`: sends the model calls of installed agents through the gateway, and takes it back.

import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'
import { OrielError } from 'oriel'
import { nearestName } from 'oriel/internal'
import { type Colors, colorsFor, type Terminal } from '../terminal.ts'
import { type Agent, agents, type FileChange, type How, type Place } from './agents.ts'
import { Connections, isUnchanged, type PlannedFile, plan } from './connections.ts'
import type { PastSetting } from './settings-file.ts'

export interface ConnectSettings {
  /** Names of agents; none means all that are installed. */
  readonly names: readonly string[]
  readonly how: How
  /** The gateway, without a slash at the end. */
  readonly url: string
  readonly isDryRun: boolean
}

/** Resolves to the exit code: 0, or 1 if no agent was found or one could not be connected. */
export async function connect(
  { names, how, url, isDryRun }: ConnectSettings,
  terminal: Terminal,
): Promise<number> {
  const { stdout, stderr, env } = terminal
  const colors = colorsFor(stdout, env)
  const place = placeOf(env)
  const connections = new Connections(folderOf(place))
  const chosen = names.length > 0 ? names.map(agentNamed) : agents.filter(isInstalled(place))
  if (chosen.length === 0) {
    const known = agents.map(({ name }) => name).join(', ')
    stdout.write(`No agent was found. Known are: ${known}. Name one to connect it anyway.\n`)
    return 1
  }
  let code = 0
  for (const agent of chosen) {
    try {
      const connected = connections.get(agent.name)
      if (connected !== undefined) {
        const message = `connected already, by ${connected.how}; oriel disconnect ${agent.name} takes it back`
        stdout.write(`${colors.bold(agent.name)}: ${message}\n`)
        continue
      }
      const files = plan(changesOf(agent, { how, url, place }))
      stdout.write(render(agent, { files, how, isDryRun }, colors))
      if (!isDryRun && !isUnchanged(files)) connections.connect(agent.name, how, files)
    } catch (error) {
      if (!OrielError.is(error)) throw error
      stderr.write(`oriel: ${agent.name}: ${error.message}\n`)
      code = 1
    }
  }
  return code
}

/** Resolves to the exit code: 0, or 1 if nothing was connected. */
export async function disconnect(names: readonly string[], terminal: Terminal): Promise<number> {
  const { stdout, env } = terminal
  const connections = new Connections(folderOf(placeOf(env)))
  const chosen = names.length > 0 ? names.map((name) => agentNamed(name).name) : connections.names()
  const found = chosen.filter((name) => connections.get(name) !== undefined)
  if (found.length === 0) {
    stdout.write('Nothing is connected.\n')
    return 1
  }
  for (const name of found) {
    for (const { path, isExact } of connections.disconnect(name)) {
      const how = isExact
        ? 'as it was before'
        : 'was changed meanwhile: only the settings of Oriel were taken back'
      stdout.write(`${name}: ${path} ${how}\n`)
    }
  }
  return 0
}

function placeOf(env: Terminal['env']): Place {
  return { home: env.HOME ?? homedir(), env }
}

function folderOf({ home, env }: Place): string {
  return env.ORIEL_HOME ?? join(home, '.oriel')
}

function isInstalled(place: Place): (agent: Agent) => boolean {
  const folders = (place.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '')
  return ({ programs, folder }) =>
    existsSync(folder(place)) ||
    programs.some((program) => folders.some((one) => existsSync(join(one, program))))
}

function agentNamed(name: string): Agent {
  const found = agents.find((agent) => agent.name === name || agent.programs.includes(name))
  if (found !== undefined) return found
  const known = agents.map((agent) => agent.name)
  const near = nearestName(name, known)
  const hint = near === undefined ? '' : ` Did you mean '${near}'?`
  throw new OrielError(
    'invalid-option',
    `there is no agent '${name}'.${hint} Known are: ${known.join(', ')}.`,
  )
}

function changesOf(
  agent: Agent,
  { how, url, place }: { readonly how: How; readonly url: string; readonly place: Place },
): readonly FileChange[] {
  if (how === 'base-url') return agent.baseUrl(place, url)
  if (agent.plugin === undefined) {
    throw new OrielError(
      'invalid-option',
      `it has no plugin. Use --how base-url. Plugins exist for: ${agents
        .filter(({ plugin }) => plugin !== undefined)
        .map(({ name }) => name)
        .join(', ')}.`,
    )
  }
  return agent.plugin(place, pluginOf(agent.name))
}

/** The module of the plugin, where it is installed: agents load it by path. */
function pluginOf(name: string): string {
  try {
    return new URL(import.meta.resolve(`@oriel/${name}`)).pathname
  } catch (cause) {
    const message = `its plugin is not installed: npm install @oriel/${name}.`
    throw new OrielError('not-found', message, { cause })
  }
}

function render(
  agent: Agent,
  {
    files,
    how,
    isDryRun,
  }: { readonly files: readonly PlannedFile[]; readonly how: How; readonly isDryRun: boolean },
  colors: Colors,
): string {
  const title = isDryRun ? 'would be connected' : 'connected'
  const lines = files.flatMap(({ path, before, settings, past }) => [
    `  ${path}${before === undefined ? ' (new)' : ''}`,
    ...settings.map(({ path: keys, value }, index) => {
      const next = typeof value === 'string' ? value : `${value.add} added`
      return `    ${keys.join('.')}: ${next}${wasText(past[index])}`
    }),
  ])
  return `${[`${colors.bold(agent.name)}: ${title} by ${how}`, ...lines, `  ${agent.note}`].join(
    '\n',
  )}\n`
}

function wasText(past: PastSetting | undefined): string {
  if (past?.value === undefined) return ''
  return ` (was ${JSON.stringify(past.value)})`
}
