import * as fc from 'fast-check'
import { describe, it } from 'vitest'
import { memoryStore } from '../src/stores/memory.ts'
import {
  bytesCheck,
  type Check,
  growthCheck,
  naiveCheck,
  prefixCheck,
  scratchCheck,
} from './thread-model/checks.ts'
import { type OperationOptions, operationsArbitrary, policyOf } from './thread-model/operations.ts'
import { run } from './thread-model/run.ts'
import type { Scenario } from './thread-model/session.ts'

const factor = Number(process.env.ORIEL_RUNS ?? 1)

function scenarioArbitrary(hasCaps: boolean): fc.Arbitrary<Scenario> {
  return fc.record(
    { policy: policyOf(hasCaps), isListenerBad: fc.boolean() },
    { requiredKeys: [], noNullPrototype: true },
  )
}

async function holds(options: OperationOptions, checks: () => readonly Check[], numRuns: number) {
  let count = 0
  await fc.assert(
    fc.asyncProperty(
      scenarioArbitrary(options.hasCaps ?? true),
      operationsArbitrary(options),
      async (scenario, operations) => {
        count += 1
        await run({ store: memoryStore(), tenant: `run-${count}`, scenario, operations, checks: checks() })
      },
    ),
    { numRuns: numRuns * factor },
  )
}

const types = ['append', 'append', 'append', 'view', 'view', 'undo', 'mark', 'policy', 'usage', 'reload', 'tick'] as const

describe('memory', () => {
  it('[I1]', () => holds({ types }, () => [prefixCheck()], 100))
  it('[I13] naive', () => holds({ types }, () => [naiveCheck()], 100))
  it('[I13] scratch', () => holds({ types }, () => [scratchCheck()], 100))
  it('[I3]', () => holds({ types }, () => [bytesCheck()], 100))
  it('[I9]', () => holds({ types, isComplete: true }, () => [growthCheck()], 100))
  it('fork', () => holds({ types: ['append', 'append', 'view', 'view', 'undo', 'mark', 'policy', 'fork'] }, () => [prefixCheck(), bytesCheck()], 100))
  it('sync', () => holds({ types: ['sync', 'sync', 'sync', 'view', 'policy', 'reload'] }, () => [prefixCheck(), naiveCheck()], 100))
  it('sync + append + fork', () => holds({ types: ['sync', 'sync', 'append', 'fork', 'view', 'policy', 'reload'] }, () => [prefixCheck(), bytesCheck()], 100))
  it('race', () => holds({ types: ['race', 'race', 'append', 'view', 'policy', 'mark', 'tick'] }, () => [prefixCheck(), bytesCheck()], 100))
  it('fault', () => holds({ types: ['fault', 'fault', 'append', 'view', 'policy', 'mark', 'tick'] }, () => [prefixCheck(), naiveCheck()], 100))
})
