// Line diff of a reduced block: what of the original is shown, what is left out, what stands in its place.

export interface DiffPart {
  readonly type: 'same' | 'removed' | 'added'
  readonly lines: readonly string[]
}

/** Lines that are compared one by one; of longer texts only beginning and end are. */
const maxCells = 1_000_000

export function lineDiff(before: string, after: string): readonly DiffPart[] {
  const [a, b] = [before.split('\n'), after.split('\n')]
  let start = 0
  while (start < a.length && start < b.length && a[start] === b[start]) start++
  let end = 0
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end))
    end++
  const [left, right] = [a.slice(start, a.length - end), b.slice(start, b.length - end)]
  const middle =
    left.length * right.length <= maxCells ? compare(left, right) : replaced(left, right)
  const parts: DiffPart[] = [
    { type: 'same', lines: a.slice(0, start) },
    ...middle,
    { type: 'same', lines: a.slice(a.length - end) },
  ]
  return joined(parts)
}

function replaced(left: readonly string[], right: readonly string[]): readonly DiffPart[] {
  return [
    { type: 'removed', lines: left },
    { type: 'added', lines: right },
  ]
}

/** The longest common subsequence of lines, by dynamic programming. */
function compare(left: readonly string[], right: readonly string[]): readonly DiffPart[] {
  const width = right.length + 1
  const lengths = new Uint32Array((left.length + 1) * width)
  for (let i = left.length - 1; i >= 0; i--) {
    for (let j = right.length - 1; j >= 0; j--) {
      const isSame = left[i] === right[j]
      const down = lengths[(i + 1) * width + j] ?? 0
      const across = lengths[i * width + j + 1] ?? 0
      const both = (lengths[(i + 1) * width + j + 1] ?? 0) + 1
      lengths[i * width + j] = isSame ? both : Math.max(down, across)
    }
  }
  const parts: DiffPart[] = []
  let [i, j] = [0, 0]
  while (i < left.length || j < right.length) {
    const isSame = i < left.length && j < right.length && left[i] === right[j]
    const down = i < left.length ? (lengths[(i + 1) * width + j] ?? 0) : -1
    const across = j < right.length ? (lengths[i * width + j + 1] ?? 0) : -1
    if (isSame) {
      parts.push({ type: 'same', lines: [left[i++] ?? ''] })
      j++
    } else if (down >= across) parts.push({ type: 'removed', lines: [left[i++] ?? ''] })
    else parts.push({ type: 'added', lines: [right[j++] ?? ''] })
  }
  return parts
}

function joined(parts: readonly DiffPart[]): readonly DiffPart[] {
  const list: { type: DiffPart['type']; lines: string[] }[] = []
  for (const { type, lines } of parts) {
    const last = list.at(-1)
    if (lines.length === 0) continue
    if (last?.type === type) last.lines.push(...lines)
    else list.push({ type, lines: [...lines] })
  }
  return list
}
