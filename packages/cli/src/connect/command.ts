// `oriel connect` and `oriel disconnect`: sends the model calls of installed agents through the gateway, and takes it back.

import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { OrielError } from 'oriel'
import { didYouMean } from '../names.ts'
import { renderJson } from '../render/json.ts'
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
  readonly isJson: boolean
}

/** Incremented when a field changes its meaning. docs/guides/connect.md documents the shape. */
const jsonVersion = 1

/** What became of one agent. */
type Outcome =
  | { readonly type: 'connected' | 'would connect'; readonly files: readonly PlannedFile[] }
  | { readonly type: 'connected already'; readonly how: How }
  | { readonly type: 'failed'; readonly error: OrielError }

/** Resolves to the exit code: 0, or 1 if no agent was found or one could not be connected. */
export async function connect(settings: ConnectSettings, terminal: Terminal): Promise<number> {
  const { names, how, isJson } = settings
  const { stdout, stderr, env } = terminal
  const place = placeOf(env)
  const chosen = names.length > 0 ? names.map(agentNamed) : agents.filter(isInstalled(place))
  const results = chosen.map((agent) => ({ agent, outcome: connectOne(agent, settings, place) }))
  if (isJson) {
    const found = results.map(({ agent, outcome }) => ({ name: agent.name, ...plain(outcome) }))
    stdout.write(renderJson({ version: jsonVersion, how, agents: found }))
  } else if (chosen.length === 0) {
    const known = agents.map(({ name }) => name).join(', ')
    stdout.write(`No agent was found. Known are: ${known}. Name one to connect it anyway.\n`)
  } else {
    const colors = colorsFor(stdout, env)
    for (const { agent, outcome } of results) {
      if (outcome.type === 'failed')
        stderr.write(`oriel: ${agent.name}: ${outcome.error.message}\n`)
      else stdout.write(render(agent, { outcome, how }, colors))
    }
  }
  return results.some(({ outcome }) => outcome.type === 'failed') || chosen.length === 0 ? 1 : 0
}

function connectOne(agent: Agent, { how, url, isDryRun }: ConnectSettings, place: Place): Outcome {
  try {
    const connections = new Connections(folderOf(place))
    const connected = connections.get(agent.name)
    if (connected !== undefined && connected.how !== how) {
      return { type: 'connected already', how: connected.how }
    }
    // Another folder of settings of the same agent is connected as well.
    const known = new Set(connected?.files.map(({ path }) => path))
    const files = plan(changesOf(agent, { how, url, place })).filter(
      ({ target }) => !known.has(target),
    )
    if (connected !== undefined && files.length === 0) return { type: 'connected already', how }
    if (isDryRun) return { type: 'would connect', files }
    if (!isUnchanged(files)) connections.connect(agent.name, how, files)
    return { type: 'connected', files }
  } catch (error) {
    if (!OrielError.is(error)) throw error
    return { type: 'failed', error }
  }
}

/** An outcome as JSON has it. */
function plain(outcome: Outcome): object {
  if (outcome.type === 'failed') {
    const { code, message } = outcome.error
    return { type: outcome.type, error: { code, message } }
  }
  if (outcome.type === 'connected already') return outcome
  const files = outcome.files.map(({ path, before, settings, past }) => ({
    path,
    isNew: before === undefined,
    settings: settings.map(({ path: keys, value }, index) => ({
      key: keys.join('.'),
      ...(typeof value === 'string' ? { value } : { added: value.add }),
      ...(past[index]?.value === undefined ? {} : { before: past[index].value }),
    })),
  }))
  return { type: outcome.type, files }
}

/** Resolves to the exit code: 0, or 1 if nothing was connected. */
export async function disconnect(
  names: readonly string[],
  { isJson }: { readonly isJson: boolean },
  terminal: Terminal,
): Promise<number> {
  const { stdout, stderr, env } = terminal
  const connections = new Connections(folderOf(placeOf(env)))
  const chosen = names.length > 0 ? names.map((name) => agentNamed(name).name) : connections.names()
  const found = chosen
    .filter((name) => connections.get(name) !== undefined)
    .map((name) => disconnectOne(connections, name))
  if (isJson) stdout.write(renderJson({ version: jsonVersion, agents: found.map(plainUndone) }))
  else if (found.length === 0) stdout.write('Nothing is connected.\n')
  for (const { name, files, error } of isJson ? [] : found) {
    if (error !== undefined) stderr.write(`oriel: ${name}: ${error.message}\n`)
    for (const { path, isExact } of files) {
      const how = isExact
        ? 'as it was before'
        : 'was changed meanwhile: only the settings of Oriel were taken back'
      stdout.write(`${name}: ${path} ${how}\n`)
    }
  }
  return found.length === 0 || found.some(({ error }) => error !== undefined) ? 1 : 0
}

interface Undone {
  readonly name: string
  readonly files: ReturnType<Connections['disconnect']>
  /** Why it is still connected. */
  readonly error?: OrielError
}

function disconnectOne(connections: Connections, name: string): Undone {
  try {
    return { name, files: connections.disconnect(name) }
  } catch (error) {
    if (!OrielError.is(error)) throw error
    return { name, files: [], error }
  }
}

function plainUndone({ name, files, error }: Undone): object {
  if (error === undefined) return { name, files }
  const { code, message } = error
  return { name, files, error: { code, message } }
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
  const problem = `there is no agent '${name}'${didYouMean(name, known)}`
  throw new OrielError('invalid-option', `${problem}; known: ${known.join(', ')}.`)
}

function changesOf(
  agent: Agent,
  { how, url, place }: { readonly how: How; readonly url: string; readonly place: Place },
): readonly FileChange[] {
  if (how === 'base-url') return agent.baseUrl(place, url)
  if (agent.plugin === undefined) {
    throw new OrielError(
      'invalid-option',
      `it has no plugin, use --how base-url; plugins exist for ${agents
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
    return fileURLToPath(import.meta.resolve(`@oriel/${name}`))
  } catch (cause) {
    const message = `its plugin is not installed: npm install @oriel/${name}.`
    throw new OrielError('not-found', message, { cause })
  }
}

function render(
  agent: Agent,
  { outcome, how }: { readonly outcome: Exclude<Outcome, { type: 'failed' }>; readonly how: How },
  colors: Colors,
): string {
  if (outcome.type === 'connected already') {
    const message = `connected already, by ${outcome.how}; oriel disconnect ${agent.name} takes it back`
    return `${colors.bold(agent.name)}: ${message}\n`
  }
  const { files } = outcome
  const title = outcome.type === 'would connect' ? 'would be connected' : 'connected'
  const lines = files.flatMap(({ path, before, settings, past }) => [
    `  ${path}${before === undefined ? ' (new)' : ''}`,
    ...settings.map(({ path: keys, value }, index) => {
      const next = typeof value === 'string' ? value : `${value.add} added`
      return `    ${keys.join('.')}: ${next}${wasText(past[index])}`
    }),
  ])
  const former = files.flatMap(({ past }) => past.map(({ value }) => value)).filter(isUrl)
  const upstream =
    former.length === 0
      ? []
      : [`  It went to ${former.join(', ')} before: give that to oriel serve --upstream.`]
  const head = `${colors.bold(agent.name)}: ${title} by ${how}`
  return `${[head, ...lines, `  ${agent.note}`, ...upstream].join('\n')}\n`
}

function isUrl(value: unknown): value is string {
  return typeof value === 'string' && /^https?:\/\//.test(value)
}

function wasText(past: PastSetting | undefined): string {
  if (past?.value === undefined) return ''
  return ` (was ${JSON.stringify(past.value)})`
}
