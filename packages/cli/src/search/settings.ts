// Options of `oriel search` and `oriel context`.

import { type Choice, readChoice, readPath, wrong } from '../doctor/store-options.ts'
import type { RawOptions } from '../inspect/settings.ts'
import type { GatewayAddress } from './gateway.ts'

export interface SearchSettings {
  readonly query: string
  readonly path: string
  /** A gateway to ask instead of a store. */
  readonly gateway?: GatewayAddress
  readonly choice: Choice
  readonly limit: number
  readonly isJson: boolean
}

const defaultLimit = 10
const maxLimit = 100

export function readSearchSettings(
  words: readonly string[],
  raw: RawOptions,
  env: NodeJS.ProcessEnv = {},
): SearchSettings {
  const query = words.join(' ').trim()
  if (query === '') throw wrong('say what to find: oriel search <query>.')
  const { limit = defaultLimit } = raw
  if (!Number.isInteger(limit) || (limit as number) < 1 || (limit as number) > maxLimit) {
    throw wrong(`--limit must be a whole number from 1 to ${maxLimit}.`)
  }
  const choice = readChoice(raw)
  const isJson = raw.json === true
  const where = readWhere(raw, env)
  if (where.gateway !== undefined && choice.threads.length > 1)
    throw wrong('with --url, name one --thread at most.')
  return { query, ...where, choice, limit: limit as number, isJson }
}

export interface ContextSettings {
  readonly thread: string
  readonly tenant: string | undefined
  readonly path: string
  readonly gateway?: GatewayAddress
  readonly isJson: boolean
}

export function readContextSettings(
  words: readonly string[],
  raw: RawOptions,
  env: NodeJS.ProcessEnv = {},
): ContextSettings {
  const [thread, ...rest] = words
  if (thread === undefined || rest.length > 0) throw wrong('name one thread: oriel context <id>.')
  const { tenant } = readChoice(raw)
  return { thread, tenant, ...readWhere(raw, env), isJson: raw.json === true }
}

/** A store, or a gateway that has it open. */
function readWhere(
  raw: RawOptions,
  env: NodeJS.ProcessEnv,
): { readonly path: string; readonly gateway?: GatewayAddress } {
  const { url, key = env.ORIEL_KEY } = raw
  if (url === undefined) return { path: readPath(raw) }
  if (typeof url !== 'string' || !/^https?:\/\//.test(url))
    throw wrong('--url must be the address of a gateway: http://127.0.0.1:4141.')
  for (const name of ['data', 'store', 'tenant'])
    if (raw[name] !== undefined) throw wrong(`--url and --${name} cannot be given together.`)
  return { path: '', gateway: typeof key === 'string' && key !== '' ? { url, key } : { url } }
}
