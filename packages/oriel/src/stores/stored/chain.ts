// Walks a thread's chain of headers and says what does not hold.

import type { Problem, ThreadKey } from '../store.ts'
import { contentHash, erasedType, genesis, headerHash } from './entry-form.ts'

/** One link of the chain as a store kept it. */
export interface Link {
  readonly seq: number
  readonly type: string
  readonly content: string
  readonly header: string
  /** The entry's text; absent when it was erased or a part of it is missing. */
  readonly text?: string
  /** True when the text cannot be put together because a blob is gone. */
  readonly isIncomplete?: boolean
}

/** What the store says about the whole thread. */
interface ChainEnd {
  readonly version: number
  readonly head: string
}

/**
 * Checks the links of one thread in order. Damage is reported where it is: after a bad link the walk continues from that link's
 * own stored header, so one bad entry gives one problem.
 */
export class ChainWalk {
  readonly #key: ThreadKey
  /** Absent for an erased thread: its headers can be checked, its contents are gone. */
  readonly #salt: string | undefined
  #seq: number
  #previous: string | undefined

  /** `start` is the link before the first one to check. */
  constructor(
    key: ThreadKey,
    salt: string | undefined,
    start: { readonly seq: number; readonly header: string } = { seq: 0, header: genesis },
  ) {
    this.#key = key
    this.#salt = salt
    this.#seq = start.seq
    this.#previous = start.header
  }

  /** The problems of the next link. */
  check(link: Link): readonly Problem[] {
    const problems: Problem[] = []
    if (link.seq !== this.#seq + 1) {
      problems.push(this.#problem('gap', this.#seq + 1, `Entries before ${link.seq} are missing.`))
      this.#previous = undefined
    }
    const bad = this.#checkContent(link) ?? this.#checkHeader(link)
    if (bad !== undefined) problems.push(bad)
    this.#seq = link.seq
    this.#previous = link.header
    return problems
  }

  /** The problems that show only at the end of the log. */
  finish(end: ChainEnd): readonly Problem[] {
    if (this.#seq < end.version) {
      const message = `The log ends at ${this.#seq} but ${end.version} entries were acknowledged.`
      return [this.#problem('log-truncated', this.#seq + 1, message)]
    }
    if (this.#seq > end.version || this.#previous !== end.head) {
      return [this.#problem('corrupt-entry', this.#seq, 'The head does not match the last entry.')]
    }
    return []
  }

  #checkContent(link: Link): Problem | undefined {
    if (link.isIncomplete === true) {
      return this.#problem('missing-blob', link.seq, 'A part of the entry is missing.')
    }
    const salt = link.type === erasedType ? '' : this.#salt
    if (salt === undefined) return undefined
    if (link.text !== undefined && contentHash(salt, link.text) === link.content) return undefined
    return this.#problem('corrupt-entry', link.seq, 'The entry does not match its hash.')
  }

  #checkHeader(link: Link): Problem | undefined {
    if (this.#previous === undefined) return undefined
    const { seq, type, content } = link
    const header = headerHash({ key: this.#key, previous: this.#previous, seq, type, content })
    if (header === link.header) return undefined
    return this.#problem(
      'corrupt-entry',
      link.seq,
      'The header does not follow from the one before.',
    )
  }

  #problem(code: Problem['code'], seq: number, message: string): Problem {
    return { tenant: this.#key.tenant, thread: this.#key.thread, seq, code, message }
  }
}
