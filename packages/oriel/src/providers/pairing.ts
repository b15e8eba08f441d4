// The rules about calls and results that every framework's message list is held to, whatever its messages look like.

import type { Violation } from './format.ts'

/** What one foreign message contributes to pairs. */
export interface Party {
  readonly path: string
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  readonly calls: readonly Named[]
  readonly results: readonly Named[]
  /** Ids of calls that may go unanswered at the end: they wait for a person. @default none */
  readonly waiting?: ReadonlySet<string>
}

export interface Named {
  readonly id: unknown
  readonly path: string
}

export interface PairingRules {
  /** A call without its result directly after it. */
  readonly unanswered: string
  /** A result without its call directly before it. */
  readonly orphan: string
  /** An id that is no text, or that is used twice. */
  readonly id: string
}

/** Every rule about pairs that a list of messages breaks. */
export function pairViolations(parties: readonly Party[], rules: PairingRules): Violation[] {
  const violations: Violation[] = []
  const used = new Set<unknown>()
  let open = new Map<unknown, Named>()
  let answered = new Set<unknown>()
  let waiting: ReadonlySet<unknown> = new Set()
  const close = (isEnd: boolean): void => {
    for (const [id, { path }] of open) {
      if (isEnd && waiting.has(id)) continue
      violations.push({
        rule: rules.unanswered,
        path,
        message: 'A call has no result after it.',
      })
    }
    open = new Map()
    answered = new Set()
  }
  for (const party of parties) {
    if (party.role !== 'tool') close(false)
    for (const { id, path } of party.results) {
      if (open.delete(id)) answered.add(id)
      else if (answered.has(id)) {
        violations.push({ rule: rules.id, path, message: 'A call has two results.' })
      } else {
        violations.push({
          rule: rules.orphan,
          path,
          message: 'A result has no call directly before it.',
        })
      }
    }
    for (const call of party.calls) {
      violations.push(...idViolations(call, used, rules))
      used.add(call.id)
      open.set(call.id, call)
    }
    if (party.role === 'assistant') waiting = party.waiting ?? new Set()
  }
  close(true)
  return violations
}

function idViolations(call: Named, used: ReadonlySet<unknown>, rules: PairingRules): Violation[] {
  const { id, path } = call
  if (typeof id !== 'string' || id === '') {
    return [{ rule: rules.id, path, message: 'A call has an id, as a text.' }]
  }
  return used.has(id) ? [{ rule: rules.id, path, message: 'An earlier call has the same id.' }] : []
}
