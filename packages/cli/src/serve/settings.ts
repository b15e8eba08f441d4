// Options of `oriel serve`: the command line overrides the configuration file.

import { existsSync, readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import {
  type GatewayConfig,
  type GatewayOptions,
  optionsOf,
  readAgents,
  readConfig,
} from '@oriel/gateway'
import { defaultFolder, defaultPort } from '../defaults.ts'
import { checkPath, fileIn, readGivenPath, readText, wrong } from '../doctor/store-options.ts'
import type { RawOptions } from '../inspect/settings.ts'
import { choice } from '../names.ts'
import { readPolicy } from '../policy-option.ts'

export interface ServeSettings {
  readonly port: number
  readonly host: string
  /** The SQLite file, or the database URL. */
  readonly path: string
  readonly gateway: GatewayOptions
  /** Whether the addresses are printed as one line of JSON. @default false */
  readonly isJson?: boolean
}

export function readServeSettings(
  raw: RawOptions,
  env: Readonly<Record<string, string | undefined>>,
): ServeSettings {
  const file = readText(raw, 'config')
  const config = file === undefined ? {} : readConfig(readJson(file), env)
  const folder = file === undefined ? '.' : dirname(file)
  const upstream = readText(raw, 'upstream')
  const policy = readText(raw, 'policy')
  const agents = agentsOf(config, folder)
  return {
    port: readPort(raw) ?? config.port ?? defaultPort,
    host: readText(raw, 'host') ?? config.host ?? '127.0.0.1',
    path: readGivenPath(raw) ?? pathIn(config, folder),
    isJson: raw.json === true,
    gateway: {
      ...optionsOf(config),
      ...readLog(raw),
      env,
      ...(agents === undefined ? {} : { agents }),
      ...(upstream === undefined ? {} : { upstreams: [{ name: 'upstream', baseUrl: upstream }] }),
      ...(policy === undefined ? {} : { policy: readPolicy(policy).policy }),
      ...readExpand(raw),
    },
  }
}

const expandModes = { auto: 'auto', always: true, never: false } as const

/** `--expand` alone is always. */
function readExpand({ expand }: RawOptions): Pick<GatewayOptions, 'expand'> {
  if (expand === undefined) return {}
  const names = ['auto', 'always', 'never'] as const
  return { expand: expandModes[choice('expand', expand === true ? 'always' : expand, names)] }
}

function readLog(raw: RawOptions): Pick<GatewayOptions, 'logFormat'> {
  const format = readText(raw, 'log')
  if (format === undefined) return {}
  return { logFormat: choice('log', format, ['text', 'json'] as const) }
}

function agentsOf(config: GatewayConfig, folder: string): GatewayOptions['agents'] {
  if (config.agents !== undefined) return readAgents(resolve(folder, config.agents))
  return existsSync('agents') ? readAgents('agents') : undefined
}

function pathIn({ store, data }: GatewayConfig, folder: string): string {
  if (store !== undefined) return checkPath(store, "The configuration's 'store'")
  return fileIn(data === undefined ? defaultFolder : resolve(folder, data))
}

function readPort(raw: RawOptions): number | undefined {
  const { port } = raw
  if (port === undefined) return undefined
  if (typeof port === 'number' && Number.isInteger(port) && port >= 0 && port <= 65_535) return port
  throw wrong(`--port must be a number from 0 to 65535; got '${String(port)}'.`)
}

function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (cause) {
    const problem = existsSync(file) ? 'is not valid JSON' : 'does not exist'
    throw wrong(`--config: the file '${file}' ${problem}.`, cause)
  }
}
