// What undos and marks did to a view: reasoning that was made before another beginning must not be sent behind this one.

/** What a snapshot keeps of it. */
export interface MovesData {
  readonly toggled: readonly (readonly [seq: number, since: number])[]
  readonly past: readonly (readonly [first: number, from: number, until: number])[]
}

export class Moves {
  /** Messages that a mark shows or hides, against what they were before it. */
  readonly #toggled: Map<number, number>
  /** Times in which a view began otherwise: from where, from when, until when. */
  readonly #past: (readonly [first: number, from: number, until: number])[]

  constructor({ toggled, past }: MovesData = { toggled: [], past: [] }) {
    this.#toggled = new Map(toggled)
    this.#past = [...past]
  }

  data(): MovesData {
    return { toggled: [...this.#toggled], past: [...this.#past] }
  }

  /** A mark at `at` shows or hides a message; the next one that does takes it back. */
  toggle(seq: number, at: number): void {
    const since = this.#toggled.get(seq)
    if (since === undefined) this.#toggled.set(seq, at)
    else {
      this.#toggled.delete(seq)
      this.#past.push([seq, since, at])
    }
  }

  /** An edit that began at `first` was in force from one time until another. */
  undone(first: number, from: number, until: number): void {
    this.#past.push([first, from, until])
  }

  /** Whether what stood before the message at `seq` when it was logged is not what stands there now. */
  haveChangedBefore(seq: number): boolean {
    for (const [first, since] of this.#toggled) if (first < seq && since >= seq) return true
    return this.#past.some(([first, from, until]) => first < seq && from <= seq && seq < until)
  }
}
