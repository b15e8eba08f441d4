// Index of live edits: the newest per block, those that drop whole messages, and vetoed forms.

import type { EditEntry, EntryId } from '../log/entry.ts'

/** Snapshot of `EditIndex`. */
export interface EditIndexData {
  readonly edits: readonly EditEntry[]
  readonly vetoes: readonly string[]
}

/** How far the windows of the live drops since the newest checkpoint went. */
export interface WindowReach {
  /** The newest turn that was dropped; -1 if none was. */
  readonly turn: number
  /** The smallest cap, and the fewest recent messages that one kept; Infinity if there was none. */
  readonly messages: number
  readonly recent: number
  /** True if system messages were dropped. */
  readonly hasSystem: boolean
}

const noReach: WindowReach = { turn: -1, messages: Infinity, recent: Infinity, hasSystem: false }

export class EditIndex {
  /** All live edits, oldest first. */
  readonly #edits = new Map<EntryId, EditEntry>()
  /** Block edits by `seq:block`, newest last. */
  readonly #byBlock = new Map<string, EditEntry[]>()
  /**
   * Edits that drop messages, oldest first. Copy-on-write: a trace may still reference the old
   * array.
   */
  #drops: EditEntry[] = []
  #checkpoint: EditEntry | undefined
  #compaction: EditEntry | undefined
  #reach = noReach
  /** Live edits that are final (original not to be shown again), oldest first. */
  #final: EditEntry[] = []
  /** Edits whose text contains a model's summary, by summary key. */
  readonly #summaries = new Map<string, EditEntry>()
  /** Vetoed forms after an undo: `seq:block:form`, block `*` for whole messages. */
  readonly #vetoes = new Set<string>()

  static from(data: EditIndexData): EditIndex {
    const index = new EditIndex()
    for (const edit of data.edits) index.add(edit)
    for (const veto of data.vetoes) index.#vetoes.add(veto)
    return index
  }

  data(): EditIndexData {
    return { edits: [...this.#edits.values()], vetoes: [...this.#vetoes] }
  }

  get(id: EntryId): EditEntry | undefined {
    return this.#edits.get(id)
  }

  /** All live edits, oldest first. */
  values(): Iterable<EditEntry> {
    return this.#edits.values()
  }

  get drops(): readonly EditEntry[] {
    return this.#drops
  }

  /**
   * The live checkpoint: the newest edit that drops messages and has a text. It supersedes all
   * older ones.
   */
  get checkpoint(): EditEntry | undefined {
    return this.#checkpoint
  }

  /** The live edit that mirrors a provider's own compaction. */
  get compaction(): EditEntry | undefined {
    return this.#compaction
  }

  /** How far windows went since the checkpoint. Kept up to date, so that asking costs nothing. */
  get reach(): WindowReach {
    return this.#reach
  }

  /** Live edits that are final, oldest first. */
  get final(): readonly EditEntry[] {
    return this.#final
  }

  /** Cached summary that a model made from the same source. */
  summaryOf(key: string): string | undefined {
    const edit = this.#summaries.get(key)
    return edit?.summary === undefined ? undefined : edit.text?.slice(...edit.summary.at)
  }

  /** All live edits of one block, newest last. */
  allOfBlock(seq: number, block: number): readonly EditEntry[] {
    return this.#byBlock.get(`${seq}:${block}`) ?? []
  }

  /** The newest live edit of one block. */
  ofBlock(seq: number, block: number): EditEntry | undefined {
    if (this.#byBlock.size === 0) return undefined
    return this.#byBlock.get(`${seq}:${block}`)?.at(-1)
  }

  isVetoed(seq: number, block: number | '*', form: string): boolean {
    return this.#vetoes.has(`${seq}:${block}:${form}`)
  }

  /** True if the original of the block must not be shown again. */
  isFinal(seq: number, block: number): boolean {
    if (this.#final.length === 0) return false
    return this.isFinallyDropped(seq) || this.allOfBlock(seq, block).some(isNotPreserved)
  }

  /** True if the whole message was dropped for good. */
  isFinallyDropped(seq: number): boolean {
    return this.#final.some((edit) => isInRanges(edit, seq))
  }

  isDropped(seq: number): boolean {
    return this.#drops.some((edit) => isInRanges(edit, seq))
  }

  add(edit: EditEntry): void {
    this.#edits.set(edit.id, edit)
    if (isNotPreserved(edit)) this.#final.push(edit)
    if (edit.summary !== undefined) this.#summaries.set(edit.summary.of, edit)
    if ('ranges' in edit.target) {
      this.#drops.push(edit)
      if (edit.compactedBy !== undefined) this.#compaction = edit
      if (edit.text !== undefined) {
        this.#checkpoint = edit
        this.#reach = noReach
      } else this.#reach = further(this.#reach, edit)
      return
    }
    const key = `${edit.target.seq}:${edit.target.block}`
    this.#byBlock.set(key, [...(this.#byBlock.get(key) ?? []), edit])
  }

  /**
   * Seq at which another live edit superseded this one: a newer edit of its block, or a drop of
   * everything it applies to. Undefined while the view shows it.
   */
  coveredSince(edit: EditEntry): number | undefined {
    const { target } = edit
    const ofBlock = 'seq' in target ? this.allOfBlock(target.seq, target.block) : []
    const seqs = [...seqsOf(edit)]
    const drops = this.#drops.filter((drop) => seqs.every((seq) => isInRanges(drop, seq)))
    const newer = [...ofBlock, ...drops].filter(({ seq }) => seq > edit.seq)
    return newer.length === 0 ? undefined : Math.min(...newer.map(takesEffect))
  }

  /** Reverts an edit and vetoes its form. Returns undefined if the edit is not live. */
  undo(id: EntryId): EditEntry | undefined {
    const edit = this.revert(id)
    if (edit === undefined) return undefined
    const { target, compactedBy: by } = edit
    if (by !== undefined) this.#vetoes.add(`${by[0]}:${by[1]}:${compacting}`)
    else if ('seq' in target) this.#vetoes.add(`${target.seq}:${target.block}:${edit.form}`)
    else for (const seq of seqsOf(edit)) this.#vetoes.add(`${seq}:*:dropped`)
    return edit
  }

  /** Reverts an edit that its own rule may make again. Returns undefined if the edit is not live. */
  revert(id: EntryId): EditEntry | undefined {
    const edit = this.#edits.get(id)
    if (edit === undefined) return undefined
    this.#edits.delete(id)
    this.#final = this.#final.filter((other) => other !== edit)
    if (edit.summary !== undefined) this.#summaries.delete(edit.summary.of)
    if ('ranges' in edit.target) {
      this.#drops = this.#drops.filter((other) => other.id !== id)
      if (this.#compaction?.id === id) {
        this.#compaction = this.#drops.findLast((other) => other.compactedBy !== undefined)
      }
      if (this.#checkpoint?.id === id) {
        this.#checkpoint = this.#drops.findLast((other) => other.text !== undefined)
      }
      const newer = this.#drops.slice(this.#checkpoint ? this.#drops.indexOf(this.#checkpoint) : 0)
      this.#reach = newer.reduce(further, noReach)
      return edit
    }
    const { seq, block } = edit.target
    const rest = (this.#byBlock.get(`${seq}:${block}`) ?? []).filter((other) => other.id !== id)
    if (rest.length === 0) this.#byBlock.delete(`${seq}:${block}`)
    else this.#byBlock.set(`${seq}:${block}`, rest)
    return edit
  }
}

/** The form that an undone compaction by a provider must not take again: that its block stands for what came before. */
export const compacting = 'compacting'

/** The epoch of edits that no log holds; see `State.adopt`. */
export const adoptedEpoch = '~'

function isNotPreserved({ isFinal }: EditEntry): boolean {
  return isFinal === true
}

/** True if the edit drops the message at `seq`. */
export function isInRanges(edit: Pick<EditEntry, 'target'>, seq: number): boolean {
  return (
    'ranges' in edit.target && edit.target.ranges.some(([from, to]) => seq >= from && seq <= to)
  )
}

/** Log length when the edit took effect. */
export function takesEffect({ since, seq }: Pick<EditEntry, 'since' | 'seq'>): number {
  return since ?? seq
}

/** All seqs that the edit covers. */
export function* seqsOf(edit: Pick<EditEntry, 'target'>): Generator<number> {
  if ('seq' in edit.target) yield edit.target.seq
  else for (const [from, to] of edit.target.ranges) for (let seq = from; seq <= to; seq++) yield seq
}

/** Hands out every seq once, however many edits cover it: all of them together cost what they cover, not their sum. */
export class UnvisitedSeqs {
  /** Disjoint, in order, never adjacent. */
  #visited: (readonly [from: number, to: number])[] = []

  /** The seqs of an edit's ranges that no edit before had. */
  take({ target }: Pick<EditEntry, 'target'>): readonly number[] {
    const seqs: number[] = []
    if ('seq' in target) return seqs
    for (const [from, to] of target.ranges) {
      const [before, after]: (readonly [number, number])[][] = [[], []]
      let [first, last, next] = [from, to, from]
      for (const range of this.#visited) {
        if (range[1] < from - 1) before?.push(range)
        else if (range[0] > to + 1) after?.push(range)
        else {
          for (; next < Math.min(range[0], to + 1); next++) seqs.push(next)
          next = Math.max(next, range[1] + 1)
          first = Math.min(first, range[0])
          last = Math.max(last, range[1])
        }
      }
      for (; next <= to; next++) seqs.push(next)
      this.#visited = [...(before ?? []), [first, last], ...(after ?? [])]
    }
    return seqs
  }
}

/** The first seq that the edit applies to. */
export function firstOf({ target }: Pick<EditEntry, 'target'>): number {
  if ('seq' in target) return target.seq
  return target.ranges.reduce((first, [from]) => Math.min(first, from), Infinity)
}

/** The last seq that the edit applies to. */
export function lastOf({ target }: Pick<EditEntry, 'target'>): number {
  if ('seq' in target) return target.seq
  return target.ranges.reduce((last, [, to]) => Math.max(last, to), 0)
}

function further(reach: WindowReach, { window }: EditEntry): WindowReach {
  if (window === undefined) return reach
  if ('turn' in window) return { ...reach, turn: Math.max(reach.turn, window.turn) }
  if ('system' in window) return { ...reach, hasSystem: true }
  return {
    ...reach,
    messages: Math.min(reach.messages, window.messages),
    recent: Math.min(reach.recent, window.recent),
  }
}
