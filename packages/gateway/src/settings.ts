// The policy of a request: who may say what is decided by `resolvePolicy`; here is only where each part is read from.

import {
  OrielError,
  type Policy,
  type PolicyInput,
  policyFields,
  type ResolvedPolicy,
  type ResolvePolicyOptions,
  resolvePolicy,
  type SettingSource,
  type StoredSettings,
} from 'oriel'
import { refuse } from './answer-errors.ts'
import type { ReadableHeaders } from './header-list.ts'
import type { AgentOptions } from './options.ts'

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
  /** The policy without what the request says: that of the thread. */
  readonly base: Policy
  /** Whether the request itself says anything, so that its policy holds for this call only. */
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
  get(name: string): AgentOptions | undefined
  /** What the store keeps for the agent of a template that `get` gave. */
  storedFor(template: AgentOptions): StoredSettings | undefined
  readonly names: readonly string[]
}

/** Names in an address that are for the gateway, and not passed on. */
export const ownParameters: ReadonlySet<string> = new Set([
  'agent',
  'debug',
  ...policyFields.map(({ parameter }) => parameter),
])

/** Resolves the settings of requests. An invalid environment or default is an error at once. */
export class Settings {
  readonly #options: SettingsOptions
  /** What holds without a word of the request, by template: resolving it for every call would cost more than the rest. */
  readonly #bases = new WeakMap<object, RequestSettings>()

  constructor(options: SettingsOptions) {
    this.#options = options
    this.#resolve(undefined, {})
    for (const name of options.agents.names) this.#resolve(options.agents.get(name), {})
  }

  /** The policy of threads that no agent and no request has a say in. */
  get base(): Policy {
    return this.#baseOf(undefined).policy
  }

  resolve(request: {
    readonly query: URLSearchParams
    readonly headers: ReadableHeaders
    readonly model?: unknown
    readonly body?: unknown
    readonly mayOverride: boolean
  }): RequestSettings {
    const { query, headers, body } = request
    const agent = this.#agentOf(request)
    const base = this.#baseOf(agent)
    const hasQuery = query.size > 0 && [...query.keys()].some((name) => ownParameters.has(name))
    const header = headers.get('x-oriel-policy')
    if (!hasQuery && header === null && body === undefined) return base
    const own = {
      ...(hasQuery ? { query } : {}),
      ...(header === null ? {} : { header }),
      ...(body === undefined ? {} : { body }),
    }
    const found = this.#resolve(agent?.template, own, request.mayOverride)
    return settingsOf(found, { base: base.policy, agent })
  }

  #baseOf(agent: NamedAgent | undefined): RequestSettings {
    const key = agent?.template ?? this.#options
    const known = this.#bases.get(key)
    if (known !== undefined && known.agent?.name === agent?.name) return known
    const found = this.#resolve(agent?.template, {})
    const base = settingsOf(found, { base: found.policy, agent })
    this.#bases.set(key, base)
    return base
  }

  #agentOf({
    query,
    headers,
    model,
  }: {
    query: URLSearchParams
    headers: ReadableHeaders
    model?: unknown
  }): NamedAgent | undefined {
    const { agents } = this.#options
    const asked = query.get('agent') ?? headers.get('x-oriel-agent')
    const name = asked ?? (typeof model === 'string' ? model : undefined)
    const template = name === undefined ? undefined : agents.get(name)
    if (name !== undefined && template !== undefined) return { name, template }
    if (asked === null) return undefined
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

function settingsOf(
  found: ResolvedPolicy,
  { base, agent }: { readonly base: Policy; readonly agent: NamedAgent | undefined },
): RequestSettings {
  const all = Object.values(found.sources)
  const layers = ['environment', 'request', 'agent'] as const
  return {
    ...found,
    base,
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
