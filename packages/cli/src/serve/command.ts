// `oriel serve`: runs the gateway and the studio on one port until stopped.

import {
  checkHost,
  createGateway,
  demoAgents,
  findStudio,
  type Gateway,
  type GatewayServer,
  serveGateway,
  watchProcess,
} from '@oriel/gateway'
import { lintPolicy } from 'oriel'
import { checkModes, checkPlace } from '../doctor/file-check.ts'
import { isServer } from '../doctor/store-options.ts'
import { renderJson } from '../render/json.ts'
import { clean } from '../render/text.ts'
import { colorsFor, type Terminal } from '../terminal.ts'
import { openStore } from './open-store.ts'
import type { ServeSettings } from './settings.ts'

/** Incremented when a field changes its meaning. docs/guides/gateway.md documents the shape. */
const jsonVersion = 1

/**
 * Resolves to the exit code when `stopped` does, by default at the first stop signal. A second
 * signal exits at once. An uncaught exception stops it in the same way, with exit code 1.
 */
export async function serve(
  { port, host, path, gateway: options, isJson = false }: ServeSettings,
  terminal: Terminal,
  stopped: Promise<unknown> = signalled(),
): Promise<number> {
  const { stdout, stderr, env } = terminal
  const colors = colorsFor(stdout, env)
  const store = openStore(path)
  const isDemo = (options.upstreams ?? []).length === 0
  const studio = findStudio()
  const agents = isDemo ? { ...demoAgents(), ...options.agents } : options.agents
  const gateway = createGateway({
    store,
    log: (line) => stderr.write(`${line}\n`),
    ...options,
    ...(agents === undefined ? {} : { agents }),
    ...(studio === undefined ? {} : { studio }),
    offload: {
      module: workerFile(),
      data: { path, options: plainOptions({ ...options, agents }) },
    },
  })
  // Check all settings before anything is written.
  checkHost(gateway, host)
  const server = await start(gateway, { port, host, path })
  const kept = isServer(path) ? store.name : path
  const upstreams = (options.upstreams ?? []).map(({ name }) => name)
  const addresses = {
    version: jsonVersion,
    url: server.url,
    openai: `${server.url}/v1`,
    anthropic: server.url,
    ...(studio === undefined ? {} : { studio: `${server.url}/` }),
    isDemo,
    upstreams,
    store: kept,
  }
  const lines = [
    `${colors.bold('oriel')} listens on ${colors.cyan(server.url)}`,
    `  base_url for OpenAI clients     ${server.url}/v1`,
    `  base_url for Anthropic clients  ${server.url}`,
    ...(studio === undefined ? [] : [`  studio                          ${server.url}/`]),
    isDemo
      ? '  No upstream is set: a built-in demo answers. Set one with --upstream https://api.example.com'
      : `  upstream                        ${upstreams.join(', ')}`,
    `  threads are kept in             ${kept}`,
    'Stop with Ctrl-C.',
  ]
  stdout.write(isJson ? renderJson(addresses, 'line') : `${lines.join('\n')}\n`)
  const findings = isServer(path) ? [] : [...checkPlace(path), ...checkModes(path)]
  for (const { message, remedy } of findings)
    stderr.write(`oriel serve: warning: ${clean(`${message} What to do: ${remedy}.`)}\n`)
  for (const line of policyWarnings(options)) stderr.write(`oriel serve: warning: ${clean(line)}\n`)
  const broken = Promise.withResolvers<number>()
  const unwatch = watchProcess(gateway, { stop: () => broken.resolve(failed) })
  try {
    return await Promise.race([stopped.then(() => 0), broken.promise])
  } finally {
    await server.close()
    await store.close()
    unwatch()
  }
}

/** The worker beside this file: TypeScript in the sources, JavaScript in the package. */
function workerFile(): URL {
  const extension = import.meta.url.endsWith('.ts') ? '.ts' : '.js'
  return new URL(`./large-call-worker${extension}`, import.meta.url)
}

/** Options as a worker thread can have them: the environment is an object of its own kind, and absent fields are missing. */
function plainOptions(options: object): object {
  return JSON.parse(JSON.stringify(options)) as object
}

/** What is valid in a policy and contradicts itself: of the default, and of each agent's own. */
function policyWarnings({ policy, agents = {} }: ServeSettings['gateway']): readonly string[] {
  const given = [
    { where: 'policy', policy },
    ...Object.entries(agents).map(([name, agent]) => ({
      where: `policy of agent ${name}`,
      policy: agent.policy,
    })),
  ]
  return given.flatMap(({ where, policy: one }) =>
    one === undefined
      ? []
      : lintPolicy(one).map(({ path, message }) => `${where}, ${path}: ${message}`),
  )
}

/** Exit code after an uncaught error, so that a supervisor restarts the process. */
const failed = 1

/**
 * Reports an unusable file before listening; a database may still be starting up. Closes everything
 * if the gateway cannot listen.
 */
async function start(
  gateway: Gateway,
  { port, host, path }: Pick<ServeSettings, 'port' | 'host' | 'path'>,
): Promise<GatewayServer> {
  const { store } = gateway
  try {
    if (!isServer(path)) await store.list('local', { limit: 1 })
    return await serveGateway(gateway, { port, host })
  } catch (error) {
    await gateway.close()
    await store.close()
    throw error
  }
}

/** SIGHUP: the terminal was closed. */
const stopSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

function signalled(): Promise<void> {
  return new Promise((resolve) => {
    let isStopping = false
    for (const signal of stopSignals) {
      process.on(signal, () => {
        if (isStopping) process.exit(1)
        isStopping = true
        resolve()
      })
    }
  })
}
