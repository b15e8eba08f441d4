// The check of the gateway's options: every name is known, at every depth, in JavaScript too.

import { OrielError, policyFields, resolveCounter, resolvePolicy } from 'oriel'
import { assertNoSlip, assertOptions, assertPrompts, type OptionNames } from 'oriel/internal'
import {
  type AgentOptions,
  defaultLimits,
  type GatewayOptions,
  type KeyOptions,
  type Limits,
  type SummarizerOptions,
  type UpstreamOptions,
} from './options.ts'

const of = 'createGateway'

/** Throws 'invalid-option' with the path of the first option that is unknown or of the wrong kind. */
export function assertGatewayOptions(options: GatewayOptions): void {
  assertOptions(options, gatewayOptions, of)
  const { upstreams = [], keys = [], agents = {}, limits, summarizer, prompts } = options
  each(upstreams, 'upstreams', (one, at) => {
    assertOptions<UpstreamOptions>(one, upstreamOptions, of, at)
  })
  each(keys, 'keys', (one, at) => assertOptions<KeyOptions>(one, keyOptions, of, at))
  if (limits !== undefined) assertLimits(limits)
  if (summarizer !== undefined) assertOptions(summarizer, summarizerOptions, of, 'summarizer')
  if (prompts !== undefined) assertPrompts(prompts, of)
  if (typeof agents !== 'object' || agents === null) throw wrong('agents', 'an object of templates')
  for (const [name, agent] of Object.entries(agents)) assertAgent(agent, `agents.${name}`)
  assertKinds(options)
  resolveCounter(options.tokens)
}

const gatewayOptions: OptionNames<GatewayOptions> = {
  store: true,
  upstreams: true,
  policy: true,
  env: true,
  agents: true,
  keys: true,
  requestOverrides: true,
  ceilings: true,
  onInvalid: true,
  management: true,
  expand: true,
  recall: true,
  memory: true,
  limits: true,
  offload: true,
  sink: true,
  hosts: true,
  origins: true,
  summarizer: true,
  prompts: true,
  tokens: true,
  studio: true,
  now: true,
  log: true,
  logFormat: true,
  logRequests: true,
}

const upstreamOptions: OptionNames<UpstreamOptions> = {
  name: true,
  baseUrl: true,
  key: true,
  keyHeader: true,
  models: true,
  fetch: true,
  cacheHints: true,
  contextManagement: true,
  retries: true,
}

const keyOptions: OptionNames<KeyOptions> = {
  name: true,
  key: true,
  hash: true,
  tenant: true,
  mayOverride: true,
  isAdmin: true,
}

const summarizerOptions: OptionNames<SummarizerOptions> = {
  upstream: true,
  model: true,
  fallbacks: true,
  timeoutMs: true,
}

const agentNames: OptionNames<
  Pick<
    AgentOptions,
    'name' | 'title' | 'description' | 'model' | 'upstream' | 'expand' | 'policy'
  > &
    Pick<AgentOptions, 'chatSettings'>
> = {
  name: true,
  title: true,
  description: true,
  model: true,
  upstream: true,
  expand: true,
  chatSettings: true,
  policy: true,
}

function assertLimits(limits: Partial<Limits>): void {
  const names = Object.fromEntries(Object.keys(defaultLimits).map((name) => [name, true]))
  assertOptions<Partial<Limits>>(limits, names as OptionNames<Limits>, of, 'limits')
  for (const [name, limit] of Object.entries(limits)) {
    if (limit !== undefined && typeof limit !== 'number') throw wrong(`limits.${name}`, 'a number')
  }
}

/** A policy's parts and parameters, which do nothing at the top of a template. */
const ofPolicies = ['preset', ...policyFields.flatMap(({ part, parameter }) => [part, parameter])]

/**
 * A template may have fields of the application; what is nearly one of ours is a slip, and a part of a policy belongs in `policy`. The
 * resolver checks its settings.
 */
function assertAgent(agent: AgentOptions, at: string): void {
  if (typeof agent !== 'object' || agent === null) throw wrong(at, 'an agent template')
  assertNoSlip(agent, { known: Object.keys(agentNames), elsewhere: ofPolicies }, { of, at })
  const { expand } = agent
  if (expand !== undefined && !isExpandMode(expand)) throw wrong(`${at}.expand`, expandModes)
  try {
    resolvePolicy({ agent })
  } catch (error) {
    if (!OrielError.is(error)) throw error
    const path = (error.path ?? 'agent').replace(/^agent/, at)
    throw new OrielError('invalid-option', `${at}: ${error.message}`, { path, cause: error })
  }
}

const expandModes = "true, false or 'auto'"
const isExpandMode = (value: unknown): boolean => value === 'auto' || typeof value === 'boolean'

function assertKinds(options: GatewayOptions): void {
  const { management, logRequests, expand, logFormat, studio } = options
  for (const [name, flag] of Object.entries({ management, logRequests })) {
    if (flag !== undefined && typeof flag !== 'boolean') throw wrong(name, 'true or false')
  }
  if (expand !== undefined && !isExpandMode(expand)) throw wrong('expand', expandModes)
  if (logFormat !== undefined && logFormat !== 'text' && logFormat !== 'json') {
    throw wrong('logFormat', "'text' or 'json'")
  }
  if (studio !== undefined && typeof studio !== 'string') throw wrong('studio', 'a directory')
  for (const name of ['hosts', 'origins'] as const) {
    each(options[name] ?? [], name, (one, at) => {
      if (typeof one !== 'string') throw wrong(at, 'a text')
    })
  }
}

function each<T>(list: readonly T[], path: string, check: (one: T, at: string) => void): void {
  if (!Array.isArray(list)) throw wrong(path, 'a list')
  list.forEach((one: T, index) => {
    check(one, `${path}[${index}]`)
  })
}

function wrong(path: string, expected: string): OrielError {
  return new OrielError('invalid-option', `${path} must be ${expected}.`, { path })
}
