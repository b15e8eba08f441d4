import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { policyPage, policyTable } from './policy-table.ts'

it('docs/policy.md has every field of a policy as the rules define it', () => {
  expect(readFileSync(policyPage, 'utf8')).toBe(policyTable())
})
