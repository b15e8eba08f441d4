// A scope: the threads of one person, of one project, or of that person in that project, under one tenant.

import { wrongOption } from './errors.ts'
import { isObject } from './json.ts'

/** Whose threads remember each other. With both, a thread is found under each of them. */
export interface Scope {
  readonly user?: string
  readonly project?: string
}

const names = ['user', 'project'] as const
const maxName = 200

/** Refuses what is no scope. */
export function checkScope(value: unknown, path = 'scope'): Scope {
  const allowed = `{ user?, project? }: at least one of them, a text of 1 to ${maxName} characters`
  if (!isScope(value)) throw wrongOption(path, allowed)
  return Object.fromEntries(Object.entries(value).filter(([, own]) => own !== undefined))
}

/** Whether a stored value is a scope. */
export function isScope(value: unknown): value is Scope {
  if (!isObject(value)) return false
  const given = Object.entries(value).filter(([, own]) => own !== undefined)
  const isRight = given.every(
    ([name, own]) =>
      (names as readonly string[]).includes(name) &&
      typeof own === 'string' &&
      own.trim() !== '' &&
      own.length <= maxName,
  )
  return given.length > 0 && isRight
}

/** The parts of a scope, each a name of its own. */
export function scopeParts(scope: Scope): readonly (readonly [kind: string, name: string])[] {
  return names.flatMap((kind) => (scope[kind] === undefined ? [] : [[kind, scope[kind]]]))
}
