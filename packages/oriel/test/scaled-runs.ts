// How many cases a property runs. ORIEL_RUNS=10 runs ten times as many, ORIEL_RUNS=0.2 a fifth.

export const factor = Number(process.env.ORIEL_RUNS ?? 1)
if (!(factor > 0)) {
  throw new Error(`ORIEL_RUNS must be a number above 0, got '${process.env.ORIEL_RUNS}'.`)
}

/** A whole number: fast-check never ends with a fraction. */
export function scaledRuns(runs: number): number {
  return Math.max(1, Math.ceil(runs * factor))
}
