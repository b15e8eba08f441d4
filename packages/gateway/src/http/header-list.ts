// HTTP headers by lower-case name, in order of arrival. Replaces the standard `Headers` class,
// which validates again what Node's parser has validated, sorts, and dominates the header cost of a
// small call.

/** Read access to headers, compatible with the standard class. */
export interface ReadableHeaders {
  get(name: string): string | null
  has(name: string): boolean
  keys(): Iterable<string>
  [Symbol.iterator](): Iterator<[string, string]>
}

/** Response headers, to which the gateway adds its own. */
export interface WritableHeaders extends ReadableHeaders {
  set(name: string, value: string): void
  append(name: string, value: string): void
  getSetCookie(): string[]
}

/** The one header whose values cannot be joined. */
const cookie = 'set-cookie'

/** Names are lower case, except in `append`. */
export class HeaderList implements WritableHeaders {
  readonly #values = new Map<string, string>()
  readonly #cookies: string[] = []

  /** Builds the list from Node's raw headers: alternating names and values. */
  static ofRaw(raw: readonly string[]): HeaderList {
    const list = new HeaderList()
    for (let index = 0; index + 1 < raw.length; index += 2) {
      list.append(raw[index] as string, raw[index + 1] as string)
    }
    return list
  }

  get(name: string): string | null {
    return this.#values.get(name) ?? null
  }

  has(name: string): boolean {
    return this.#values.has(name)
  }

  set(name: string, value: string): void {
    this.#values.set(name, value)
  }

  /** Joins values of the same name into a list. */
  append(name: string, value: string): void {
    const lower = name.toLowerCase()
    if (lower === cookie) this.#cookies.push(value)
    const before = this.#values.get(lower)
    this.#values.set(lower, before === undefined ? value : `${before}, ${value}`)
  }

  keys(): IterableIterator<string> {
    return this.#values.keys()
  }

  getSetCookie(): string[] {
    return [...this.#cookies]
  }

  [Symbol.iterator](): Iterator<[string, string]> {
    return this.#values.entries()
  }
}
