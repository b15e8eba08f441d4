// A user's rule that asks for anything: by its seed, each message and block is kept, dropped, omitted or given another text.

import * as fc from 'fast-check'
import { hash53 } from '../src/core/log/ids.ts'
import type { PolicyInput } from '../src/policy/schema.ts'
import { defineRule, type RuleBlock, type RuleProposal } from '../src/rules/custom.ts'
import { policyArbitrary } from '../src/testing/arbitraries.ts'

const wildRule = defineRule({
  name: 'wild',
  defaults: { seed: 0 },
  propose: ({ messages }, { seed }) =>
    messages.flatMap(({ id, blocks }): readonly RuleProposal[] => {
      const proposals = blocks.flatMap((block) => changeOf(block, hash53(`${seed}:b:${block.id}`)))
      return hash53(`${seed}:m:${id}`) % 5 === 0
        ? [...proposals, { message: id, form: 'dropped', reason: 'a whim' }]
        : proposals
    }),
})

export const wildRules = [wildRule] as const
export type WildPolicy = PolicyInput<typeof wildRules>

function changeOf({ id, text }: RuleBlock, whim: number): readonly RuleProposal[] {
  const reason = 'a whim'
  switch (whim % 9) {
    case 0:
      return [{ block: id, form: 'dropped', reason }]
    case 1:
      return [{ block: id, form: 'omitted', reason }]
    case 2:
      return [{ block: id, form: 'omitted', text: '[gone]', reason }]
    case 3:
      return [
        { block: id, form: 'clipped', text: `${text.slice(0, text.length / 2)} [...]`, reason },
      ]
    case 4:
      return [{ block: id, form: 'summarized', text: 'In short.', reason }]
    case 5:
      return [
        { block: id, form: 'clipped', text: `${text} and more`, reason },
        { block: id, form: 'dropped', reason },
      ]
    default:
      return []
  }
}

/** Policies of every kind, many of them with that rule. Shrinks to none. */
export function wildPolicyArbitrary(): fc.Arbitrary<WildPolicy | undefined> {
  const parts = fc.tuple(policyArbitrary(), fc.nat({ max: 1000 })).map(([policy, seed]) => {
    const others = typeof policy === 'string' ? { preset: policy } : policy
    return { ...others, wild: { seed } }
  })
  return fc.oneof(
    { withCrossShrink: true },
    { weight: 2, arbitrary: policyArbitrary() },
    { weight: 1, arbitrary: parts },
  )
}
