// Routes for lasting instructions: what a user said is to hold in all conversations, listed, edited and erased by people.

import { type LastingDirective, type ScopeMemory, type Store, scopeMemory } from 'oriel'
import { z } from 'zod'
import { refuse } from '../http/errors.ts'
import { json, type Route, type RouteContext } from '../http/router.ts'
import type { Limits } from '../options.ts'
import type { OpenThreads } from '../threads/open-threads.ts'
import type { Tenants } from '../threads/tenants.ts'
import { readJson } from './parameters.ts'

export interface MemoryRouteOptions {
  readonly store: Store
  readonly threads: OpenThreads
  readonly tenants: Tenants
  readonly limits: Limits
}

/** A key that may see every tenant is told whose an instruction is. */
type Instruction = LastingDirective & { readonly tenant?: string }

/** Tenants that one request of an operator looks into. */
const maxTenants = 200

const editBody = z.strictObject({ text: z.string().trim().min(1).max(1000) })

const query = {
  user: 'The user whose instructions these are, as in `x-oriel-user`.',
  project: 'The project, as in `x-oriel-project`.',
  tenant: 'Only those of this tenant, for a key that may see every tenant.',
}

const answer = '{ id, text, thread, seq, isEdited, tenant? }'

export function memoryRoutes(options: MemoryRouteOptions): readonly Route[] {
  const { limits } = options
  return [
    {
      method: 'GET',
      path: '/api/memory',
      access: 'key',
      summary: 'The lasting instructions of a user or project: what is told to its new threads.',
      query,
      answer: `{ instructions: ${answer}[] }`,
      handle: async (context) => json({ instructions: await listOf(options, context) }),
    },
    {
      method: 'PUT',
      path: '/api/memory/:id',
      access: 'key',
      summary: 'Puts other words in the place of a lasting instruction. Acts on the next request.',
      query,
      body: editBody,
      answer,
      handle: async (context) => {
        const { text } = await readJson(context, editBody, limits)
        const { memory, instruction } = await locate(options, context)
        await memory.edit(instruction.id, text)
        return json({ ...instruction, text, isEdited: true })
      },
    },
    {
      method: 'DELETE',
      path: '/api/memory/:id',
      access: 'key',
      summary:
        'Erases a lasting instruction: the same words in the same message are not taken again.',
      query,
      answer: 'nothing (204)',
      handle: async (context) => {
        const { memory, instruction } = await locate(options, context)
        await memory.erase(instruction.id)
        return new Response(null, { status: 204 })
      },
    },
  ]
}

async function listOf(
  options: MemoryRouteOptions,
  context: RouteContext,
): Promise<readonly Instruction[]> {
  const found: Instruction[] = []
  for (const { tenant, memory } of await memoriesOf(options, context)) {
    context.request.signal.throwIfAborted()
    const own = await memory.list()
    found.push(...own.map((one) => (context.caller.isAdmin ? { ...one, tenant } : one)))
  }
  return found
}

/** The instruction that the path names, among those that the caller may see. */
async function locate(
  options: MemoryRouteOptions,
  context: RouteContext,
): Promise<{ readonly memory: ScopeMemory; readonly instruction: Instruction }> {
  const id = context.param('id')
  for (const { tenant, memory } of await memoriesOf(options, context)) {
    const own = (await memory.list()).find((one) => one.id === id)
    if (own === undefined) continue
    return { memory, instruction: context.caller.isAdmin ? { ...own, tenant } : own }
  }
  throw refuse(404, 'not-found', 'There is no such instruction. GET /api/memory lists them.')
}

/** The memories of the scope that a request names, one for each tenant that the caller may see. */
async function memoriesOf(
  { store, threads, tenants }: MemoryRouteOptions,
  { caller, url }: RouteContext,
): Promise<readonly { readonly tenant: string; readonly memory: ScopeMemory }[]> {
  const named = (name: string): object => {
    const value = url.searchParams.get(name)
    return value === null || value === '' ? {} : { [name]: value }
  }
  const scope = { ...named('user'), ...named('project') }
  if (Object.keys(scope).length === 0)
    throw refuse(400, 'invalid-input', 'Name a user or a project: /api/memory?user=<name>.')
  await threads.quiet(caller.isAdmin ? undefined : caller.tenant)
  const asked = caller.isAdmin ? url.searchParams.get('tenant') : caller.tenant
  const all = asked === null ? [caller.tenant, ...(await tenants.all())] : [asked]
  return [...new Set(all)]
    .slice(0, maxTenants)
    .map((tenant) => ({ tenant, memory: scopeMemory(store, tenant, scope) }))
}
