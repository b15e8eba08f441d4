// A conversation: a thread and its forks, each with an id that never changes. It finds the branch that a resent history continues, or
// makes one, and lets the operations on all of them take turns.

import type { MessageEntry } from '../../core/log/entry.ts'
import { OrielError } from '../../core/log/errors.ts'
import { settings } from '../../core/log/settings.ts'
import { type EngineOptions, type SharedParts, sharedParts, ThreadEngine } from '../engine.ts'
import { Journal, type JournalOptions } from '../journal/journal.ts'
import { Queue } from '../queue.ts'
import { forkJournal, forksOf, rehearseFork } from './fork.ts'
import type { BrokenOff } from './interrupted.ts'
import type { IncomingMessage, KeyIndex, KeyMatch } from './sync.ts'

/** The most branches that are looked at, newest first. */
const maxBranches = 64
/** How often a history is resolved again because another writer changed its branch. */
const maxAttempts = 20

/** One thread of the conversation: its log, the keys of its messages, and the parts that work on it. */
export class Branch {
  readonly engine: ThreadEngine
  /** The answer for which it was forked, where that broke off. */
  readonly brokenOff: BrokenOff | undefined
  #keys: KeyIndex | undefined

  constructor(engine: ThreadEngine, brokenOff?: BrokenOff) {
    this.engine = engine
    this.brokenOff = brokenOff
  }

  get journal(): Journal {
    return this.engine.journal
  }

  /** How a history matches the branch; throws `BranchMoved` when it now contradicts it. */
  match(history: readonly IncomingMessage[]): KeyMatch {
    this.#keys?.update(this.journal.state)
    const match = this.#keys?.match(history, this.journal.state)
    if (match === undefined || match.behind > 0) throw new BranchMoved()
    return match
  }

  /** As this process knows the branch: a write detects what others wrote since. Undefined where it must be read first. */
  matchCached(history: readonly IncomingMessage[]): KeyMatch | undefined {
    if (this.journal.isStale) return undefined
    this.#keys = this.journal.knownKeys
    const match = this.#keys?.match(history, this.journal.state)
    return match?.isUnsure === true ? undefined : match
  }

  async matchFresh(history: readonly IncomingMessage[]): Promise<KeyMatch> {
    await this.journal.refresh()
    this.#keys = await this.journal.keys()
    const match = this.#keys.match(history, this.journal.state)
    if (!match.isUnsure) return match
    await this.journal.complete()
    return this.#keys.match(history, this.journal.state)
  }

  /** Remembers what the client sent of messages that were just appended. */
  noteAppended(appended: readonly MessageEntry[], sent: readonly IncomingMessage[]): void {
    this.#keys?.noteAppended(appended, sent)
  }

  /** The seq behind which a fork begins that keeps the first `count` messages. */
  endOf(count: number): number {
    return this.#keys?.endOf(count) ?? 0
  }
}

/** Another writer appended something else between the choice of a branch and the write to it. */
class BranchMoved extends Error {}

interface Candidate {
  readonly branch: Branch
  readonly match: KeyMatch
}

/** Where a history was written. */
export interface Placed<T> {
  readonly branch: Branch
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
  readonly match: KeyMatch
  readonly brokenOff: BrokenOff | undefined
  /** The branch, or the fork that would be made, in memory. */
  readonly copy: Journal
}

export interface ConversationOptions {
  readonly engine: EngineOptions
  readonly journal: Omit<JournalOptions, 'key' | 'store'>
}

/**
 * One object for each branch, whoever works on it, and one queue for all of them: choosing a branch reads several. Methods without a
 * queue of their own must be called from a task of `run`.
 */
export class Conversation {
  readonly #options: ConversationOptions
  readonly #shared: SharedParts
  readonly #branches = new Map<string, Branch>()
  readonly #queue = new Queue()

  constructor(options: ConversationOptions) {
    this.#options = options
    this.#shared = sharedParts(options.engine, (task) => this.run(task))
  }

  /** Runs a task after all that were asked for before. */
  run<T>(task: () => Promise<T>): Promise<T> {
    return this.#queue.run(task)
  }

  /** Takes a log in as a branch. */
  add(journal: Journal, brokenOff?: BrokenOff): Branch {
    const engine = new ThreadEngine(journal, this.#options.engine, this.#shared)
    const branch = new Branch(engine, brokenOff)
    this.#branches.set(journal.key.thread, branch)
    return branch
  }

  /** Whether a branch is in memory. */
  has(id: string): boolean {
    return this.#branches.has(id)
  }

  /** A branch by its id, as far as it can be reached from another one. */
  async find(from: Branch, id: string): Promise<Branch | undefined> {
    if (!this.#branches.has(id)) await this.#others(from, false)
    return this.#branches.get(id)
  }

  /** A new branch with the first `atSeq` entries of another one. */
  async fork(from: Branch, atSeq: number, brokenOff?: BrokenOff): Promise<Branch> {
    const journal = await forkJournal(from.journal, atSeq, this.#options.journal)
    const fork = this.add(journal, brokenOff)
    // The fork's own log has the policy, unless it is in no log yet.
    const { pending } = from.engine
    if (pending !== undefined) fork.engine.adopt(pending)
    return fork
  }

  /**
   * Writes a history to the branch that it continues: `from` if it does, else another that does, else a fork of the one that shares
   * most with it. A history is never joined to a branch that it contradicts, also when others write meanwhile.
   */
  async resolve<T>(
    from: Branch,
    history: readonly IncomingMessage[],
    write: (branch: Branch) => Promise<T>,
    { isQuick = false }: { readonly isQuick?: boolean } = {},
  ): Promise<Placed<T>> {
    for (let attempt = 1; ; attempt++) {
      const { branch, match } = await this.#best(from, history, isQuick && attempt === 1)
      const isForked = match.behind > 0
      const target = isForked ? await this.#forkFor(match, branch) : branch
      try {
        return { branch: target, isForked, written: await write(target) }
      } catch (error) {
        if (!(error instanceof BranchMoved)) throw error
        if (attempt === maxAttempts) throw tooBusy(from.journal.key.thread)
      }
    }
  }

  /** Where `resolve` would write a history. */
  async match(from: Branch, history: readonly IncomingMessage[]): Promise<HistoryMatch> {
    const { branch, match } = await this.#best(from, history)
    const { matched, behind } = match
    return { thread: branch.journal.key.thread, matched, behind }
  }

  /** The branch to which `resolve` would write a history, as a copy in memory. Nothing is written. */
  async preview(from: Branch, history: readonly IncomingMessage[]): Promise<MatchPreview> {
    const { branch, match } = await this.#best(from, history)
    const { journal } = branch
    const { thread } = journal.key
    if (match.behind === 0) {
      return { thread, match, brokenOff: branch.brokenOff, copy: Journal.copyOf(journal) }
    }
    const copy = await rehearseFork(journal, branch.endOf(match.kept))
    return { thread, match, brokenOff: match.brokenOff, copy }
  }

  /** Resolves when everything asked for is done, on all branches. */
  async settled(): Promise<void> {
    const branches = [...this.#branches.values()]
    await Promise.all(branches.map(({ engine }) => engine.settled()))
    await this.run(async () => {
      for (const { journal } of branches) await journal.settled()
    })
  }

  /** The branch that shares most with a history. With `isQuick`, `from` as this process knows it. */
  async #best(
    from: Branch,
    history: readonly IncomingMessage[],
    isQuick = false,
  ): Promise<Candidate> {
    const known = isQuick ? from.matchCached(history) : undefined
    // A history that contradicts what is known here may continue another branch, which others made.
    const isKnown = known !== undefined && known.behind === 0
    let best = { branch: from, match: isKnown ? known : await from.matchFresh(history) }
    if (isKnown && relativesOf(from.journal).length === 0) return best
    for (const other of await this.#others(from, isKnown)) {
      const match = await unlessErased(other.matchFresh(history))
      if (match === undefined) this.#branches.delete(other.journal.key.thread)
      else if (isBetter(match, best.match)) best = { branch: other, match }
    }
    return best
  }

  async #forkFor({ kept, brokenOff }: KeyMatch, branch: Branch): Promise<Branch> {
    const fork = await this.fork(branch, branch.endOf(kept), brokenOff)
    await fork.matchFresh([])
    return fork
  }

  /** Every other branch that can be reached: parents and forks, newest first. */
  async #others(from: Branch, isQuick: boolean): Promise<readonly Branch[]> {
    const found = new Map<string, Branch>()
    const waiting = [from]
    while (waiting.length > 0 && found.size < maxBranches) {
      const { journal } = waiting.shift() as Branch
      // Another object may have forked it since, or erased it.
      if (!isQuick) await unlessErased(journal.refresh())
      for (const id of relativesOf(journal)) {
        if (found.has(id) || id === from.journal.key.thread) continue
        const branch = this.#branches.get(id) ?? (await this.#open(from, id))
        if (branch === undefined) continue
        found.set(id, branch)
        waiting.push(branch)
      }
    }
    return [...found.values()]
  }

  async #open(from: Branch, thread: string): Promise<Branch | undefined> {
    const { store, key } = from.journal
    const options = { ...this.#options.journal, store, key: { ...key, thread } }
    const journal = await Journal.open(options)
    return journal.state.version === 0 ? undefined : this.add(journal)
  }
}

function tooBusy(thread: string): OrielError {
  return new OrielError(
    'version-conflict',
    `Thread ${thread} is written to so often that the history found no place. Try again.`,
  )
}

/** Undefined for a branch that was erased. */
async function unlessErased<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    if (OrielError.is(error, 'not-found')) return undefined
    throw error
  }
}

/** The thread that a branch was forked from, and its own forks, newest first. */
function relativesOf(journal: Journal): readonly string[] {
  return [...parentsOf(journal), ...[...forksOf(journal)].reverse()]
}

function parentsOf(journal: Journal): readonly string[] {
  const from = journal.setting(settings.forkedFrom)
  return from === undefined ? [] : [from.thread]
}

/** Agreement without contradiction comes first, then the longer agreement. */
function isBetter(a: KeyMatch, b: KeyMatch): boolean {
  if ((a.behind === 0) !== (b.behind === 0)) return a.behind === 0
  return a.matched > b.matched
}
