// Seed of all property tests in a run. `vitest.config.ts` draws a new one per run and prints it;
// ORIEL_SEED=<n> repeats a run.

import fc from 'fast-check'

const seed = Number(process.env.ORIEL_SEED)
if (!Number.isInteger(seed)) {
  throw new Error(
    `ORIEL_SEED must be an integer, got '${process.env.ORIEL_SEED}'. Leave it unset for a new seed.`,
  )
}
/** Runs per property in the check; ORIEL_RUNS=10 multiplies it by ten. */
const numRuns = Math.ceil(50 * Number(process.env.ORIEL_RUNS ?? 1))
fc.configureGlobal({ seed, numRuns })
