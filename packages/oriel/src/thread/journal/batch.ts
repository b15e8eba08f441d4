// A batch: entries that go to the store together, in one append, or not at all.

import type { Entry } from '../../core/log/entry.ts'
import { OrielError } from '../../core/log/errors.ts'
import type { State } from '../../core/state/state.ts'
import type { WriteOptions } from '../../stores/store.ts'
import type { Stamp } from './journal.ts'

/** Makes entries from the state as it is now. Must be pure: it is asked again when another writer was first. */
export type Build<E extends Entry> = (state: State, stamp: Stamp) => readonly E[]

/** What a batch needs of its journal. */
export interface BatchHost {
  /** The entry that begins the log, where the state is empty. */
  header(): Entry | undefined
  /** Makes entries without folding them into the state. */
  make<E extends Entry>(build: Build<E>): readonly E[]
  fold(entries: readonly Entry[]): void
  /** Appends to the store. The state has the first `staged` of the entries already. */
  append(entries: readonly Entry[], staged: number, options: WriteOptions): Promise<void>
  /** Resolves when what the state shows is in the store for good, also after an append that failed with an open outcome. */
  confirm(staged: number): Promise<void>
  /** Called once, when the batch is over; `staged` entries are in the state and will never be in the store. */
  closed(staged: number): void
}

/**
 * Entries that are added are in the state at once, so that a view can be made of them, and in the store when the batch is committed. A
 * batch that is dropped, or that the store refuses, was never there: the journal reads its state again before the next operation.
 */
export class Batch {
  readonly #host: BatchHost
  readonly #staged: Entry[] = []
  readonly #onWritten: (() => void) | undefined
  #hasHeader = false
  #isOpen = true
  #isLost = false

  constructor(host: BatchHost, onWritten?: () => void) {
    this.#host = host
    this.#onWritten = onWritten
  }

  /** Whether nothing was added. */
  get isEmpty(): boolean {
    return this.#staged.length === (this.#hasHeader ? 1 : 0)
  }

  /** Whether another writer was first: whatever led to these entries must be done again. */
  get isLost(): boolean {
    return this.#isLost
  }

  /** Entries that the state has and the store does not. */
  get staged(): readonly Entry[] {
    return this.#staged
  }

  add<E extends Entry>(build: Build<E>): readonly E[] {
    const entries = this.#make(build)
    this.#host.fold(entries)
    this.#staged.push(...entries)
    return entries
  }

  /** Appends what was added, and what `build` makes behind it. Where that fails, the batch is dropped. */
  async commit<E extends Entry>(
    build: Build<E>,
    options: WriteOptions = {},
  ): Promise<readonly E[]> {
    try {
      const entries = this.#make(build)
      // A header alone begins nothing. What is to be added may be there because of an append that failed.
      if (this.isEmpty && entries.length === 0) {
        await this.#host.confirm(this.#staged.length)
        return entries
      }
      const all = this.#staged.length === 0 ? entries : [...this.#staged, ...entries]
      await this.#host.append(all, this.#staged.length, options)
      this.#staged.length = 0
      this.#host.fold(entries)
      this.#close()
      this.#onWritten?.()
      return entries
    } catch (error) {
      this.#isLost = OrielError.is(error, 'version-conflict')
      throw error
    } finally {
      this.drop()
    }
  }

  /** Gives the entries up. Does nothing for a batch that was committed. */
  drop(): void {
    if (this.#isOpen) this.#close()
  }

  #make<E extends Entry>(build: Build<E>): readonly E[] {
    const header = this.#host.header()
    if (header !== undefined) {
      this.#host.fold([header])
      this.#staged.push(header)
      this.#hasHeader = true
    }
    return this.#host.make(build)
  }

  #close(): void {
    this.#isOpen = false
    this.#host.closed(this.#staged.length)
  }
}
