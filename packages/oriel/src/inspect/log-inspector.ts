// One log, read once and kept up to date: numbers, timeline, edits, and any request beside the log. What came since costs only itself.

import { lengthOf } from '../core/log/block.ts'
import type { EditEntry, Entry, EntryId } from '../core/log/entry.ts'
import { assertOptions, type OptionNames } from '../core/log/options.ts'
import { headerOf, settings } from '../core/log/settings.ts'
import type { Change } from '../core/view/view.ts'
import type { TokensOption } from '../counters.ts'
import type { Policy } from '../policy/schema.ts'
import type { CustomRule } from '../rules/custom.ts'
import type { Store, ThreadKey } from '../stores/store.ts'
import { policyIn } from '../thread/engine.ts'
import { Journal } from '../thread/journal/journal.ts'
import { type SnapshotFacts, snapshotFacts } from '../thread/journal/snapshot.ts'
import type { ShownPart } from '../thread/view/contents.ts'
import { type RebuiltRequest, rebuildFrom, requestsOf } from '../thread/view/rebuild.ts'
import { type Composition, compositionAt } from './composition.ts'
import { EditsFold, type EditsPage, type EditsPageOptions } from './edits.ts'
import { type ThreadNumbers, windowOfPolicy } from './numbers.ts'
import { type OutlineRow, outlineInSlices, outlineOf } from './outline.ts'
import { type Timeline, TimelineFold, type TimelineOptions } from './timeline.ts'

export interface LogInspectorOptions {
  readonly store: Store
  readonly key: ThreadKey
  /** The counter of the thread, where it is one of the host's own. @default the one that the log names */
  readonly tokens?: TokensOption | undefined
  /** Rules of the host's own. @default none */
  readonly rules?: readonly CustomRule[] | undefined
}

const inspectorOptions: OptionNames<LogInspectorOptions> = {
  store: true,
  key: true,
  tokens: true,
  rules: true,
}

/** A request of the past beside the log. */
export interface InspectedRequest extends Omit<RebuiltRequest, 'before' | 'contents' | 'parts'> {
  readonly rows: readonly OutlineRow[]
  /** What it consisted of. */
  readonly contents: readonly ShownPart[]
  /** What filled the window; absent in logs of earlier versions. */
  readonly context?: Composition
  readonly previousStep?: number
}

/** What a view that was not sent consists of. */
export interface InspectedView {
  readonly contents: readonly ShownPart[]
  readonly trace: readonly Change[]
}

/** Wraps a read, to yield to others between entries. */
export type ReadPace = (entries: AsyncIterable<Entry>) => AsyncIterable<Entry>

/**
 * Contracts:
 * - A log is read once; `refresh` reads what came since. One at a time.
 * - Checkpoints that a newer one replaced are most of a long log: their texts are not kept. The one that a request shows is read for it.
 * - A long fold awaits `pause` now and then.
 */
export class LogInspector {
  readonly #options: LogInspectorOptions
  readonly #entries: Entry[] = []
  readonly #timeline = new TimelineFold()
  readonly #edits = new EditsFold()
  #snapshot: SnapshotFacts | undefined
  /** Checkpoints, oldest first, and where each was undone. */
  readonly #checkpoints: { readonly seq: number; readonly id: EntryId; undoneAt: number }[] = []
  #journal: Journal | undefined
  #visits = 0
  #size = 0

  constructor(options: LogInspectorOptions) {
    assertOptions<LogInspectorOptions>(options, inspectorOptions, 'LogInspector')
    this.#options = options
  }

  /** The seq of the newest entry. */
  get version(): number {
    return this.#entries.length
  }

  /** All entries; those of replaced checkpoints without their texts. */
  get entries(): readonly Entry[] {
    return this.#entries
  }

  /** The step of the newest request; undefined before the first. */
  get newestStep(): number | undefined {
    const newest = this.#entries.findLast((entry) => entry.type === 'request')
    return newest?.type === 'request' ? newest.step : undefined
  }

  /** Takes in what was appended since. What was taken in before a failure stays. */
  async refresh(pace: ReadPace = (entries) => entries): Promise<void> {
    const { store, key } = this.#options
    if (this.version === 0) this.#snapshot = await snapshotFacts(store, key)
    const known = [...(this.#snapshot?.superseded.values() ?? [])]
      .filter(({ seq }) => seq > this.version)
      .sort((a, b) => a.seq - b.seq)
    for (const edit of known) {
      const range = { from: this.version + 1, to: edit.seq - 1 }
      if (range.from <= range.to) {
        for await (const entry of pace(store.read(key, range))) this.#take(entry)
      }
      if (this.version === edit.seq - 1) this.#take(edit)
    }
    const rest = store.read(key, { from: this.version + 1 })
    for await (const entry of pace(rest)) this.#take(entry)
  }

  #take(entry: Entry): void {
    this.#entries.push(entry)
    this.#size += sizeOf(entry)
    const { state } = this.#head([light(entry)])
    const tokens = entry.type === 'message' ? state.item(entry.seq)?.tokens : undefined
    this.#timeline.take(entry, tokens)
    this.#edits.take(entry)
    if (entry.type === 'undo') {
      const undone = this.#checkpoints.find(({ id }) => id === entry.edit)
      if (undone !== undefined) undone.undoneAt = Math.min(undone.undoneAt, entry.seq)
    }
    if (entry.type !== 'edit' || !isCheckpoint(entry)) return
    const last = this.#checkpoints.at(-1)
    const replaced = this.#entries[(last?.seq ?? 0) - 1]
    if (replaced?.type === 'edit') {
      const slim = withoutText(replaced)
      this.#entries[replaced.seq - 1] = slim
      this.#size += sizeOf(slim) - sizeOf(replaced)
    }
    this.#checkpoints.push({ seq: entry.seq, id: entry.id, undoneAt: Infinity })
  }

  /** Characters that it keeps in memory, roughly. */
  get size(): number {
    return this.#size
  }

  /** Messages that folds have visited: a measure of work, for tests. */
  get visits(): number {
    return this.#visits
  }

  numbers(): ThreadNumbers {
    return this.#timeline.numbers.numbers()
  }

  /** The policy in force at the end of the log. */
  policy(): Policy {
    return policyIn(this.#head([]), this.#options.rules ?? [])
  }

  timeline(options?: TimelineOptions): Timeline {
    return this.#timeline.timeline(options)
  }

  edits(options?: EditsPageOptions): EditsPage {
    return this.#edits.page(options)
  }

  /** The newest request of a step, and every row of the log before it. */
  async requestAt(step: number, pause?: () => Promise<void>): Promise<InspectedRequest> {
    const { rules = [] } = this.#options
    const head = this.#head([])
    const { state, before, parts, ...rebuilt } = await rebuildFrom(head, step, {
      entries: await this.#entriesFor(step),
      rules,
      counts: (seq) => head.state.item(seq)?.tokens,
      pause,
    })
    const { request, trace } = rebuilt
    await pause?.()
    const past = this.#entries.slice(0, request.seq - 1)
    const contents = await gathered(parts(), pause)
    const earlier = before && (await gathered(before.parts(), pause))
    const rows = await outlineInSlices(past, { contents, trace, before: earlier, state }, pause)
    this.#visits += state.visits
    const context = compositionAt(request, windowIn(past))
    return {
      ...rebuilt,
      contents,
      rows,
      ...(context === undefined ? {} : { context }),
      ...(before === undefined ? {} : { previousStep: before.step }),
    }
  }

  /** The entries, with the texts of the checkpoints that the requests of a step and before it showed. */
  async #entriesFor(step: number): Promise<readonly Entry[]> {
    const { store, key } = this.#options
    const { request, before = request } = requestsOf(this.#entries, step)
    const live = [before, request].map((sent) =>
      this.#checkpoints.findLast(({ seq, undoneAt }) => seq < sent.seq && undoneAt > sent.seq),
    )
    const newest = this.#checkpoints.at(-1)
    const seqs = new Set(
      live.flatMap((one) => (one === undefined || one === newest ? [] : one.seq)),
    )
    const entries = [...this.#entries]
    for (const seq of seqs) {
      for await (const entry of store.read(key, { from: seq, to: seq })) entries[seq - 1] = entry
    }
    return entries
  }

  /** The rows of the whole log beside a view that was not sent. */
  async outline(
    { contents, trace }: InspectedView,
    pause?: () => Promise<void>,
  ): Promise<readonly OutlineRow[]> {
    const { state } = this.#head([])
    const { version } = state
    const asked = { contents, trace, state }
    const rows = await outlineInSlices(this.#entries.slice(0, version), asked, pause)
    // The log has grown meanwhile: rows of two states would not add up.
    return state.version === version ? rows : outlineOf(this.#entries, asked)
  }

  /** The fold of all entries: it counts the tokens of each message once, for every other fold. */
  #head(entries: readonly Entry[]): Journal {
    const [first] = this.#entries
    if (this.#journal === undefined && first !== undefined) {
      const { store, key, tokens } = this.#options
      const own = Journal.begin({ store, key, tokens, now: () => 0 }, headerOf(first))
      this.#journal = Journal.emptyCopyOf(own, (seq) => this.#snapshot?.counts.get(seq))
    }
    this.#journal?.advance(entries)
    return this.#journal ?? emptyLog(this.#options)
  }
}

/** Parts that are counted between two pauses. */
const countedAtOnce = 64

/** The parts of a view, awaiting `pause` now and then. */
export async function gathered(
  parts: Iterable<ShownPart>,
  pause: (() => Promise<void>) | undefined,
): Promise<readonly ShownPart[]> {
  const all: ShownPart[] = []
  for (const part of parts) {
    all.push(part)
    if (all.length % countedAtOnce === 0) await pause?.()
  }
  return all
}

/** Characters of a checkpoint by which it is recognized. */
const recognized = 400

/** What an entry takes beside its texts. */
const entrySize = 400

function sizeOf(entry: Entry): number {
  if (entry.type === 'message') {
    return entry.blocks.reduce((sum, block) => sum + lengthOf(block), entrySize)
  }
  if (entry.type !== 'edit') return entrySize
  const { text = '', digest } = entry
  // A digest is what its text was written from: about three times as long.
  return entrySize + (digest === undefined ? 1 : 4) * text.length
}

function isCheckpoint({ target, text }: EditEntry): boolean {
  return 'ranges' in target && text !== undefined
}

function withoutText({ digest: _digest, ...edit }: EditEntry): EditEntry {
  return { ...edit, text: '' }
}

/** A checkpoint as the fold of the whole log holds it. */
function light(entry: Entry): Entry {
  if (entry.type !== 'edit' || !isCheckpoint(entry)) return entry
  return { ...withoutText(entry), text: (entry.text ?? '').slice(0, recognized) }
}

/** The window that the policy in force names. */
function windowIn(entries: readonly Entry[]): number | undefined {
  const newest = entries.findLast((entry) => settings.policy.names(entry))
  const policy = newest && settings.policy.find(newest)
  return policy && windowOfPolicy(policy)
}

function emptyLog({ store, key, tokens }: LogInspectorOptions): Journal {
  return Journal.begin({ store, key, tokens, now: () => 0 })
}
