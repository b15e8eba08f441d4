import { expect, it } from 'vitest'
import type { Draft, EditEntry } from '../../core/log/entry.ts'
import { fixedSalt } from '../../core/log/ids.ts'
import { prepare } from '../../core/log/prepare.ts'
import { State, type StateData } from '../../core/state/state.ts'
import { resolveCounter } from '../../counters.ts'
import { decode } from '../../index.ts'
import type { Snapshot, Store } from '../../stores/store.ts'
import { chatMessage } from '../../testing/builders.ts'
import { loadSnapshot, type SnapshotValue, saveSnapshot } from './snapshot.ts'

const key = { tenant: 'default', thread: 't' }

const checkpoint = (seq: number): EditEntry =>
  ({
    type: 'edit',
    id: `e${seq}`,
    seq,
    at: 1,
    epoch: 'p1',
    rule: 'compaction',
    form: 'dropped',
    target: { ranges: [[1, seq - 1]] },
    text: `Notes of ${seq}`,
    digest: { total: seq },
    reason: 'too long',
    tokensBefore: 10,
    tokensAfter: 1,
  }) as unknown as EditEntry

const none = { usedIds: [], exchanges: [], parts: { continued: [] } }

/** The one snapshot of a store that has nothing else. */
function slot(): { readonly store: Store; saved(): Snapshot | undefined } {
  let saved: Snapshot | undefined
  const store = {
    saveSnapshot: async (_: unknown, snapshot: Snapshot) => {
      saved = JSON.parse(JSON.stringify(snapshot)) as Snapshot
    },
    loadSnapshot: async () => saved,
    async *read(_: unknown, { from }: { readonly from: number }) {
      yield checkpoint(from)
    },
  }
  return { store: store as unknown as Store, saved: () => saved }
}

it('[T9] a snapshot has no text of a checkpoint, takes that of the newest from the log, and gives back every hidden message', async () => {
  const hidden = [
    [1, 0, [4], [12]],
    [2, 1, [5], [20], [0]],
  ] as const
  const { drop, clip } = {
    drop: { ...checkpoint(9), text: undefined, digest: undefined } as unknown as EditEntry,
    clip: { ...checkpoint(10), target: { seq: 3, block: 0 }, text: 'short' } as EditEntry,
  }
  const edits = [checkpoint(5), checkpoint(8), drop, clip]
  const state = { version: 12, visible: [], hidden, edits: { edits, vetoes: [] }, exchanges: none }
  const value = { state: state as unknown as StateData, facts: {} } as unknown as SnapshotValue
  const { store, saved } = slot()
  await saveSnapshot(store, key, value)
  const text = JSON.stringify(saved())
  expect([text.includes('Notes of 5'), text.includes('Notes of 8')]).toEqual([false, false])
  const loaded = await loadSnapshot(store, key)
  const [first, ...rest] = loaded?.value.state.edits.edits ?? []
  expect(first).toEqual({ ...checkpoint(5), text: '', digest: undefined })
  expect(rest).toEqual([checkpoint(8), drop, clip])
  expect([...(loaded?.value.state.hidden ?? [])]).toEqual(hidden)
})

it('[T9] a snapshot says what was there when it was taken, while the thread continues', async () => {
  const counter = resolveCounter('estimate')
  const state = new State({ counter, salt: fixedSalt })
  const grow = (drafts: readonly Draft[]): void => {
    for (const entry of prepare(state, drafts, 1)) state.apply(entry)
  }
  const conversation = Array.from({ length: 2000 }, (_, turn) => [
    chatMessage.user(`question ${turn} ${'x'.repeat(100)}`),
    chatMessage.calls({ id: `c${turn}`, name: 'read' }),
    chatMessage.result(`c${turn}`, 'fine'),
  ]).flat()
  const drafts = decode('openai-chat', conversation).map(({ draft }) => draft)
  // The newest call waits for its result.
  grow(drafts.slice(0, -1))
  const taken = (): Promise<Snapshot> => {
    const { store, saved } = slot()
    const value = { state: state.data(), facts: {} } as unknown as SnapshotValue
    return saveSnapshot(store, key, value).then(() => saved() as Snapshot)
  }
  const expected = await taken()
  let turns = 0
  let isDone = false
  const others = (): void => {
    turns += 1
    if (!isDone) setImmediate(others)
  }
  setImmediate(others)
  const slow = taken()
  grow([...drafts.slice(-1), ...drafts.slice(0, 1)])
  expect(await slow).toEqual(expected)
  isDone = true
  expect(turns).toBeGreaterThan(0)
})
