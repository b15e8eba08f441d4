// The options of `oriel serve`, from the command line over those of the configuration file.

import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import {
  type GatewayConfig,
  type GatewayOptions,
  optionsOf,
  readAgents,
  readConfig,
} from '@oriel/gateway'
import { type PolicyInput, presets } from 'oriel'
import { defaultFolder, readText, wrong } from '../doctor/place.ts'
import type { RawOptions } from '../inspect/settings.ts'

export const defaultPort = 4141

export interface ServeSettings {
  readonly port: number
  readonly host: string
  /** A folder, a SQLite file, or the address of a database. */
  readonly place: { readonly folder: string } | { readonly store: string }
  readonly gateway: GatewayOptions
}

export function readServeSettings(
  raw: RawOptions,
  env: Readonly<Record<string, string | undefined>>,
): ServeSettings {
  const file = readText(raw, 'config')
  const config = file === undefined ? {} : readConfig(readJson(file, '--config'), env)
  const folder = file === undefined ? '.' : dirname(file)
  const upstream = readText(raw, 'upstream')
  const policy = readText(raw, 'policy')
  const agents = agentsOf(config, folder)
  return {
    port: readPort(raw) ?? config.port ?? defaultPort,
    host: readText(raw, 'host') ?? config.host ?? '127.0.0.1',
    place: readPlace(raw, config, folder),
    gateway: {
      ...optionsOf(config),
      ...readLog(raw),
      env,
      ...(agents === undefined ? {} : { agents }),
      ...(upstream === undefined ? {} : { upstreams: [{ name: 'upstream', baseUrl: upstream }] }),
      ...(policy === undefined ? {} : { policy: readPolicy(policy) }),
      ...(raw.expand === true ? { expand: true } : {}),
    },
  }
}

function readLog(raw: RawOptions): Pick<GatewayOptions, 'logFormat'> {
  const format = readText(raw, 'log')
  if (format === undefined) return {}
  if (format === 'text' || format === 'json') return { logFormat: format }
  throw wrong(`--log takes text or json; got '${format.slice(0, 40)}'.`)
}

function agentsOf(config: GatewayConfig, folder: string): GatewayOptions['agents'] {
  if (config.agents !== undefined) return readAgents(resolve(folder, config.agents))
  return existsSync('agents') ? readAgents('agents') : undefined
}

function readPlace(raw: RawOptions, config: GatewayConfig, folder: string): ServeSettings['place'] {
  const data = readText(raw, 'data')
  const store = readText(raw, 'store')
  if (data !== undefined && store !== undefined) {
    throw wrong('--data and --store both name a store; give one of them.')
  }
  if (store !== undefined) return { store }
  if (data !== undefined) return { folder: data }
  if (config.store !== undefined) return { store: config.store }
  return { folder: config.data === undefined ? defaultFolder : resolve(folder, config.data) }
}

function readPort(raw: RawOptions): number | undefined {
  const { port } = raw
  if (port === undefined) return undefined
  if (typeof port === 'number' && Number.isInteger(port) && port >= 0 && port <= 65_535) return port
  throw wrong(`--port must be a number from 0 to 65535; got '${String(port)}'.`)
}

/** A preset's name, or a file with a policy, or with several parts of one. */
function readPolicy(text: string): PolicyInput {
  if (Object.hasOwn(presets, text)) return text as PolicyInput
  if (existsSync(text)) return readJson(text, '--policy') as PolicyInput
  const known = Object.keys(presets).join(', ')
  throw wrong(`--policy takes a preset (${known}) or a JSON file; there is no file '${text}'.`)
}

function readJson(file: string, option: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (cause) {
    const problem = existsSync(file) ? 'is not valid JSON' : 'does not exist'
    throw wrong(`${option}: the file '${file}' ${problem}.`, cause)
  }
}

/** The SQLite file in a folder. */
export function fileIn(folder: string): string {
  return join(folder, 'oriel.db')
}
