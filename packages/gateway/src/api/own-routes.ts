// Routes about the gateway itself: is it up, what is it set to, what would it send.

import { callerView, presets, wireFormats } from 'oriel'
import type { Caller } from '../http/auth.ts'
import { refuse } from '../http/errors.ts'
import { json, type Route, type RouteContext } from '../http/router.ts'
import { type AgentRegistry, chatSettingsSchema } from '../settings/agents.ts'
import type { RequestSettings, SettingsResolver } from '../settings/resolve.ts'
import type { EventBus } from '../threads/event-bus.ts'
import { readJson } from './parameters.ts'
import { type PreviewOptions, preview } from './preview.ts'

export interface OwnApiOptions extends PreviewOptions {
  readonly settings: SettingsResolver
  readonly agents: AgentRegistry
  readonly hub: EventBus
  /** What everyone with a key may know of the configuration. */
  readonly info: () => object
}

export function ownRoutes(options: OwnApiOptions): readonly Route[] {
  const { agents, hub, info } = options
  return [
    {
      method: 'GET',
      path: '/healthz',
      access: 'open',
      summary: 'Whether the server is up.',
      answer: '{ ok: true }',
      handle: () => json({ ok: true }),
    },
    {
      method: 'GET',
      path: '/api/info',
      access: 'key',
      summary: 'What this gateway is set to, without secrets.',
      answer:
        '{ version, isDemo, hasKeys, upstreams, defaultPolicy, presets, agents, requestOverrides, tenant? }',
      handle: async ({ caller }) => {
        await Promise.all(agents.names.map((name) => agents.ready(name, caller.tenant)))
        return json({
          ...info(),
          // For callers that may see every tenant: which of them is their own.
          ...(caller.isAdmin ? { tenant: caller.tenant } : {}),
          presets: Object.keys(presets),
          agents: agents.names.map((name) => describeAgent(agents, name, caller.tenant)),
        })
      },
    },
    {
      method: 'GET',
      path: '/api/settings',
      access: 'key',
      summary: 'The settings that a call with this address would have, each with its source.',
      query: {
        agent: 'The name of an agent.',
        historyPolicy: 'lastN | all | none',
        historyLength: 'A whole number.',
      },
      answer: '{ policy, sources, warnings, agent?, chat }',
      handle: async (context) => json(await settingsAnswer(options, context)),
    },
    {
      method: 'PUT',
      path: '/api/agents/:name/settings',
      access: 'key',
      summary:
        "Stores chat settings of an agent, for the caller's tenant or, by a key that sees every tenant, for all; they win over its template.",
      body: chatSettingsSchema,
      answer: '{ policy, sources, warnings, agent?, chat }',
      handle: async (context) => json(await storeSettings(options, context)),
    },
    {
      method: 'GET',
      path: '/api/events',
      access: 'key',
      summary: 'What happens in threads, as server-sent events.',
      query: { thread: 'Only this thread.' },
      answer: 'text/event-stream',
      handle: ({ caller, url, request }) => {
        if (hub.isClosed) throw refuse(503, 'busy', 'The gateway closes.')
        if (hub.isFull(caller.tenant)) throw refuse(429, 'busy', 'Too many listeners.')
        const thread = url.searchParams.get('thread')
        return hub.stream(
          caller.tenant,
          ({ tenant, data }) =>
            (caller.isAdmin || tenant === caller.tenant) &&
            (thread === null || data.thread === thread),
          request.signal,
        )
      },
    },
    {
      method: 'POST',
      path: '/v1/preview',
      access: 'key',
      summary:
        'What would be sent for a body of any model endpoint. Nothing is sent, nothing is kept.',
      query: { format: `${wireFormats.join(' | ')}; else it is found out.` },
      answer:
        '{ thread?, format, messages, system?, tools?, trace, tokens, policy, sources, warnings }',
      isCall: true,
      handle: async (context) => json(await preview(options, context)),
    },
  ]
}

function describeAgent(agents: AgentRegistry, name: string, tenant: string): object {
  const { title, description, model, chatSettings } = agents.get(name, tenant) ?? {}
  return {
    name,
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    ...(model === undefined ? {} : { model }),
    ...(chatSettings === undefined ? {} : { chatSettings }),
  }
}

async function settingsAnswer(
  { settings, agents }: OwnApiOptions,
  { url, request, caller }: RouteContext,
): Promise<object> {
  await agents.load()
  const asked = { query: url.searchParams, headers: request.headers, caller }
  await settings.ready(asked)
  return describeSettings(settings.resolve(asked), agents, caller)
}

/** Stores settings of the caller's tenant. Only who may see every tenant stores them for all. */
async function storeSettings(options: OwnApiOptions, context: RouteContext): Promise<object> {
  const { agents, settings, limits } = options
  const { caller } = context
  const name = context.param('name')
  if (agents.get(name) === undefined) throw refuse(404, 'not-found', 'There is no such agent.')
  if (!caller.mayOverride || !settings.allows(caller))
    throw refuse(403, 'forbidden', 'This key may not change settings.')
  const body = await readJson(context, chatSettingsSchema, limits)
  settings.assertWithin('history.length', body.historyLength)
  await agents.store(name, body, caller.isAdmin ? undefined : caller.tenant)
  const asked = { query: new URLSearchParams({ agent: name }), headers: new Headers(), caller }
  await settings.ready(asked)
  return describeSettings(settings.resolve(asked), agents, caller)
}

function describeSettings(found: RequestSettings, agents: AgentRegistry, caller: Caller): object {
  const { policy, sources, warnings, agent } = found
  return {
    policy: callerView(policy),
    sources,
    warnings,
    ...(agent === undefined ? {} : { agent: describeAgent(agents, agent.name, caller.tenant) }),
    chat: { historyPolicy: policy.history?.policy ?? 'all', historyLength: policy.history?.length },
  }
}
