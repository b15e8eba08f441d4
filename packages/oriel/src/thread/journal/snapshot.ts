// What a store may keep beside a log so that opening it does not read it all. Discardable at any time.

import type { EditEntry, MessageEntry, RequestEntry, SettingEntry } from '../../core/log/entry.ts'
import type { JsonObject } from '../../core/log/json.ts'
import type { StateData } from '../../core/state/state.ts'
import type { Store, ThreadKey } from '../../stores/store.ts'
import type { KeyData } from '../branches/sync.ts'
import type { Calibrations } from '../view/calibration.ts'
import type { Lane } from '../view/lanes.ts'

/** Raised whenever the meaning of any part changes; snapshots of other formats are ignored. */
const snapshotFormat = 12

/** The facts about a log that a journal keeps beside its state. */
export interface JournalFacts {
  readonly settings: readonly SettingEntry[]
  readonly newestRequest?: RequestEntry
  /** The newest request that the provider measured. */
  readonly measured?: MeasuredRequest
  readonly newestEpoch?: string
  readonly newestChange: number
  /** How our estimates compare with the provider's numbers, by model. */
  readonly calibrations?: Calibrations
  /** The newest request of each consumer. */
  readonly lanes?: readonly Lane[]
  readonly lastAt: number
}

export interface MeasuredRequest extends Pick<RequestEntry, 'seq' | 'model' | 'frameHash'> {
  readonly tokens: number
}

export interface SnapshotValue {
  readonly state: StateData
  readonly facts: JournalFacts
  /** Keys of all messages, where a client resends its history. */
  readonly keys?: KeyData
}

export interface LoadedSnapshot {
  readonly value: SnapshotValue
  /** The visible messages, read from the log. */
  readonly messages: readonly MessageEntry[]
}

export async function saveSnapshot(
  store: Store,
  key: ThreadKey,
  value: SnapshotValue,
): Promise<void> {
  await store.saveSnapshot(key, {
    version: value.state.version,
    format: snapshotFormat,
    value: { ...value, state: storedState(value.state) } as unknown as JsonObject,
  })
}

/** The hidden messages as text within the text: they are most of a long thread, and are parsed when first asked for. */
type StoredState = Omit<StateData, 'hidden'> & { readonly hidden: string }

function storedState(state: StateData): StoredState {
  return { ...withoutSuperseded(state), hidden: JSON.stringify(state.hidden) }
}

function restoredState({ hidden, ...rest }: StoredState): StateData {
  let parsed: StateData['hidden'] | undefined
  return {
    ...rest,
    get hidden() {
      parsed ??= JSON.parse(hidden) as StateData['hidden']
      return parsed
    },
  }
}

/**
 * Without the texts and digests of checkpoints that a newer one replaced: each is as long as what it stands for, and all of them together
 * grew with the square of the log. They are needed only where the newer one is undone, and then the whole log is read (`complete`).
 */
function withoutSuperseded(state: StateData): StateData {
  const { edits } = state.edits
  const newest = edits.findLast(isCheckpoint)
  const kept = edits.map((edit) => {
    if (edit === newest || !isCheckpoint(edit) || edit.summary !== undefined) return edit
    const { digest: _, ...rest } = edit
    return { ...rest, text: '' }
  })
  return { ...state, edits: { ...state.edits, edits: kept } }
}

function isCheckpoint({ target, text }: EditEntry): boolean {
  return 'ranges' in target && text !== undefined
}

/** The newest snapshot with its messages; undefined when there is none, or none that can be used. */
export async function loadSnapshot(
  store: Store,
  key: ThreadKey,
): Promise<LoadedSnapshot | undefined> {
  const snapshot = await store.loadSnapshot(key)
  if (snapshot === undefined || snapshot.format !== snapshotFormat) return undefined
  // Written by `saveSnapshot` of the same format, and verified by the store.
  const stored = snapshot.value as unknown as Omit<SnapshotValue, 'state'> & { state: StoredState }
  const value: SnapshotValue = { ...stored, state: restoredState(stored.state) }
  const wanted = new Set(value.state.visible.map(([seq]) => seq))
  const messages: MessageEntry[] = []
  for (const [from, to] of runsOf([...wanted])) {
    for await (const entry of store.read(key, { from, to })) {
      if (entry.type === 'message' && wanted.has(entry.seq)) messages.push(entry)
    }
  }
  return messages.length === value.state.visible.length ? { value, messages } : undefined
}

/** What the newest snapshot says of entries that then need not be read. */
export interface SnapshotFacts {
  /** The log's length when it was taken. */
  readonly version: number
  /** Tokens of each block, by the seq of its message. */
  readonly counts: ReadonlyMap<number, readonly number[]>
  /** Live checkpoints that a newer one replaced, without their texts, by seq. */
  readonly superseded: ReadonlyMap<number, EditEntry>
}

export async function snapshotFacts(
  store: Store,
  key: ThreadKey,
): Promise<SnapshotFacts | undefined> {
  const snapshot = await store.loadSnapshot(key)
  if (snapshot === undefined || snapshot.format !== snapshotFormat) return undefined
  const { state } = snapshot.value as unknown as { readonly state: StoredState }
  const { visible, hidden, version, edits } = restoredState(state)
  const counts = new Map<number, readonly number[]>()
  for (const [seq, , tokens] of [...visible, ...hidden]) counts.set(seq, tokens)
  const superseded = new Map<number, EditEntry>()
  for (const edit of edits.edits)
    if (isCheckpoint(edit) && edit.text === '') superseded.set(edit.seq, edit)
  return { version, counts, superseded }
}

/** Gaps shorter than this are read through: a query costs more than a few rows. */
const maxGap = 16

function runsOf(seqs: readonly number[]): readonly (readonly [number, number])[] {
  const runs: [number, number][] = []
  for (const seq of seqs) {
    const last = runs.at(-1)
    if (last !== undefined && seq - last[1] <= maxGap) last[1] = seq
    else runs.push([seq, seq])
  }
  return runs
}
