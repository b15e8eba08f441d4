// Routes about the gateway itself: health, configuration, settings, events, preview.

import { callerView, operatorPaths, policyFields, presets, wireFormats } from 'oriel'
import type { Caller } from '../http/auth.ts'
import { refuse } from '../http/errors.ts'
import { readBytes } from '../http/request.ts'
import type { HttpReply } from '../http/response.ts'
import { json, type Route, type RouteContext } from '../http/router.ts'
import { type AgentRegistry, chatSettingsSchema } from '../settings/agents.ts'
import type { RequestSettings, SettingsResolver } from '../settings/resolve.ts'
import type { EventBus } from '../threads/event-bus.ts'
import { readJson } from './parameters.ts'
import { type PreviewOptions, preview } from './preview.ts'

export interface GatewayRoutesOptions extends PreviewOptions {
  readonly settings: SettingsResolver
  readonly agents: AgentRegistry
  readonly events: EventBus
  /** The part of the configuration that every key may see. */
  readonly info: () => object
}

export function gatewayRoutes(options: GatewayRoutesOptions): readonly Route[] {
  const { agents, events, info } = options
  return [
    healthRoute,
    {
      method: 'GET',
      path: '/api/info',
      access: 'key',
      summary: 'Configuration of this gateway, without secrets.',
      answer:
        '{ version, isDemo, hasKeys, upstreams, defaultPolicy, presets, presetPolicies, agents, requestOverrides, tenant? }',
      handle: async ({ caller }) => {
        await Promise.all(agents.names.map((name) => agents.ready(name, caller.tenant)))
        return json({
          ...info(),
          // Tells an admin which tenant is its own.
          ...(caller.isAdmin ? { tenant: caller.tenant } : {}),
          presets: Object.keys(presets),
          presetPolicies: presets,
          agents: agents.names.map((name) => describeAgent(agents, name, caller.tenant)),
        })
      },
    },
    policyFieldsRoute,
    {
      method: 'GET',
      path: '/api/settings',
      access: 'key',
      summary: 'The settings of a call with these query parameters, each with its source.',
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
      summary: 'Events of threads, as server-sent events.',
      query: { thread: 'Only this thread.' },
      answer: 'text/event-stream',
      handle: ({ caller, url, request }) => {
        if (events.isClosed) throw refuse(503, 'busy', 'The gateway is shutting down.')
        if (events.isFull(caller.tenant))
          throw refuse(429, 'busy', 'Too many event streams are open.')
        const thread = url.searchParams.get('thread')
        return events.stream(
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
        'Preview of the upstream request for a body of any model endpoint. Nothing is sent or stored.',
      query: { format: `${wireFormats.join(' | ')}. Detected by default.` },
      answer:
        '{ thread?, format, messages, system?, tools?, trace, tokens, policy, sources, warnings }',
      isCall: true,
      handle: (context) => answerPreview(options, context),
    },
  ]
}

const healthRoute: Route = {
  method: 'GET',
  path: '/healthz',
  access: 'open',
  summary: 'Health check.',
  answer: '{ ok: true }',
  handle: () => json({ ok: true }),
}

/** The table of the rules, as a form needs it. */
const callerFields = policyFields
  .filter(({ path }) => !operatorPaths.has(path))
  .map(({ path, part, field, kind, choices, default: usual, defaultText, accepts }) => ({
    ...{ path, part, kind, defaultText },
    ...(field === undefined ? {} : { field }),
    ...(choices === undefined ? {} : { choices }),
    ...(usual === undefined ? {} : { default: usual }),
    ...(kind === 'integer' ? { minimum: accepts(0) ? 0 : 1 } : {}),
  }))

const policyFieldsRoute: Route = {
  method: 'GET',
  path: '/api/policy-fields',
  access: 'key',
  summary: 'Every field of a policy that a caller may set, with its kind, choices and default.',
  answer: '{ fields: { path, part, field?, kind, choices?, default?, defaultText, minimum? }[] }',
  handle: () => json({ fields: callerFields }),
}

async function answerPreview(
  options: GatewayRoutesOptions,
  context: RouteContext,
): Promise<HttpReply> {
  const bytes = await readBytes(context, options.limits)
  const offloaded = await options.calls.offload(context.request, bytes)
  return offloaded ?? json(await preview(options, context, bytes))
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
  { settings, agents }: GatewayRoutesOptions,
  { url, request, caller }: RouteContext,
): Promise<object> {
  await agents.load()
  const asked = { query: url.searchParams, headers: request.headers, caller }
  await settings.ready(asked)
  return describeSettings(settings.resolve(asked), agents, caller)
}

/** Stores settings for the caller's tenant. Only an admin key may store them for all. */
async function storeSettings(
  options: GatewayRoutesOptions,
  context: RouteContext,
): Promise<object> {
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
