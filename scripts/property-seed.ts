// The seed of all property tests of a run. `vitest.config.ts` draws a new one for each run and prints it; ORIEL_SEED=<n> repeats a run.

import fc from 'fast-check'

const seed = Number(process.env.ORIEL_SEED)
if (!Number.isInteger(seed)) {
  throw new Error(
    `ORIEL_SEED must be an integer, got '${process.env.ORIEL_SEED}'. Leave it unset for a new seed.`,
  )
}
fc.configureGlobal({ seed })
