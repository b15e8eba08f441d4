// The ways in which a LangChain message is written down, and the fields inside them.

import type { Role } from '../../core/log/block.ts'
import type { Json, JsonObject } from '../../core/log/json.ts'
import { isObject } from '../../core/log/json.ts'
import { fieldOf, type JsonAt, wrongShape } from '../foreign.ts'

/**
 * - `constructor`: `{ lc: 1, type: 'constructor', id: [..., 'HumanMessage'], kwargs }`, as `JSON.stringify` writes a message
 * - `stored`: `{ type: 'human', data }`, as `mapChatMessagesToStoredMessages` writes it
 * - `typed`: `{ type: 'human', content }`, as Python and the LangGraph server write it
 * - `role`: `{ role: 'user', content }`, which every chat model takes
 */
export const wrappings = ['constructor', 'stored', 'typed', 'role'] as const
export type Wrapping = (typeof wrappings)[number]

/** A foreign message taken out of its wrapping. */
export interface Unwrapped {
  readonly wrapping: Wrapping
  readonly role: Role
  /** Content, calls and everything else that the message's class knows. */
  readonly fields: JsonAt
  /** What stands around the fields, without them. */
  readonly around: JsonObject
}

const roles: ReadonlyMap<string, Role> = new Map<string, Role>([
  ['human', 'user'],
  ['user', 'user'],
  ['ai', 'assistant'],
  ['assistant', 'assistant'],
  ['system', 'system'],
  ['developer', 'system'],
  ['tool', 'tool'],
  ['function', 'tool'],
])

const classes: Readonly<Record<Role, { readonly type: string; readonly name: string }>> = {
  user: { type: 'human', name: 'HumanMessage' },
  assistant: { type: 'ai', name: 'AIMessage' },
  system: { type: 'system', name: 'SystemMessage' },
  tool: { type: 'tool', name: 'ToolMessage' },
}

/** Reads which way a message is written, and who speaks. Throws 'invalid-input' for what is no message. */
export function unwrap(place: JsonAt): Unwrapped {
  const { value, path } = place
  const { lc, id, kwargs, type, data } = value
  if (lc !== undefined && Array.isArray(id) && isObject(kwargs)) {
    const { kwargs: _, ...around } = value
    const fields = { value: kwargs as JsonObject, path: `${path}.kwargs` }
    return { wrapping: 'constructor', role: roleOfClass(id.at(-1), fields), fields, around }
  }
  if (isByRole(place)) {
    const { role, ...rest } = value
    const fields = { value: rest as JsonObject, path }
    return {
      wrapping: 'role',
      role: roleNamed(String(role), `${path}.role`),
      fields,
      around: { role: role as Json },
    }
  }
  if (typeof type !== 'string') throw wrongShape(`${path}.role`, 'a role or a type', value.role)
  if (isObject(data) && value.content === undefined) {
    const { data: _, ...around } = value
    const fields = { value: data as JsonObject, path: `${path}.data` }
    return { wrapping: 'stored', role: roleOfType(type, fields), fields, around }
  }
  const { type: _, ...rest } = value
  const fields = { value: rest as JsonObject, path }
  return { wrapping: 'typed', role: roleOfType(type, fields), fields, around: { type } }
}

/** As LangChain reads it, a role counts more than a type; only a chat message, whose role is any name, has both by itself. */
function isByRole(place: JsonAt): boolean {
  const { type } = place.value
  const role = fieldOf(place, 'role')
  if (typeof role !== 'string') return false
  return typeof type !== 'string' || (roles.has(role) && type !== 'generic' && type !== 'chat')
}

/** The fields in their wrapping again. */
export function wrap(
  wrapping: Wrapping,
  { fields, around }: Pick<Unwrapped, 'around'> & { readonly fields: JsonObject },
): JsonObject {
  if (wrapping === 'constructor') return { ...around, kwargs: fields }
  if (wrapping === 'stored') return { ...around, data: fields }
  return { ...around, ...fields }
}

/** What stands around a message that Oriel writes itself, or that came in another format. */
export function aroundOf(wrapping: Wrapping, role: Role): JsonObject {
  const { type, name } = classes[role]
  if (wrapping === 'constructor') {
    return { lc: 1, type: 'constructor', id: ['langchain_core', 'messages', name] }
  }
  return wrapping === 'role' ? { role } : { type }
}

function roleOfClass(name: Json | undefined, fields: JsonAt): Role {
  const [, base = ''] = /^(.*?)Message(Chunk)?$/.exec(String(name)) ?? []
  if (base === 'Chat') return roleOfType('generic', fields)
  return roleNamed(base.toLowerCase(), fields.path)
}

function roleOfType(type: string, fields: JsonAt): Role {
  // A chat message names its role itself; Python's names for chunks end with their class.
  if (type === 'generic' || type === 'chat') {
    const own = fieldOf(fields, 'role')
    return roles.get(String(own)) ?? 'user'
  }
  return roleNamed(type.replace(/MessageChunk$/, '').toLowerCase(), `${fields.path}.type`)
}

function roleNamed(name: string, path: string): Role {
  const role = roles.get(name)
  if (role !== undefined) return role
  throw wrongShape(path, "a message of a 'human', 'ai', 'system' or 'tool'", name)
}
