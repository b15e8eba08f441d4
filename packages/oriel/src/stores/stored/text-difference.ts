// The difference between two versions of a long text: which parts of the old one the new one repeats, and what is new in between. For
// checkpoints, each of which repeats most of the one before.

/** What must be copied or added, in the order of the new text. */
export interface TextDifference {
  /** Three numbers for each step: characters to take from `added`, then where in the old text to copy how many. */
  readonly steps: readonly number[]
  /** All that is new, in one piece. */
  readonly added: string
}

/** Repetitions shorter than this are not looked for. */
const blockLength = 32

export function differenceOf(before: string, text: string): TextDifference {
  const blocks = new Map<string, number>()
  // The first place of a block wins: the most text follows it.
  for (let at = 0; at + blockLength <= before.length; at += blockLength) {
    const block = before.slice(at, at + blockLength)
    if (!blocks.has(block)) blocks.set(block, at)
  }
  const steps: number[] = []
  const added: string[] = []
  let done = 0
  let at = 0
  while (at + blockLength <= text.length) {
    const found = blocks.get(text.slice(at, at + blockLength))
    if (found === undefined) {
      at += 1
      continue
    }
    const back = sharedBefore(before, text, { old: found, own: at, most: at - done })
    const forth = sharedAfter(before, text, { old: found, own: at })
    added.push(text.slice(done, at - back))
    steps.push(at - back - done, found - back, back + forth)
    at += forth
    done = at
  }
  added.push(text.slice(done))
  return { steps: [...steps, text.length - done, 0, 0], added: added.join('') }
}

/** The new text; undefined where the difference does not fit the old one. */
export function applyDifference(
  before: string,
  { steps, added }: TextDifference,
): string | undefined {
  let text = ''
  let taken = 0
  for (let at = 0; at + 2 < steps.length; at += 3) {
    const [count = 0, from = 0, length = 0] = steps.slice(at, at + 3)
    if (from < 0 || from + length > before.length) return undefined
    text += added.slice(taken, taken + count) + before.slice(from, from + length)
    taken += count
  }
  return taken === added.length ? text : undefined
}

interface Places {
  readonly old: number
  readonly own: number
}

function sharedAfter(before: string, text: string, { old, own }: Places): number {
  let length = blockLength
  while (
    old + length < before.length &&
    own + length < text.length &&
    before.charCodeAt(old + length) === text.charCodeAt(own + length)
  )
    length += 1
  return length
}

function sharedBefore(
  before: string,
  text: string,
  { old, own, most }: Places & { readonly most: number },
): number {
  let length = 0
  while (
    length < most &&
    length < old &&
    before.charCodeAt(old - length - 1) === text.charCodeAt(own - length - 1)
  )
    length += 1
  return length
}
