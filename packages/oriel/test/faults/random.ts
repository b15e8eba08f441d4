// Chance that can be repeated: one seed, one run.

/** The seed of this run: ORIEL_SEED, or a new one. Every test name shows it. */
const wanted = Number(process.env.ORIEL_SEED ?? Number.NaN)
export const seed = Number.isInteger(wanted) ? wanted : Math.floor(Math.random() * 2 ** 31)

/** Numbers from 0 to below 1 that follow from the seed (the well-known mulberry32). */
export function createRandom(from: number): () => number {
  let state = from | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

/** An integer from `least` to `most`, both included. */
export function integer(random: () => number, [least, most]: readonly [number, number]): number {
  return least + Math.floor(random() * (most - least + 1))
}

export function choose<T>(random: () => number, items: readonly T[]): T {
  return items[integer(random, [0, items.length - 1])] as T
}
