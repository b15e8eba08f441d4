// The seed of all property tests of a run. `vitest.config.ts` draws a new one for each run and prints it; ORIEL_SEED=<n> repeats a run.

import fc from 'fast-check'

const seed = Number(process.env.ORIEL_SEED)
if (!Number.isInteger(seed)) {
  throw new Error(
    `ORIEL_SEED must be an integer, got '${process.env.ORIEL_SEED}'. Leave it unset for a new seed.`,
  )
}
/** A moderate number for each run of the check; ORIEL_RUNS=10 makes ten times as many. */
const numRuns = Math.ceil(50 * Number(process.env.ORIEL_RUNS ?? 1))
fc.configureGlobal({ seed, numRuns })
