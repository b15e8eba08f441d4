// Which edits are in force: the newest of each block, those that drop whole messages, and what was taken back.

import type { EditEntry, EntryId } from '../log/entry.ts'

/** What a snapshot keeps of it. */
export interface EditIndexData {
  readonly edits: readonly EditEntry[]
  readonly vetoes: readonly string[]
}

export class EditIndex {
  /** Every edit in force, oldest first. */
  readonly #edits = new Map<EntryId, EditEntry>()
  /** Edits of single blocks, newest last, by seq and block position. */
  readonly #byBlock = new Map<string, EditEntry[]>()
  /** Edits that drop messages, oldest first. Replaced, never shortened in place: a trace may still hold it. */
  #drops: EditEntry[] = []
  #checkpoint: EditEntry | undefined
  /** Edits in force that did not preserve the original, oldest first. */
  #final: EditEntry[] = []
  /** Edits whose text holds a model's summary, by what it was made from. */
  readonly #summaries = new Map<string, EditEntry>()
  /** Forms that a person took back: `seq:block:form`, block `*` for whole messages. */
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

  /** Every edit in force, oldest first. */
  values(): Iterable<EditEntry> {
    return this.#edits.values()
  }

  get drops(): readonly EditEntry[] {
    return this.#drops
  }

  /** The checkpoint in force: the newest edit that drops messages and has a text. It stands for all that older ones covered. */
  get checkpoint(): EditEntry | undefined {
    return this.#checkpoint
  }

  /** Edits in force that did not preserve the original, oldest first. */
  get final(): readonly EditEntry[] {
    return this.#final
  }

  /** The summary that a model made of the same thing before. */
  summaryOf(key: string): string | undefined {
    const edit = this.#summaries.get(key)
    return edit?.summary === undefined ? undefined : edit.text?.slice(...edit.summary.at)
  }

  /** Every edit of one block that is in force, newest last. */
  allOfBlock(seq: number, block: number): readonly EditEntry[] {
    return this.#byBlock.get(`${seq}:${block}`) ?? []
  }

  /** The newest edit of one block. */
  ofBlock(seq: number, block: number): EditEntry | undefined {
    if (this.#byBlock.size === 0) return undefined
    return this.#byBlock.get(`${seq}:${block}`)?.at(-1)
  }

  isVetoed(seq: number, block: number | '*', form: string): boolean {
    return this.#vetoes.has(`${seq}:${block}:${form}`)
  }

  /** Whether the original of a block must not be shown again. */
  isFinal(seq: number, block: number): boolean {
    if (this.#final.length === 0) return false
    return this.isFinallyDropped(seq) || this.allOfBlock(seq, block).some(isNotPreserved)
  }

  /** Whether a message left whole and its original must not be shown again. */
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
      if (edit.text !== undefined) this.#checkpoint = edit
      return
    }
    const key = `${edit.target.seq}:${edit.target.block}`
    this.#byBlock.set(key, [...(this.#byBlock.get(key) ?? []), edit])
  }

  /**
   * When another edit in force took the place of this one: a newer one of its block, or one that drops all that it acts on. Undefined
   * while it is what the view shows.
   */
  coveredSince(edit: EditEntry): number | undefined {
    const { target } = edit
    const ofBlock = 'seq' in target ? this.allOfBlock(target.seq, target.block) : []
    const seqs = [...seqsOf(edit)]
    const drops = this.#drops.filter((drop) => seqs.every((seq) => isInRanges(drop, seq)))
    const newer = [...ofBlock, ...drops].filter(({ seq }) => seq > edit.seq)
    return newer.length === 0 ? undefined : Math.min(...newer.map(takesEffect))
  }

  /** Takes an edit back and forbids its form; undefined when it is not in force. */
  undo(id: EntryId): EditEntry | undefined {
    const edit = this.#edits.get(id)
    if (edit === undefined) return undefined
    this.#edits.delete(id)
    this.#final = this.#final.filter((other) => other !== edit)
    if (edit.summary !== undefined) this.#summaries.delete(edit.summary.of)
    if ('ranges' in edit.target) {
      this.#drops = this.#drops.filter((other) => other.id !== id)
      if (this.#checkpoint?.id === id) {
        this.#checkpoint = this.#drops.findLast((other) => other.text !== undefined)
      }
      for (const seq of seqsOf(edit)) this.#vetoes.add(`${seq}:*:dropped`)
      return edit
    }
    const { seq, block } = edit.target
    this.#vetoes.add(`${seq}:${block}:${edit.form}`)
    const rest = (this.#byBlock.get(`${seq}:${block}`) ?? []).filter((other) => other.id !== id)
    if (rest.length === 0) this.#byBlock.delete(`${seq}:${block}`)
    else this.#byBlock.set(`${seq}:${block}`, rest)
    return edit
  }
}

function isNotPreserved({ isFinal }: EditEntry): boolean {
  return isFinal === true
}

/** Whether an edit that drops messages covers this one. */
export function isInRanges(edit: Pick<EditEntry, 'target'>, seq: number): boolean {
  return (
    'ranges' in edit.target && edit.target.ranges.some(([from, to]) => seq >= from && seq <= to)
  )
}

/** How long the log was when an edit took effect. */
export function takesEffect({ since, seq }: Pick<EditEntry, 'since' | 'seq'>): number {
  return since ?? seq
}

/** Every seq that an edit covers. */
export function* seqsOf(edit: Pick<EditEntry, 'target'>): Generator<number> {
  if ('seq' in edit.target) yield edit.target.seq
  else for (const [from, to] of edit.target.ranges) for (let seq = from; seq <= to; seq++) yield seq
}

/** The first seq that an edit acts on. */
export function firstOf({ target }: Pick<EditEntry, 'target'>): number {
  if ('seq' in target) return target.seq
  return target.ranges.reduce((first, [from]) => Math.min(first, from), Infinity)
}

/** The last seq that an edit acts on. */
export function lastOf({ target }: Pick<EditEntry, 'target'>): number {
  if ('seq' in target) return target.seq
  return target.ranges.reduce((last, [, to]) => Math.max(last, to), 0)
}
