// What a provider would refuse in a conversation, rule by rule, and what Oriel does about it. Pure.

import type { FormatName, Projection, Violation } from 'oriel'
import { bodyOf, formatNamed } from 'oriel/providers'
import type { Conversation } from '../transcript/conversation.ts'
import type { Fields } from '../transcript/detect.ts'

/** All violations of one rule. */
export interface Break {
  readonly rule: string
  readonly count: number
  /** Where the first one is. */
  readonly path: string
  /** What the provider says about the first one. */
  readonly message: string
}

/** Repairs of one kind. */
export interface RepairKind {
  readonly rule: string
  readonly what: string
  readonly count: number
}

export interface Structure {
  readonly breaks: readonly Break[]
  readonly repairs: readonly RepairKind[]
  /** Violations in the request after Oriel's repairs. */
  readonly left: number
}

/** A transcript may well end with the model's answer; these rules are about requests that do. */
const endingRules: ReadonlySet<string> = new Set(['A5', 'A6', 'A15'])

/** `repaired` is the projection without a policy; undefined where there is none. */
export function examine(
  conversation: Conversation,
  repaired: Projection<unknown> | undefined,
): Structure {
  const { detection, messages, body } = conversation
  const found = violationsOf(detection.format, { body, messages })
  const left =
    repaired === undefined
      ? found
      : violationsOf(detection.format, {
          body,
          system: repaired.system,
          messages: repaired.messages,
        })
  return { breaks: groupBreaks(found), repairs: groupRepairs(repaired), left: left.length }
}

type Violations = readonly Violation[]

function violationsOf(
  format: FormatName,
  { body, messages, system }: { body: Fields; messages: readonly unknown[]; system?: unknown },
): Violations {
  const target = formatNamed(format)
  const violations = target.validate({ ...body, ...bodyOf(target, { messages, system }) })
  return violations.filter(({ rule }) => !endingRules.has(rule))
}

function groupBreaks(violations: Violations): readonly Break[] {
  const groups = new Map<string, Break>()
  for (const { rule, path, message } of violations) {
    const known = groups.get(rule)
    groups.set(
      rule,
      known === undefined
        ? { rule, count: 1, path, message }
        : { ...known, count: known.count + 1 },
    )
  }
  return [...groups.values()].sort((a, b) => b.count - a.count || compareIds(a.rule, b.rule))
}

/** A repair's reason opens with the id of the provider's rule: `O1: no result was recorded ...`. */
function groupRepairs(repaired: Projection<unknown> | undefined): readonly RepairKind[] {
  const groups = new Map<string, RepairKind>()
  for (const change of repaired?.trace ?? []) {
    if (change.rule !== 'repair') continue
    const [rule = '', ...words] = change.reason.split(': ')
    if (endingRules.has(rule)) continue
    const count = (groups.get(change.reason)?.count ?? 0) + 1
    groups.set(change.reason, { rule, what: words.join(': '), count })
  }
  return [...groups.values()].sort((a, b) => b.count - a.count || compareIds(a.rule, b.rule))
}

/** A2 before A10. */
export function compareIds(a: string, b: string): number {
  return a.localeCompare(b, 'en', { numeric: true })
}
