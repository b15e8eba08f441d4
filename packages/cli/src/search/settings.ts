// Options of `oriel search` and `oriel context`.

import { type Choice, readChoice, readPath, wrong } from '../doctor/store-options.ts'
import type { RawOptions } from '../inspect/settings.ts'

export interface SearchSettings {
  readonly query: string
  readonly path: string
  readonly choice: Choice
  readonly limit: number
  readonly isJson: boolean
}

const defaultLimit = 10
const maxLimit = 100

export function readSearchSettings(words: readonly string[], raw: RawOptions): SearchSettings {
  const query = words.join(' ').trim()
  if (query === '') throw wrong('say what to find: oriel search <query>.')
  const { limit = defaultLimit } = raw
  if (!Number.isInteger(limit) || (limit as number) < 1 || (limit as number) > maxLimit) {
    throw wrong(`--limit must be a whole number from 1 to ${maxLimit}.`)
  }
  const choice = readChoice(raw)
  const isJson = raw.json === true
  return { query, path: readPath(raw), choice, limit: limit as number, isJson }
}

export interface ContextSettings {
  readonly thread: string
  readonly tenant: string | undefined
  readonly path: string
  readonly isJson: boolean
}

export function readContextSettings(words: readonly string[], raw: RawOptions): ContextSettings {
  const [thread, ...rest] = words
  if (thread === undefined || rest.length > 0) throw wrong('name one thread: oriel context <id>.')
  const { tenant } = readChoice(raw)
  return { thread, tenant, path: readPath(raw), isJson: raw.json === true }
}
