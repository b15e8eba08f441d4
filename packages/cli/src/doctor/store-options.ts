// Options shared by the store commands: the store's location, and the selected threads.

import { join } from 'node:path'
import { OrielError } from 'oriel'
import { defaultFolder } from '../defaults.ts'
import type { RawOptions } from '../inspect/settings.ts'

/** Selected threads by tenant and id. An absent field selects all. */
export interface Choice {
  readonly tenant?: string
  /** Empty means all. */
  readonly threads: readonly string[]
}

/** The store's file or URL from `--data` or `--store`, or the default. */
export function readPath(raw: RawOptions): string {
  return readGivenPath(raw) ?? usualPath()
}

export function readGivenPath(raw: RawOptions): string | undefined {
  const folder = readText(raw, 'data')
  const path = readText(raw, 'store')
  if (folder !== undefined && path !== undefined) {
    throw wrong('--data and --store both name a store; give one of them.')
  }
  if (path !== undefined) return checkPath(path, '--store')
  return folder === undefined ? undefined : fileIn(folder)
}

/** Rejects a URL of an unknown scheme, which would become a file name. */
export function checkPath(path: string, name: string): string {
  if (isServer(path) || !/^[a-z]+:\/\//i.test(path)) return path
  throw wrong(`${name} takes the path of a SQLite file, or postgres://user@host/database.`)
}

/** The SQLite file in a directory. */
export function fileIn(folder: string): string {
  return join(folder, 'oriel.db')
}

/** True if the store is on a server. Its URL may contain a password and is never printed. */
export function isServer(path: string): boolean {
  return /^postgres(?:ql)?:\/\//i.test(path)
}

/** The command with the option that names the store, if it is not the default. */
export function commandFor(command: string, path: string): string {
  if (!command.startsWith('oriel ') || path === usualPath()) return command
  return `${command} --store ${isServer(path) ? '"$DATABASE_URL"' : shellWord(path)}`
}

function usualPath(): string {
  return fileIn(defaultFolder)
}

export function readChoice(raw: RawOptions): Choice {
  const tenant = readText(raw, 'tenant')
  const threads = readTexts(raw, 'thread')
  return { ...(tenant === undefined ? {} : { tenant }), threads }
}

export function isChosen({ tenant, threads }: Choice, key: ThreadName): boolean {
  if (tenant !== undefined && key.tenant !== tenant) return false
  return threads.length === 0 || threads.includes(key.thread)
}

interface ThreadName {
  readonly tenant: string
  readonly thread: string
}

/** The single value of an option. */
export function readText(raw: RawOptions, name: string): string | undefined {
  const [value, ...others] = readTexts(raw, name)
  if (others.length > 0) throw wrong(`--${name} takes one value; give it once.`)
  return value
}

/** All values of a repeatable option. */
function readTexts(raw: RawOptions, name: string): readonly string[] {
  const value = raw[name]
  const values = value === undefined ? [] : Array.isArray(value) ? value : [value]
  return values.map((one: unknown) => {
    if (typeof one !== 'string' || one === '') throw wrong(`--${name} must not be empty.`)
    return one
  })
}

export function wrong(message: string, cause?: unknown): OrielError {
  return new OrielError('invalid-option', message, { cause })
}

const defaultTenant = 'default'

/** Describes a thread. Names the tenant only if it is not the default. */
export function nameOf({ tenant, thread }: ThreadName): string {
  return tenant === defaultTenant ? `thread ${thread}` : `thread ${thread} of tenant ${tenant}`
}

/** The options that select a thread, quoted for a shell. */
export function optionsFor({ tenant, thread }: ThreadName): string {
  const own = `--thread ${shellWord(thread)}`
  return tenant === defaultTenant ? own : `--tenant ${shellWord(tenant)} ${own}`
}

export function shellWord(text: string): string {
  return /^[\w@%+=:,./][\w@%+=:,./-]*$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
