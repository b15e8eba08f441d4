// Configuration file of `oriel serve`: validated, with secrets from the environment.

import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { OrielError } from 'oriel'
import { nearestName } from 'oriel/internal'
import { keyHeaders } from 'oriel/providers'
import { z } from 'zod'
import type { AgentOptions, GatewayOptions } from './options.ts'
import { readAgents } from './settings/agents.ts'

const name = z.string().min(1).max(100)
const positive = z.number().int().positive()

const upstream = z.strictObject({
  name,
  baseUrl: z.url(),
  key: z.string().min(1).optional(),
  keyHeader: z.enum(keyHeaders).optional(),
  models: z.array(z.string().min(1)).optional(),
  retries: z.number().int().min(0).max(2).optional(),
  cacheHints: z.boolean().optional(),
  contextManagement: z.enum(['auto', 'delegate', 'emulate', 'own']).optional(),
})

const key = z.strictObject({
  name,
  key: z.string().min(1).optional(),
  hash: z.string().optional(),
  tenant: name.optional(),
  mayOverride: z.boolean().optional(),
  isAdmin: z.boolean().optional(),
})

const limits = z.strictObject({
  bodyBytes: positive.optional(),
  depth: positive.optional(),
  nodes: positive.optional(),
  messages: positive.optional(),
  largeBytes: positive.optional(),
  bodyMs: positive.optional(),
  firstByteMs: positive.optional(),
  idleMs: positive.optional(),
  slowClientMs: positive.optional(),
  streamMs: positive.optional(),
  concurrentCalls: positive.optional(),
  totalCalls: positive.optional(),
  upstreamCalls: positive.optional(),
  upstreamQueue: z.number().int().min(0).optional(),
  upstreamQueueMs: positive.optional(),
  answerBytes: positive.optional(),
  totalBytes: positive.optional(),
  lateMs: z.number().int().min(0).optional(),
  knownBytes: z.number().int().min(0).optional(),
  openBytes: z.number().int().min(0).optional(),
  expandRounds: positive.optional(),
  expandMs: positive.optional(),
  expandPulseMs: positive.optional(),
  replayMs: positive.optional(),
  replayBytes: positive.optional(),
})

const schema = z.strictObject({
  upstreams: z.array(upstream).optional(),
  keys: z.array(key).optional(),
  /** Directory of agent templates, relative to the file. */
  agents: z.string().min(1).optional(),
  policy: z.unknown().optional(),
  requestOverrides: z.enum(['allow', 'scoped-key', 'deny']).optional(),
  ceilings: z.record(z.string(), z.number()).optional(),
  management: z.boolean().optional(),
  expand: z.union([z.boolean(), z.literal('auto')]).optional(),
  recall: z
    .union([
      z.literal('auto'),
      z.literal(false),
      z.strictObject({
        passages: positive.max(20).optional(),
        tokens: positive.max(20_000).optional(),
      }),
    ])
    .optional(),
  memory: z.boolean().optional(),
  limits: limits.optional(),
  hosts: z.array(z.string().min(1)).optional(),
  origins: z.array(z.string().min(1)).optional(),
  summarizer: z
    .strictObject({
      upstream: name,
      model: name,
      fallbacks: z.array(name).optional(),
      timeoutMs: positive.max(600_000).optional(),
    })
    .optional(),
  prompts: z
    .record(
      name,
      z.strictObject({
        name: z.string().min(1),
        template: z.string().min(1),
        models: z.array(name).optional(),
      }),
    )
    .optional(),
  log: z.enum(['text', 'json']).optional(),
  logRequests: z.boolean().optional(),
  port: z.number().int().min(0).max(65_535).optional(),
  host: z.string().min(1).optional(),
  data: z.string().min(1).optional(),
  store: z.string().min(1).optional(),
})

export type GatewayConfig = z.infer<typeof schema>

/**
 * Validates a configuration. Keys written as `$NAME` are read from the environment. Throws
 * 'invalid-option' with the path.
 */
export function readConfig(
  value: unknown,
  env: Readonly<Record<string, string | undefined>>,
): GatewayConfig {
  const parsed = schema.safeParse(value)
  if (!parsed.success) {
    const { issues } = parsed.error
    // A misspelt key is why another one is missing.
    const issue = issues.find(({ code }) => code === 'unrecognized_keys') ?? issues[0]
    const path = issue?.path.join('.') ?? ''
    throw new OrielError(
      'invalid-option',
      `The configuration at ${path || 'its top'}: ${issue === undefined ? 'invalid' : problemOf(issue)}.`,
      {
        path,
      },
    )
  }
  const config = parsed.data
  return {
    ...config,
    ...(config.upstreams && { upstreams: config.upstreams.map((one) => withSecret(one, env)) }),
    ...(config.keys && { keys: config.keys.map((one) => withSecret(one, env)) }),
  }
}

/** A zod issue in words: an unknown key with the nearest known one, a missing value as missing. */
function problemOf(issue: z.core.$ZodIssue): string {
  if (issue.code === 'unrecognized_keys') {
    const [unknown = ''] = issue.keys
    const known = keysAt(schema, issue.path)
    const near = nearestName(unknown, known)
    const hint = near === undefined ? '' : ` (did you mean '${near}'?)`
    return `unknown key '${unknown}'${hint}; allowed: ${known.join(', ')}`
  }
  const message = issue.message.replace('Invalid input: ', '')
  return message.replace(/^expected (\w+), received undefined$/, 'a $1 is missing')
}

/** The keys that the schema allows at a path. */
function keysAt(type: unknown, path: readonly PropertyKey[]): readonly string[] {
  if (type instanceof z.ZodOptional) return keysAt(type.unwrap(), path)
  if (type instanceof z.ZodArray) return keysAt(type.element, path.slice(1))
  if (!(type instanceof z.ZodObject)) return []
  const [key, ...rest] = path
  return key === undefined ? Object.keys(type.shape) : keysAt(type.shape[String(key)], rest)
}

function withSecret<T extends { readonly name: string; readonly key?: string | undefined }>(
  part: T,
  env: Readonly<Record<string, string | undefined>>,
): T {
  if (part.key?.startsWith('$') !== true) return part
  const variable = part.key.slice(1)
  const key = env[variable]
  if (key !== undefined && key !== '') return { ...part, key }
  const message = `The key of '${part.name}' is to come from ${variable}, which is not set.`
  throw new OrielError('invalid-option', message, { path: variable })
}

/** The gateway options in a configuration. */
export function optionsOf(config: GatewayConfig): GatewayOptions {
  const { agents: _agents, port: _port, host: _host, data: _data, store: _store, ...most } = config
  const { log: logFormat, ...rest } = most
  // The schema has the same fields; absent ones are missing, not undefined.
  return { ...rest, ...(logFormat === undefined ? {} : { logFormat }) } as GatewayOptions
}

/** The built-in agent templates of the demo. */
export function demoAgents(): Readonly<Record<string, AgentOptions>> {
  return readAgents(fileURLToPath(new URL('../agents', import.meta.url)))
}

/** The directory of the built studio: beside this file, or, from source, in the build output. */
export function findStudio(): string | undefined {
  const places = ['./studio', '../dist/studio'].map((path) =>
    fileURLToPath(new URL(path, import.meta.url)),
  )
  return places.find((place) => existsSync(`${place}/index.html`))
}
