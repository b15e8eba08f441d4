// What a store may keep beside a log so that opening it does not read it all. Discardable at any time.

import { setImmediate } from 'node:timers/promises'
import type { EditEntry, MessageEntry, RequestEntry, SettingEntry } from '../../core/log/entry.ts'
import type { JsonObject } from '../../core/log/json.ts'
import type { ExchangeRow } from '../../core/state/exchange.ts'
import type { HiddenRow, StateData, VisibleRow } from '../../core/state/state.ts'
import type { Store, ThreadKey } from '../../stores/store.ts'
import type { KeyData } from '../branches/sync.ts'
import type { Calibrations } from '../view/calibration.ts'
import type { Lane } from '../view/lanes.ts'

/** Raised whenever the meaning of any part changes; snapshots of other formats are ignored. */
const snapshotFormat = 13

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

/** Writes what the snapshot said when it was taken, with pauses: nothing else waits for a long thread. */
export async function saveSnapshot(
  store: Store,
  key: ThreadKey,
  value: SnapshotValue,
): Promise<void> {
  await store.saveSnapshot(key, {
    version: value.state.version,
    format: snapshotFormat,
    value: (await storedValue(value)) as unknown as JsonObject,
  })
}

/** What grows with the log, as text within the text: it is written in pieces, and the hidden messages are parsed when first asked for. */
interface StoredState extends Omit<StateData, 'hidden' | 'visible' | 'edits' | 'exchanges'> {
  readonly hidden: string
  readonly visible: string
  readonly edits: Omit<StateData['edits'], 'edits'> & { readonly edits: string }
  readonly exchanges: Pick<StateData['exchanges'], 'parts'> & {
    readonly usedIds: string
    readonly exchanges: string
  }
}

interface StoredKeys
  extends Omit<KeyData, 'keys' | 'seqs' | 'ends' | 'details'>,
    Record<'keys' | 'seqs' | 'ends' | 'details', string> {}

interface StoredValue extends Omit<SnapshotValue, 'state' | 'keys'> {
  readonly state: StoredState
  readonly keys?: StoredKeys
}

async function storedValue({ state, keys, ...rest }: SnapshotValue): Promise<StoredValue> {
  const stored = { ...rest, state: await storedState(state) }
  return keys === undefined ? stored : { ...stored, keys: await storedKeys(keys) }
}

async function storedKeys({ keys, seqs, ends, details, ...rest }: KeyData): Promise<StoredKeys> {
  return {
    ...rest,
    keys: await writeRows(keys),
    seqs: await writeRows(seqs),
    ends: await writeRows(ends),
    details: await writeRows(details),
  }
}

function restoredKeys({ keys, seqs, ends, details, ...rest }: StoredKeys): KeyData {
  return {
    ...rest,
    keys: JSON.parse(keys) as readonly string[],
    seqs: JSON.parse(seqs) as readonly number[],
    ends: JSON.parse(ends) as readonly number[],
    details: JSON.parse(details) as readonly string[],
  }
}

async function storedState(state: StateData): Promise<StoredState> {
  const { edits, ...others } = state.edits
  const { usedIds, exchanges, parts } = state.exchanges
  return {
    ...state,
    hidden: await writeRows(state.hidden),
    visible: await writeRows(state.visible),
    edits: { ...others, edits: await writeRows(withoutTexts(edits)) },
    exchanges: {
      parts,
      usedIds: await writeRows(usedIds),
      exchanges: await writeRows(exchanges),
    },
  }
}

/** Rows that are written at once, and characters after which others have their turn: about a millisecond. */
const rowsAtOnce = 256
const charactersAtOnce = 64 * 1024

async function writeRows(rows: Iterable<unknown>): Promise<string> {
  const pieces: string[] = []
  let batch: unknown[] = []
  let written = 0
  const write = (): void => {
    const piece = JSON.stringify(batch).slice(1, -1)
    pieces.push(piece)
    written += piece.length
    batch = []
  }
  for (const row of rows) {
    batch.push(row)
    if (batch.length < rowsAtOnce) continue
    write()
    if (written < charactersAtOnce) continue
    written = 0
    await setImmediate()
  }
  if (batch.length > 0) write()
  return `[${pieces.join(',')}]`
}

function restoredState(
  { hidden, visible, exchanges, edits: { edits: _, ...others }, ...rest }: StoredState,
  edits: readonly EditEntry[],
): StateData {
  let parsed: readonly HiddenRow[] | undefined
  return {
    ...rest,
    visible: JSON.parse(visible) as readonly VisibleRow[],
    edits: { ...others, edits },
    exchanges: {
      parts: exchanges.parts,
      usedIds: JSON.parse(exchanges.usedIds) as readonly string[],
      exchanges: JSON.parse(exchanges.exchanges) as readonly ExchangeRow[],
    },
    get hidden() {
      parsed ??= JSON.parse(hidden) as readonly HiddenRow[]
      return parsed
    },
  }
}

/**
 * Without the texts and digests of checkpoints, which the log has: each is as long as what it stands for. The newest is read again with the
 * snapshot; older ones are needed only where it is undone, and then the whole log is read (`complete`).
 */
function* withoutTexts(edits: readonly EditEntry[]): Generator<EditEntry> {
  for (const edit of edits) {
    const isKept = !isCheckpoint(edit) || edit.summary !== undefined
    const { digest: _, ...rest } = edit
    yield isKept ? edit : { ...rest, text: '' }
  }
}

/** The edits with the newest checkpoint whole, as the log has it; undefined where it does not. */
async function withCheckpoint(
  store: Store,
  key: ThreadKey,
  edits: readonly EditEntry[],
): Promise<readonly EditEntry[] | undefined> {
  const at = edits.findLastIndex(isCheckpoint)
  const newest = edits[at]
  if (newest === undefined || newest.text !== '') return edits
  for await (const entry of store.read(key, { from: newest.seq, to: newest.seq })) {
    if (entry.type === 'edit' && entry.id === newest.id) return edits.with(at, entry)
  }
  return undefined
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
  const { state, keys, ...rest } = snapshot.value as unknown as StoredValue
  const stored = JSON.parse(state.edits.edits) as readonly EditEntry[]
  const edits = await withCheckpoint(store, key, stored)
  if (edits === undefined) return undefined
  const value: SnapshotValue = {
    ...rest,
    state: restoredState(state, edits),
    ...(keys === undefined ? {} : { keys: restoredKeys(keys) }),
  }
  const visible = [...value.state.visible]
  const wanted = new Set(visible.map(([seq]) => seq))
  const messages: MessageEntry[] = []
  for (const [from, to] of runsOf([...wanted])) {
    for await (const entry of store.read(key, { from, to })) {
      if (entry.type === 'message' && wanted.has(entry.seq)) messages.push(entry)
    }
  }
  return messages.length === visible.length ? { value, messages } : undefined
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
  const edits = JSON.parse(state.edits.edits) as readonly EditEntry[]
  const { visible, hidden, version } = restoredState(state, edits)
  const counts = new Map<number, readonly number[]>()
  for (const [seq, , tokens] of [...visible, ...hidden]) counts.set(seq, tokens)
  const superseded = new Map<number, EditEntry>()
  const newest = edits.findLast(isCheckpoint)
  for (const edit of edits)
    if (isCheckpoint(edit) && edit.text === '' && edit !== newest) superseded.set(edit.seq, edit)
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
