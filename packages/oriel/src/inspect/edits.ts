// The edits of a thread, each with whether it is in force: all of them, or page by page.

import type { EditEntry, Entry, EntryId } from '../core/log/entry.ts'
import { assertOptions } from '../core/log/options.ts'

export type ListedEdit = EditEntry & {
  /** False once it was undone. */
  readonly live: boolean
}

/** Every edit of a log, oldest first. */
export function listEdits(entries: readonly Entry[]): readonly ListedEdit[] {
  const undone = new Set(entries.flatMap((entry) => (entry.type === 'undo' ? [entry.edit] : [])))
  return entries
    .filter((entry) => entry.type === 'edit')
    .map((edit) => ({ ...edit, live: !undone.has(edit.id) }))
}

/** An edit without the texts that it shows. */
export interface EditRow
  extends Pick<
    EditEntry,
    'id' | 'seq' | 'at' | 'epoch' | 'rule' | 'form' | 'reason' | 'tokensBefore' | 'tokensAfter'
  > {
  /** The first and the last entry that it changes, and how many runs lie between. */
  readonly from: number
  readonly to: number
  readonly runs: number
  /** The block that it changes; absent for whole messages. */
  readonly block?: number
  /** A newer edit of the same block supersedes an older one. */
  readonly state: 'in-force' | 'superseded' | 'undone'
}

export interface EpochRow {
  readonly id: string
  readonly at: number
  readonly edits: number
  readonly tokensSaved: number
}

export interface EditsPage {
  /** Newest first. */
  readonly edits: readonly EditRow[]
  /** The epochs of these edits, whole. */
  readonly epochs: readonly EpochRow[]
  /** All edits of the thread. */
  readonly count: number
  /** `before` of the next page; absent at the end. */
  readonly next?: number
}

export interface EditsPageOptions {
  /** Only edits before this seq. @default the newest too */
  readonly before?: number | undefined
  /** @default 100 */
  readonly limit?: number | undefined
}

/** Folds the edits of a log. Give it the entries in order, once each. A page costs what it holds. */
export class EditsFold {
  readonly #edits: EditEntry[] = []
  readonly #undone = new Set<EntryId>()
  readonly #byId = new Map<EntryId, EditEntry>()
  /** Edits of the same blocks or messages that were not undone, newest last. */
  readonly #places = new Map<string, EditEntry[]>()
  readonly #epochs = new Map<
    string,
    { id: string; at: number; edits: number; tokensSaved: number }
  >()

  take(entry: Entry): void {
    if (entry.type === 'edit') this.#add(entry)
    else if (entry.type === 'undo') this.#undo(entry.edit)
  }

  page(options: EditsPageOptions = {}): EditsPage {
    assertOptions<EditsPageOptions>(options, { before: true, limit: true }, 'edits')
    const { before = Infinity, limit = 100 } = options
    const end = this.#edits.findLastIndex(({ seq }) => seq < before) + 1
    const from = Math.max(0, end - limit)
    const edits = this.#edits.slice(from, end).reverse()
    const next = from === 0 ? undefined : edits.at(-1)?.seq
    return {
      edits: edits.map((edit) => this.#row(edit)),
      epochs: [...new Set(edits.map(({ epoch }) => epoch))].flatMap(
        (id) => this.#epochs.get(id) ?? [],
      ),
      count: this.#edits.length,
      ...(next === undefined ? {} : { next }),
    }
  }

  #add(edit: EditEntry): void {
    this.#edits.push(edit)
    this.#byId.set(edit.id, edit)
    const place = placeOf(edit)
    const others = this.#places.get(place)
    if (others === undefined) this.#places.set(place, [edit])
    else others.push(edit)
    const { epoch: id, at, tokensBefore, tokensAfter } = edit
    const epoch = this.#epochs.get(id) ?? { id, at, edits: 0, tokensSaved: 0 }
    epoch.edits += 1
    epoch.tokensSaved += tokensBefore - tokensAfter
    this.#epochs.set(id, epoch)
  }

  #undo(id: EntryId): void {
    const edit = this.#byId.get(id)
    if (edit === undefined) return
    this.#undone.add(id)
    const place = placeOf(edit)
    const left = (this.#places.get(place) ?? []).filter((other) => other !== edit)
    this.#places.set(place, left)
  }

  #row(edit: EditEntry): EditRow {
    const { id, seq, at, epoch, rule, form, reason, tokensBefore, tokensAfter, target } = edit
    const isNewest = this.#places.get(placeOf(edit))?.at(-1) === edit
    const state = this.#undone.has(id) ? 'undone' : isNewest ? 'in-force' : 'superseded'
    const what =
      'seq' in target
        ? { from: target.seq, to: target.seq, runs: 1, block: target.block }
        : {
            from: target.ranges[0]?.[0] ?? 0,
            to: target.ranges.at(-1)?.[1] ?? 0,
            runs: target.ranges.length,
          }
    return { id, seq, at, epoch, rule, form, reason, tokensBefore, tokensAfter, ...what, state }
  }
}

/** What an edit changes: a newer one of the same supersedes it. Of checkpoints only the newest is in force. */
function placeOf({ target, text, id }: EditEntry): string {
  if ('seq' in target) return `${target.seq}:${target.block}`
  return text === undefined ? id : 'checkpoint'
}
