// A thread and its forks: which branch a resent history belongs to.

import { forkJournal, forksOf } from './fork.ts'
import { Journal, type JournalOptions } from './journal.ts'
import { KeyIndex, type Meeting } from './sync.ts'

/** The most branches that are looked at, newest first. */
const maxBranches = 64

interface Branch {
  readonly journal: Journal
  readonly keys: KeyIndex
}

export interface Placed {
  readonly journal: Journal
  /** Messages of the history that the branch already has. */
  readonly matched: number
  readonly isForked: boolean
}

export class Family {
  readonly #options: Omit<JournalOptions, 'key' | 'store'>
  readonly #branches = new Map<string, Branch>()
  #current: Branch

  constructor(journal: Journal, options: Omit<JournalOptions, 'key' | 'store'>) {
    this.#options = options
    this.#current = this.#add(journal)
  }

  /**
   * The branch that a history continues: the current one if it does, else another that does, else a fork of the one that shares
   * most with it. A history is never joined to a branch that it contradicts.
   */
  async place(keys: readonly string[]): Promise<Placed> {
    let best = await this.#meet(this.#current, keys)
    if (best.meeting.behind > 0) {
      for (const branch of await this.#others()) {
        const other = await this.#meet(branch, keys)
        if (isBetter(other.meeting, best.meeting)) best = other
        if (best.meeting.behind === 0) break
      }
    }
    const { branch, meeting } = best
    if (meeting.behind === 0) {
      this.#current = branch
      return { journal: branch.journal, matched: meeting.matched, isForked: false }
    }
    const at = branch.keys.seqAt(meeting.matched)
    const journal = await forkJournal(branch.journal, at, this.#options)
    this.#current = this.#add(journal)
    return { journal, matched: meeting.matched, isForked: true }
  }

  #add(journal: Journal): Branch {
    const branch = { journal, keys: new KeyIndex() }
    this.#branches.set(journal.key.thread, branch)
    return branch
  }

  async #meet(
    branch: Branch,
    keys: readonly string[],
  ): Promise<{ branch: Branch; meeting: Meeting }> {
    await branch.journal.refresh()
    branch.keys.update(branch.journal)
    return { branch, meeting: branch.keys.meet(keys) }
  }

  /** Every other branch that can be reached: parents and forks, newest first. */
  async #others(): Promise<readonly Branch[]> {
    const found = new Map<string, Branch>()
    const waiting = [this.#current]
    while (waiting.length > 0 && found.size < maxBranches) {
      const { journal } = waiting.shift() as Branch
      for (const id of [...parentsOf(journal), ...[...forksOf(journal)].reverse()]) {
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

function parentsOf(journal: Journal): readonly string[] {
  const value = journal.setting('forked-from')?.value
  if (typeof value !== 'object' || value === null || !('thread' in value)) return []
  return typeof value.thread === 'string' ? [value.thread] : []
}

/** Agreement without contradiction comes first, then the longer agreement. */
function isBetter(a: Meeting, b: Meeting): boolean {
  if ((a.behind === 0) !== (b.behind === 0)) return a.behind === 0
  return a.matched > b.matched
}
