// Models that refuse requests with tools, by upstream: their requests go without the expand tool. Kept in memory.

/** Servers and models change: later it is tried again. */
const lifetimeMs = 24 * 60 * 60 * 1000
/** Model names are the clients': the least recently noted are forgotten. */
const maxKnown = 1000

export class ToolRefusals {
  readonly #now: () => number
  readonly #known = new Map<string, number>()

  constructor(now: () => number) {
    this.#now = now
  }

  has(upstream: string, model: string): boolean {
    const at = this.#known.get(keyOf(upstream, model))
    return at !== undefined && this.#now() - at <= lifetimeMs
  }

  /** A request was accepted without the tool after the same one with it was refused. */
  note(upstream: string, model: string): void {
    const key = keyOf(upstream, model)
    this.#known.delete(key)
    this.#known.set(key, this.#now())
    if (this.#known.size > maxKnown) this.#known.delete(this.#known.keys().next().value as string)
  }
}

function keyOf(upstream: string, model: string): string {
  return `${upstream}/${model}`.slice(0, 200)
}
