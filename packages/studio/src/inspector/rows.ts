// The rows of the inspector: every block of the log beside what the model sees of it, and what changed since the step before.

import type { ListedEdit, ThreadView, ViewBlock } from '../contract.ts'

export type Since = 'same' | 'new' | 'changed' | 'first-changed'

export type Row =
  | {
      readonly type: 'block'
      readonly key: string
      readonly block: ViewBlock
      readonly since: Since
    }
  | {
      readonly type: 'checkpoint'
      readonly key: string
      readonly edit: ListedEdit
      readonly covered: number
    }

export interface RowsInput {
  readonly view: ThreadView
  /** The view of the step before, to compare with. */
  readonly previous?: ThreadView | undefined
  readonly edits: readonly ListedEdit[]
  /** Edits after this place in the log were not there yet. */
  readonly upTo?: number | undefined
  readonly show: 'all' | 'changed'
}

export function rowsOf({ view, previous, edits, upTo, show }: RowsInput): readonly Row[] {
  const before = new Map(previous?.blocks.map((block) => [keyOf(block), block]))
  const checkpoint = checkpointOf(edits, upTo)
  const rows: Row[] = []
  let hasFirst = false
  let isPlaced = checkpoint === undefined
  for (const block of view.blocks) {
    if (!isPlaced && checkpoint !== undefined && isCovered(checkpoint, block.seq)) {
      isPlaced = true
      const covered = countCovered(view.blocks, checkpoint)
      rows.push({
        type: 'checkpoint',
        key: `checkpoint-${checkpoint.id}`,
        edit: checkpoint,
        covered,
      })
    }
    let since = previous === undefined ? 'same' : sinceOf(before.get(keyOf(block)), block)
    if (since === 'changed' && !hasFirst) {
      hasFirst = true
      since = 'first-changed'
    }
    if (show === 'changed' && block.form === 'full' && (since === 'same' || since === 'new'))
      continue
    rows.push({ type: 'block', key: keyOf(block), block, since })
  }
  return rows
}

/** Forked logs share ids, and a message without blocks lends its own: place and position are what is unique. */
function keyOf({ id, seq, index }: ViewBlock): string {
  return `${seq}/${index}/${id}`
}

function sinceOf(before: ViewBlock | undefined, now: ViewBlock): Since {
  if (before === undefined) return 'new'
  return before.form === now.form && before.text === now.text ? 'same' : 'changed'
}

/** The one live checkpoint: the newest edit that stands, with its text, for whole messages. */
function checkpointOf(
  edits: readonly ListedEdit[],
  upTo = Number.POSITIVE_INFINITY,
): ListedEdit | undefined {
  return edits.findLast(
    (edit) => edit.live && edit.seq <= upTo && 'ranges' in edit.target && edit.text !== undefined,
  )
}

function isCovered({ target }: ListedEdit, seq: number): boolean {
  return 'ranges' in target && target.ranges.some(([from, to]) => seq >= from && seq <= to)
}

function countCovered(blocks: readonly ViewBlock[], checkpoint: ListedEdit): number {
  return new Set(blocks.filter(({ seq }) => isCovered(checkpoint, seq)).map(({ seq }) => seq)).size
}
