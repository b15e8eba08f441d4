// Where the rows of a long list stand. Heights are guessed until a row has been measured.

export class RowLayout {
  readonly #guess: number
  #heights: Float64Array
  /** `#tops[i]` is the sum of the heights before row i; right up to `#valid`. */
  #tops: Float64Array
  #valid = 0
  #count: number

  constructor(count: number, guess: number) {
    this.#guess = guess
    this.#count = count
    this.#heights = new Float64Array(count).fill(guess)
    this.#tops = new Float64Array(count + 1)
  }

  get count(): number {
    return this.#count
  }

  /** Height of everything. */
  get total(): number {
    return this.topOf(this.#count)
  }

  /** More or fewer rows at the end; those that stay keep their heights. */
  resize(count: number): void {
    if (count === this.#count) return
    const heights = new Float64Array(count).fill(this.#guess)
    heights.set(this.#heights.subarray(0, Math.min(count, this.#count)))
    this.#heights = heights
    this.#tops = new Float64Array(count + 1)
    this.#valid = 0
    this.#count = count
  }

  /** Notes a measured height and returns by how much it differs from what was held before. */
  measure(index: number, height: number): number {
    if (index >= this.#count) return 0
    const difference = height - (this.#heights[index] ?? 0)
    // Sub-pixel noise would make the list measure for ever.
    if (Math.abs(difference) < 0.5) return 0
    this.#heights[index] = height
    this.#valid = Math.min(this.#valid, index)
    return difference
  }

  topOf(index: number): number {
    const wanted = Math.min(Math.max(index, 0), this.#count)
    for (let row = this.#valid; row < wanted; row++) {
      this.#tops[row + 1] = (this.#tops[row] ?? 0) + (this.#heights[row] ?? 0)
    }
    this.#valid = Math.max(this.#valid, wanted)
    return this.#tops[wanted] ?? 0
  }

  /** The row at an offset from the top. */
  indexAt(offset: number): number {
    this.topOf(this.#count)
    let low = 0
    let high = Math.max(0, this.#count - 1)
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if ((this.#tops[middle] ?? 0) <= offset) low = middle
      else high = middle - 1
    }
    return low
  }
}
