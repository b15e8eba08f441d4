import { expect, it } from 'vitest'
import type { EditEntry } from '../../core/log/entry.ts'
import type { StateData } from '../../core/state/state.ts'
import type { Snapshot, Store } from '../../stores/store.ts'
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

/** The one snapshot of a store that has nothing else. */
function slot(): { readonly store: Store; saved(): Snapshot | undefined } {
  let saved: Snapshot | undefined
  const store = {
    saveSnapshot: async (_: unknown, snapshot: Snapshot) => {
      saved = JSON.parse(JSON.stringify(snapshot)) as Snapshot
    },
    loadSnapshot: async () => saved,
  }
  return { store: store as unknown as Store, saved: () => saved }
}

it('[T9] a snapshot has the text of the newest checkpoint only, and gives back every hidden message', async () => {
  const hidden = [
    [1, 0, [4], [12]],
    [2, 1, [5], [20], [0]],
  ] as const
  const { drop, clip } = {
    drop: { ...checkpoint(9), text: undefined, digest: undefined } as unknown as EditEntry,
    clip: { ...checkpoint(10), target: { seq: 3, block: 0 }, text: 'short' } as EditEntry,
  }
  const edits = [checkpoint(5), checkpoint(8), drop, clip]
  const state = { version: 12, visible: [], hidden, edits: { edits, vetoes: [] } }
  const value = { state: state as unknown as StateData, facts: {} } as unknown as SnapshotValue
  const { store, saved } = slot()
  await saveSnapshot(store, key, value)
  const text = JSON.stringify(saved())
  expect([text.includes('Notes of 5'), text.includes('Notes of 8')]).toEqual([false, true])
  const loaded = await loadSnapshot(store, key)
  const [first, ...rest] = loaded?.value.state.edits.edits ?? []
  expect(first).toEqual({ ...checkpoint(5), text: '', digest: undefined })
  expect(rest).toEqual([checkpoint(8), drop, clip])
  expect(loaded?.value.state.hidden).toEqual(hidden)
})
