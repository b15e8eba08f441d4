// Headers by their lower-case names, in the order in which they came. The standard class checks what Node's parser has checked already, sorts
// what nobody reads in order, and takes more time than everything else that is done to the headers of a small call.

/** What is read of headers; the standard class has it too. */
export interface ReadableHeaders {
  get(name: string): string | null
  has(name: string): boolean
  keys(): Iterable<string>
  [Symbol.iterator](): Iterator<[string, string]>
}

/** Headers of an answer, to which the gateway adds its own. */
export interface WritableHeaders extends ReadableHeaders {
  set(name: string, value: string): void
  append(name: string, value: string): void
  getSetCookie(): string[]
}

/** The one header whose values cannot be joined. */
const cookie = 'set-cookie'

/** Names are given in lower case, except to `append`. */
export class HeaderList implements WritableHeaders {
  readonly #values = new Map<string, string>()
  readonly #cookies: string[] = []

  /** The headers of a message as Node gives them: names and values in turn. */
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

  /** Values of one name are one list, as everybody reads them. */
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
