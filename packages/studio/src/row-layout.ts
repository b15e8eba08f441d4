// Row positions of a virtual list. Heights are estimated until measured.

export class RowLayout {
  readonly #guess: number
  #heights: Float64Array
  /** `#tops[i]` is the sum of the heights before row i; valid up to `#valid`. */
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

  /** Total height. */
  get total(): number {
    return this.topOf(this.#count)
  }

  /** Adds or removes rows at the end; the others keep their heights. */
  resize(count: number): void {
    if (count === this.#count) return
    const heights = new Float64Array(count).fill(this.#guess)
    heights.set(this.#heights.subarray(0, Math.min(count, this.#count)))
    this.#heights = heights
    this.#tops = new Float64Array(count + 1)
    this.#valid = 0
    this.#count = count
  }

  /** Records a measured height and returns the difference to the previous one. */
  measure(index: number, height: number): number {
    if (index >= this.#count) return 0
    const difference = height - (this.#heights[index] ?? 0)
    // Ignore sub-pixel noise, which would cause endless measuring.
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
