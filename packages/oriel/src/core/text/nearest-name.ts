// The known name that a misspelt one is nearest to, by edit distance.

/** The nearest of the known names, or undefined where none is within `most` edits. Case does not count. */
export function nearestName(name: string, known: readonly string[], most = 3): string | undefined {
  let best: string | undefined
  let least = most + 1
  for (const candidate of known) {
    const edits = distance(name.toLowerCase(), candidate.toLowerCase())
    if (edits >= least) continue
    best = candidate
    least = edits
  }
  return best
}

/** Levenshtein's distance. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const replace = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(replace, (row[j] as number) + 1, (next[j - 1] as number) + 1))
    }
    row = next
  }
  return row[b.length] as number
}
