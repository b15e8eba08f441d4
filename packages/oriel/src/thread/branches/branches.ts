// A thread and its forks: which branch a resent history belongs to.

import type { MessageEntry } from '../../core/log/entry.ts'
import { OrielError } from '../../core/log/errors.ts'
import { Journal, type JournalOptions } from '../journal/journal.ts'
import { forkJournal, forksOf, rehearseFork } from './fork.ts'
import type { BrokenOff } from './interrupted.ts'
import type { IncomingMessage, KeyIndex, KeyMatch } from './sync.ts'

/** The most branches that are looked at, newest first. */
const maxBranches = 64
/** How often a history is placed again because its branch moved meanwhile. */
const maxAttempts = 20

/** One log of the family. */
export class Branch {
  readonly journal: Journal
  /** The answer for which it was forked, where that broke off. */
  readonly brokenOff: BrokenOff | undefined
  #keys: KeyIndex | undefined

  constructor(journal: Journal, brokenOff?: BrokenOff) {
    this.journal = journal
    this.brokenOff = brokenOff
  }

  /** How a history meets the branch; throws `BranchMoved` when it now contradicts it. */
  match(history: readonly IncomingMessage[]): KeyMatch {
    this.#keys?.update(this.journal.state)
    const meeting = this.#keys?.match(history, this.journal.state)
    if (meeting === undefined || meeting.behind > 0) throw new BranchMoved()
    return meeting
  }

  /** As this process knows the branch: writing to it tells whether others have written since. Undefined where it must be read first. */
  matchCached(history: readonly IncomingMessage[]): KeyMatch | undefined {
    if (this.journal.isStale) return undefined
    this.#keys = this.journal.knownKeys
    const meeting = this.#keys?.match(history, this.journal.state)
    return meeting?.isUnsure === true ? undefined : meeting
  }

  async matchFresh(history: readonly IncomingMessage[]): Promise<KeyMatch> {
    await this.journal.refresh()
    this.#keys = await this.journal.keys()
    const meeting = this.#keys.match(history, this.journal.state)
    if (!meeting.isUnsure) return meeting
    await this.journal.complete()
    return this.#keys.match(history, this.journal.state)
  }

  /** Notes what the client sent of messages that were just appended. */
  noteAppended(appended: readonly MessageEntry[], sent: readonly IncomingMessage[]): void {
    this.#keys?.noteAppended(appended, sent)
  }

  /** The seq behind which a fork begins that keeps the first `count` messages. */
  endOf(count: number): number {
    return this.#keys?.endOf(count) ?? 0
  }
}

/** Another writer appended something else between choosing a branch and writing to it. */
class BranchMoved extends Error {}

interface Candidate {
  readonly branch: Branch
  readonly meeting: KeyMatch
}

export interface Placed<T> {
  readonly isForked: boolean
  readonly written: T
}

export interface HistoryMatch {
  /** The branch that shares most with the history. */
  readonly thread: string
  /** Messages of the history that the branch has. */
  readonly matched: number
  /** Messages of the branch that the history contradicts or lacks; above 0, `sync` would fork. */
  readonly behind: number
}

/** Where a history would be written. */
export interface MatchPreview {
  /** The branch that shares most with it. */
  readonly thread: string
  readonly meeting: KeyMatch
  readonly brokenOff: BrokenOff | undefined
  readonly copy: Journal
  /** The branch itself; undefined where the history would begin a fork. */
  readonly branch: Journal | undefined
}

export class Branches {
  readonly #options: Omit<JournalOptions, 'key' | 'store'>
  readonly #branches = new Map<string, Branch>()
  #current: Branch

  constructor(journal: Journal, options: Omit<JournalOptions, 'key' | 'store'>) {
    this.#options = options
    this.#current = this.#add(journal)
  }

  /**
   * Writes a history to the branch that it continues: the current one if it does, else another that does, else a fork of the one
   * that shares most with it. A history is never joined to a branch that it contradicts, also when others write meanwhile.
   */
  async place<T>(
    history: readonly IncomingMessage[],
    write: (branch: Branch) => Promise<T>,
    { isQuick = false }: { readonly isQuick?: boolean } = {},
  ): Promise<Placed<T>> {
    for (let attempt = 1; ; attempt++) {
      const { branch, meeting } = await this.#best(history, isQuick && attempt === 1)
      const isForked = meeting.behind > 0
      const target = isForked ? await this.#fork(branch, meeting) : branch
      try {
        const written = await write(target)
        this.#current = target
        return { isForked, written }
      } catch (error) {
        if (!(error instanceof BranchMoved)) throw error
        if (attempt === maxAttempts) throw tooBusy(this.#current.journal.key.thread)
      }
    }
  }

  /** Where `place` would write a history. */
  async match(history: readonly IncomingMessage[]): Promise<HistoryMatch> {
    const { branch, meeting } = await this.#best(history)
    const { matched, behind } = meeting
    return { thread: branch.journal.key.thread, matched, behind }
  }

  /** The branch to which `place` would write a history, as a copy in memory. Nothing is written, and the current branch stays. */
  async preview(history: readonly IncomingMessage[]): Promise<MatchPreview> {
    const { branch, meeting } = await this.#best(history)
    const { journal } = branch
    const { thread } = journal.key
    if (meeting.behind === 0) {
      const { brokenOff } = branch
      return { thread, meeting, brokenOff, copy: Journal.copyOf(journal), branch: journal }
    }
    const copy = await rehearseFork(journal, branch.endOf(meeting.kept))
    return { thread, meeting, brokenOff: meeting.brokenOff, copy, branch: undefined }
  }

  /** With `isQuick`, as this process knows the current branch. */
  async #best(history: readonly IncomingMessage[], isQuick = false): Promise<Candidate> {
    const branch = this.#current
    const known = isQuick ? branch.matchCached(history) : undefined
    // A history that contradicts what is known here may go on elsewhere, where others have taken it.
    const isKnown = known !== undefined && known.behind === 0
    let best = { branch, meeting: isKnown ? known : await branch.matchFresh(history) }
    if (isKnown && relativesOf(branch.journal).length === 0) return best
    for (const other of await this.#others(isKnown)) {
      const meeting = await other.matchFresh(history)
      if (isBetter(meeting, best.meeting)) best = { branch: other, meeting }
    }
    return best
  }

  async #fork(branch: Branch, { kept, brokenOff }: KeyMatch): Promise<Branch> {
    const journal = await forkJournal(branch.journal, branch.endOf(kept), this.#options)
    const fork = this.#add(journal, brokenOff)
    await fork.matchFresh([])
    return fork
  }

  #add(journal: Journal, brokenOff?: BrokenOff): Branch {
    const branch = new Branch(journal, brokenOff)
    this.#branches.set(journal.key.thread, branch)
    return branch
  }

  /** Every other branch that can be reached: parents and forks, newest first. */
  async #others(isQuick: boolean): Promise<readonly Branch[]> {
    const found = new Map<string, Branch>()
    const waiting = [this.#current]
    while (waiting.length > 0 && found.size < maxBranches) {
      const { journal } = waiting.shift() as Branch
      // Another object may have forked it since.
      if (!isQuick) await journal.refresh()
      for (const id of relativesOf(journal)) {
        if (found.has(id) || id === this.#current.journal.key.thread) continue
        const branch = this.#branches.get(id) ?? (await this.#open(id))
        if (branch === undefined) continue
        found.set(id, branch)
        waiting.push(branch)
      }
    }
    return [...found.values()]
  }

  async #open(thread: string): Promise<Branch | undefined> {
    const { store, key } = this.#current.journal
    const journal = await Journal.open({ ...this.#options, store, key: { ...key, thread } })
    return journal.state.version === 0 ? undefined : this.#add(journal)
  }
}

function tooBusy(thread: string): OrielError {
  return new OrielError(
    'version-conflict',
    `Thread ${thread} is written to so often that the history found no place. Try again.`,
  )
}

/** The thread that a branch was forked from, and its own forks, newest first. */
function relativesOf(journal: Journal): readonly string[] {
  return [...parentsOf(journal), ...[...forksOf(journal)].reverse()]
}

function parentsOf(journal: Journal): readonly string[] {
  const value = journal.setting('forked-from')?.value
  if (typeof value !== 'object' || value === null || !('thread' in value)) return []
  return typeof value.thread === 'string' ? [value.thread] : []
}

/** Agreement without contradiction comes first, then the longer agreement. */
function isBetter(a: KeyMatch, b: KeyMatch): boolean {
  if ((a.behind === 0) !== (b.behind === 0)) return a.behind === 0
  return a.matched > b.matched
}
