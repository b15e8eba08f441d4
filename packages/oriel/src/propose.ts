// All rules of a policy, asked in one order. Each gives its verdict alone; the strongest form of a block wins.

import type { Edit } from './core/entry.ts'
import { OrielError } from './core/errors.ts'
import { waitsFrom } from './core/reasoning.ts'
import { strongest } from './core/render.ts'
import type { State } from './core/state.ts'
import type { Policy, PolicyPart } from './policy.ts'
import { history } from './rules/history.ts'
import type { RuleContext } from './rules/rule.ts'

/** Parts of the policy that this version acts on. */
const availableParts: ReadonlySet<PolicyPart> = new Set(['history', 'schedule'])

/** The edits that a policy proposes for this state, the strongest verdict for each block. */
export function propose(state: State, policy: Policy, context: RuleContext): readonly Edit[] {
  const edits: Edit[] = []
  if (policy.history !== undefined) edits.push(...history.propose(state, policy.history, context))
  const waits = waitsFrom(state)
  return strongestPerBlock(
    edits.filter(({ since = Infinity }) => waits === Infinity || since < waits),
  )
}

/** Refuses a policy that asks for what is not built: better than a rule that silently does nothing. */
export function assertAvailable(policy: Policy): void {
  for (const part of Object.keys(policy) as PolicyPart[]) {
    if (policy[part] === undefined || availableParts.has(part)) continue
    throw new OrielError(
      'not-available',
      `The policy part '${part}' is not available in this version; available: ${[...availableParts].join(', ')}.`,
      { path: `policy.${part}` },
    )
  }
}

function strongestPerBlock(edits: readonly Edit[]): readonly Edit[] {
  const winners = new Map<string, Edit>()
  const drops: Edit[] = []
  for (const edit of edits) {
    if (!('seq' in edit.target)) {
      drops.push(edit)
      continue
    }
    const key = `${edit.target.seq}:${edit.target.block}`
    const other = winners.get(key)
    if (other === undefined || strongest(other.form, edit.form) !== other.form)
      winners.set(key, edit)
  }
  return [...drops, ...winners.values()]
}
