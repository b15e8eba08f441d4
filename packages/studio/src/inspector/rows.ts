// Inspector rows: every logged block with its form in the view, and changes since the previous
// step.

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
  /** The view of the previous step, for the diff. */
  readonly previous?: ThreadView | undefined
  readonly edits: readonly ListedEdit[]
  /** Ignore edits after this log position. */
  readonly upTo?: number | undefined
  readonly show: 'all' | 'changed'
}

export function rowsOf({ view, previous, edits, upTo, show }: RowsInput): readonly Row[] {
  const before = new Map(previous?.blocks.map((block) => [keyOf(block), block]))
  const rows: Row[] = []
  let hasFirst = false
  for (const block of view.blocks) {
    let since = previous === undefined ? 'same' : sinceOf(before.get(keyOf(block)), block)
    if (since === 'changed' && !hasFirst) {
      hasFirst = true
      since = 'first-changed'
    }
    const isMarked = block.isPinned || block.isExcluded
    const isPlain = block.form === 'full' && !isMarked && (since === 'same' || since === 'new')
    if (show === 'all' || !isPlain) rows.push({ type: 'block', key: keyOf(block), block, since })
  }
  return withCheckpoint(rows, checkpointsOf(edits, upTo), view.blocks)
}

/** Inserts the live checkpoint where the view has it: after the first remaining user message. */
function withCheckpoint(
  rows: readonly Row[],
  checkpoints: readonly ListedEdit[],
  blocks: readonly ViewBlock[],
): readonly Row[] {
  const edit = checkpoints.at(-1)
  if (edit === undefined) return rows
  const first = blocks.find(({ role, form }) => role === 'user' && form !== 'dropped')
  const seqs = blocks
    .map(({ seq }) => seq)
    .filter((seq) => checkpoints.some((one) => covers(one, seq)))
  const row: Row = {
    type: 'checkpoint',
    key: `checkpoint-${edit.id}`,
    edit,
    covered: new Set(seqs).size,
  }
  const place = rows.findLastIndex(
    (one) => one.type === 'block' && one.block.seq <= (first?.seq ?? 0),
  )
  return rows.toSpliced(place + 1, 0, row)
}

/**
 * Unique key: forked logs share ids, and a message without blocks uses its own id, so include
 * position and index.
 */
function keyOf({ id, seq, index }: ViewBlock): string {
  return `${seq}/${index}/${id}`
}

function sinceOf(before: ViewBlock | undefined, now: ViewBlock): Since {
  if (before === undefined) return 'new'
  return before.form === now.form && before.text === now.text ? 'same' : 'changed'
}

/**
 * Checkpoints up to a log position, oldest first. The newest is live and covers what all of them
 * cover.
 */
function checkpointsOf(
  edits: readonly ListedEdit[],
  upTo = Number.POSITIVE_INFINITY,
): readonly ListedEdit[] {
  return edits.filter(
    (edit) => edit.live && edit.seq <= upTo && 'ranges' in edit.target && edit.text !== undefined,
  )
}

function covers({ target }: ListedEdit, seq: number): boolean {
  return 'ranges' in target && target.ranges.some(([from, to]) => seq >= from && seq <= to)
}
