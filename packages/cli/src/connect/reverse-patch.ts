// Takes changes of a text back from a text that was edited since, as a patch is reversed: by the characters around each change.

/** Characters on each side by which a change is found again, tried in this order. */
const contexts = [Infinity, 400, 80, 20, 0] as const

/**
 * `now` without the changes between neighbours of `texts`, the newest taken back first; everything else in it stays, byte for byte.
 * Undefined where a change is not found, or in more than one place.
 */
export function reversePatch(texts: readonly string[], now: string): string | undefined {
  let text: string | undefined = now
  for (let index = texts.length - 1; index > 0 && text !== undefined; index--) {
    text = withoutChange(texts[index - 1] ?? '', texts[index] ?? '', text)
  }
  return text
}

function withoutChange(before: string, after: string, now: string): string | undefined {
  if (before === after) return now
  const shortest = Math.min(before.length, after.length)
  let start = 0
  while (start < shortest && before[start] === after[start]) start += 1
  let same = 0
  while (same < shortest - start && before.at(-1 - same) === after.at(-1 - same)) same += 1
  const end = after.length - same
  for (const context of contexts) {
    const from = Math.max(0, start - context)
    const piece = after.slice(from, end + context)
    const at = now.indexOf(piece)
    if (at === -1) continue
    if (now.includes(piece, at + 1)) return undefined
    const [first, last] = [at + start - from, at + end - from]
    return now.slice(0, first) + before.slice(start, before.length - same) + now.slice(last)
  }
  return undefined
}
