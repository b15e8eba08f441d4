// The policy of a request: who may say what is decided by `resolvePolicy`; here is only where each part is read from.

import { LRUCache } from 'lru-cache'
import {
  OrielError,
  type Policy,
  type PolicyInput,
  parseCallerPolicy,
  policyFields,
  type ResolvedPolicy,
  type ResolvePolicyOptions,
  resolvePolicy,
  type SettingSource,
  type StoredSettings,
} from 'oriel'
import { isNearly, nearestName } from 'oriel/internal'
import type { Caller } from '../http/auth.ts'
import { refuse } from '../http/errors.ts'
import type { ReadableHeaders } from '../http/header-list.ts'
import type { AgentOptions } from '../options.ts'

export interface SettingsOptions {
  readonly requestOverrides?: ResolvePolicyOptions['requestOverrides'] | undefined
  readonly ceilings?: ResolvePolicyOptions['ceilings'] | undefined
  readonly onInvalid?: ResolvePolicyOptions['onInvalid'] | undefined
  readonly env: Readonly<Record<string, string | undefined>>
  readonly defaults: PolicyInput
  readonly agents: Agents
}

export interface RequestSettings {
  readonly policy: Policy
  readonly sources: Readonly<Record<string, SettingSource>>
  readonly warnings: readonly string[]
  readonly agent?: NamedAgent
  /** Whether the request itself says anything, so that its policy holds for the calls that bring it. */
  readonly isOwn: boolean
  /** The strongest layer that had a say in the policy. */
  readonly strongest: SettingSource
}

export interface NamedAgent {
  readonly name: string
  readonly template: AgentOptions
}

/** Agent templates by name, with the settings that were stored for them on top. */
export interface Agents {
  /** As a tenant has it; without one, as it is for all. */
  get(name: string, tenant?: string): AgentOptions | undefined
  /** What the store keeps for the agent of a template that `get` gave. */
  storedFor(template: AgentOptions): StoredSettings | undefined
  /** Reads what a tenant has stored for an agent, so that `get` knows it; undefined where it is known. */
  ready(name: string, tenant: string): Promise<void> | undefined
  readonly names: readonly string[]
}

/** What tells the settings of a request. */
export interface SettingsRequest {
  readonly query: URLSearchParams
  readonly headers: ReadableHeaders
  readonly model?: unknown
  readonly body?: unknown
  readonly caller: Pick<Caller, 'tenant' | 'mayOverride'>
}

type Overriding = Pick<Caller, 'mayOverride'>

/** Names in an address that are for the gateway, and not passed on. */
export const ownParameters: ReadonlySet<string> = new Set([
  'agent',
  'debug',
  ...policyFields.map(({ parameter }) => parameter),
])

/** Resolves the settings of requests. An invalid environment or default is an error at once. */
export class SettingsResolver {
  readonly #options: SettingsOptions
  /** What holds without a word of the request, by template: resolving it for every call would cost more than the rest. */
  readonly #bases = new WeakMap<object, RequestSettings>()
  /** Whether the environment sets any field, which no request may change then. */
  readonly #isLocked: boolean

  constructor(options: SettingsOptions) {
    this.#options = options
    const { sources } = this.#resolve(undefined, {})
    this.#isLocked = Object.values(sources).includes('environment')
    for (const name of options.agents.names) this.#resolve(options.agents.get(name), {})
  }

  /** The policy of threads that no agent and no request has a say in. */
  get base(): Policy {
    return this.#baseOf(undefined).policy
  }

  /** Whether requests of a caller may override settings at all. */
  allows({ mayOverride }: Overriding): boolean {
    const { requestOverrides = 'allow' } = this.#options
    return requestOverrides === 'allow' || (requestOverrides === 'scoped-key' && mayOverride)
  }

  /** Whether a caller may switch management off for a call. That overrides every field, so none may be locked. */
  mayTurnOff(caller: Overriding): boolean {
    return this.allows(caller) && !this.#isLocked
  }

  /** The policy that a caller may give a thread: within the ceilings, and with what the environment locks. */
  forThread(input: unknown, caller: Overriding): Policy {
    if (!this.allows(caller)) {
      throw refuse(403, 'forbidden', 'This gateway does not let this caller change policies.')
    }
    const policy = parseCallerPolicy(input)
    const { env, ceilings } = this.#options
    if (!this.#isLocked && ceilings === undefined) return policy
    const bounds = ceilings === undefined ? {} : { ceilings }
    return resolvePolicy({ env, request: { body: policy }, ...bounds }).policy
  }

  /** Refuses a value that is above what requests may ask for. */
  assertWithin(path: string, value: number | undefined): void {
    const ceiling = this.#options.ceilings?.[path]
    if (ceiling === undefined || value === undefined || value <= ceiling) return
    throw refuse(400, 'invalid-setting', `${path} is above the ceiling of ${ceiling}.`)
  }

  /** Reads what the store has for the agent that a request names; undefined where nothing must be read. */
  ready(request: SettingsRequest): Promise<void> | undefined {
    const { agents } = this.#options
    const name = namedBy(request).name
    if (name === undefined || agents.get(name) === undefined) return undefined
    return agents.ready(name, request.caller.tenant)
  }

  resolve(request: SettingsRequest): RequestSettings {
    const { query, headers, body, caller } = request
    refuseUnknown(headers)
    const agent = this.#agentOf(request)
    const base = this.#baseOf(agent)
    const isRefusedOff = headers.get('x-oriel-management') === 'off' && !this.mayTurnOff(caller)
    const noted = (found: RequestSettings): RequestSettings =>
      isRefusedOff ? { ...found, warnings: [...found.warnings, refusedOff] } : found
    const hasQuery = query.size > 0 && [...query.keys()].some(isSetting)
    const header = headers.get('x-oriel-policy')
    if (!hasQuery && header === null && body === undefined) return noted(base)
    const own = {
      ...(hasQuery ? { query } : {}),
      ...(header === null ? {} : { header }),
      ...(body === undefined ? {} : { body }),
    }
    const found = this.#resolve(agent?.template, own, caller.mayOverride)
    return noted(settingsOf(found, agent))
  }

  #baseOf(agent: NamedAgent | undefined): RequestSettings {
    const key = agent?.template ?? this.#options
    const known = this.#bases.get(key)
    if (known !== undefined && known.agent?.name === agent?.name) return known
    const found = this.#resolve(agent?.template, {})
    const base = settingsOf(found, agent)
    this.#bases.set(key, base)
    return base
  }

  #agentOf(request: SettingsRequest): NamedAgent | undefined {
    const { agents } = this.#options
    const { name, isAsked } = namedBy(request)
    const template = name === undefined ? undefined : agents.get(name, request.caller.tenant)
    if (name !== undefined && template !== undefined) return { name, template }
    if (!isAsked) return undefined
    throw refuse(
      400,
      'unknown-agent',
      `No agent has that name; known: ${agents.names.join(', ') || 'none'}.`,
    )
  }

  #resolve(agent: AgentOptions | undefined, request: object, hasScopedKey = true): ResolvedPolicy {
    const { env, defaults, requestOverrides, ceilings, onInvalid, agents } = this.#options
    const stored = agent === undefined ? undefined : agents.storedFor(agent)
    const { chatSettings, policy } = agent ?? {}
    return resolvePolicy({
      env,
      request,
      defaults,
      hasScopedKey,
      ...(agent === undefined
        ? {}
        : { agent: { ...(chatSettings && { chatSettings }), ...(policy && { policy }) } }),
      ...(stored === undefined ? {} : { stored }),
      ...(requestOverrides === undefined ? {} : { requestOverrides }),
      ...(ceilings === undefined ? {} : { ceilings }),
      ...(onInvalid === undefined ? {} : { onInvalid }),
    })
  }
}

const requestHeaders = [
  ...['agent', 'debug', 'key', 'management', 'policy'],
  ...['project', 'thread', 'user'],
]
/** Headers of answers, which a gateway in front of this one may hand on. */
const answerHeaders = [
  ...[
    'context-edits',
    'epoch',
    'error',
    'expansions',
    'managed',
    'request',
    'sources',
    'tokens-after',
  ],
  ...['tokens-before', 'tools-deferred', 'warnings'],
]
const prefix = 'x-oriel-'

/** A header that looks like ours and is none would do nothing. */
function refuseUnknown(headers: ReadableHeaders): void {
  for (const name of headers.keys()) {
    if (!name.startsWith(prefix)) continue
    const own = name.slice(prefix.length)
    if (requestHeaders.includes(own) || answerHeaders.includes(own)) continue
    const near = nearestName(own, requestHeaders)
    const hint = near === undefined ? '' : ` Did you mean ${prefix}${near}?`
    throw refuse(400, 'invalid-setting', `There is no header ${name.slice(0, 60)}.${hint}`)
  }
}

/** Whether names in addresses are ours or nearly so; clients send the same few again and again. */
const knownNames = new LRUCache<string, boolean>({ max: 1000 })

/** A name that is nearly ours is resolved too, for its warning. */
function isSetting(name: string): boolean {
  if (ownParameters.has(name)) return true
  const known = knownNames.get(name)
  if (known !== undefined) return known
  const isSlip = name.length < 100 && isNearly(name, [...ownParameters])
  knownNames.set(name, isSlip)
  return isSlip
}

const refusedOff = 'The request may not switch management off: ignored.'

/** The agent that a request names: in its address or header, or as its model. */
function namedBy({ query, headers, model }: SettingsRequest): {
  readonly name: string | undefined
  readonly isAsked: boolean
} {
  const asked = query.get('agent') ?? headers.get('x-oriel-agent')
  return { name: asked ?? (typeof model === 'string' ? model : undefined), isAsked: asked !== null }
}

function settingsOf(found: ResolvedPolicy, agent: NamedAgent | undefined): RequestSettings {
  const all = Object.values(found.sources)
  const layers = ['environment', 'request', 'agent'] as const
  return {
    ...found,
    isOwn: all.includes('request'),
    strongest: layers.find((layer) => all.includes(layer)) ?? 'default',
    ...(agent === undefined ? {} : { agent }),
  }
}

/** Checks agent templates when they are read, so that a wrong one stops the start. */
export function checkAgentName(name: string): void {
  if (/^[\w.-]{1,100}$/.test(name)) return
  const message = `An agent's name has 1 to 100 letters, digits or any of . _ -; got '${name.slice(0, 40)}'.`
  throw new OrielError('invalid-option', message, { path: 'agents' })
}
