// Edit list of a thread, grouped by epoch, newest first.

import { type ReactNode, useState } from 'react'
import { api } from '../api.ts'
import type { ListedEdit, ThreadSummary } from '../contract.ts'
import { FormTag } from '../form-tag.tsx'
import { Empty, Failure, Loading } from '../notice.tsx'
import { formatCount, formatTokens } from '../numbers.ts'
import { useLoad } from '../use-load.ts'

export interface EditsProps {
  readonly thread: ThreadSummary
  readonly version: number
  readonly onChange: () => void
}

/** Epochs shown initially. */
const pageSize = 50

export function Edits({ thread, version, onChange }: EditsProps): ReactNode {
  const { data, error, reload } = useLoad(
    thread.id,
    (signal) => api.edits(thread.id, signal),
    version,
  )
  const [shown, setShown] = useState(pageSize)
  const [problem, setProblem] = useState<Error>()
  const undo = (id: string): void => {
    setProblem(undefined)
    api.undo(thread.id, id).then(onChange, setProblem)
  }
  if (error !== undefined) return <Failure error={error} onRetry={reload} />
  if (data === undefined) return <Loading what="edits" />
  if (data.edits.length === 0) {
    return <Empty title="No edits yet.">The model sees the log as it is.</Empty>
  }
  const live = data.edits.filter((edit) => edit.live)
  const newest = new Map(live.map((edit) => [placeOf(edit), edit.id]))
  const isInForce = (edit: ListedEdit): boolean => newest.get(placeOf(edit)) === edit.id
  const epochs = [...Map.groupBy(data.edits, ({ epoch }) => epoch)].reverse()
  return (
    <div className="edits">
      {problem !== undefined && <Failure error={problem} />}
      {epochs.slice(0, shown).map(([epoch, edits]) => (
        <Epoch key={epoch} id={epoch} edits={edits} isInForce={isInForce} onUndo={undo} />
      ))}
      {epochs.length > shown && (
        <button type="button" className="more" onClick={() => setShown(shown + pageSize)}>
          Show more
        </button>
      )}
    </div>
  )
}

interface EpochProps {
  readonly id: string
  readonly edits: readonly ListedEdit[]
  /** True if no newer edit of the same block supersedes it. */
  readonly isInForce: (edit: ListedEdit) => boolean
  readonly onUndo: (id: string) => void
}

function Epoch({ id, edits, isInForce, onUndo }: EpochProps): ReactNode {
  const saved = edits.reduce((sum, edit) => sum + edit.tokensBefore - edit.tokensAfter, 0)
  const at = edits[0]?.at ?? 0
  return (
    <section className="epoch" aria-label={`Epoch ${id}`}>
      <h2>
        <span className="id">{id}</span>
        <span>
          {formatCount(edits.length)} {edits.length === 1 ? 'edit' : 'edits'}, {formatTokens(saved)}{' '}
          tokens saved
        </span>
        <time dateTime={new Date(at).toISOString()}>{new Date(at).toLocaleTimeString()}</time>
        {edits.some(isInForce) && (
          <button type="button" className="quiet" onClick={() => onUndo(id)}>
            Undo all
          </button>
        )}
      </h2>
      <ul>
        {edits.map((edit) => (
          <li
            key={edit.id}
            className={isInForce(edit) ? undefined : 'is-undone'}
            data-edit={edit.id}
          >
            <FormTag form={edit.form} />
            <b>{edit.rule}</b>
            <span>{targetOf(edit)}</span>
            <span className="muted">{edit.reason}</span>
            <span className="tokens">
              {formatTokens(edit.tokensBefore)} → {formatTokens(edit.tokensAfter)}
            </span>
            {isInForce(edit) ? (
              <button type="button" className="quiet" onClick={() => onUndo(edit.id)}>
                Undo
              </button>
            ) : (
              <span className="tag">{edit.live ? 'superseded' : 'undone'}</span>
            )}
          </li>
        ))}
      </ul>
    </section>
  )
}

/**
 * Identity of an edit's target: newer edits of the same target supersede older ones. All
 * checkpoints share one.
 */
function placeOf({ target, text }: ListedEdit): string {
  return 'ranges' in target && text !== undefined ? 'checkpoint' : JSON.stringify(target)
}

function targetOf({ target }: ListedEdit): string {
  if ('seq' in target) return `entry ${target.seq}, block ${target.block + 1}`
  return `entries ${target.ranges.map(([from, to]) => (from === to ? from : `${from}–${to}`)).join(', ')}`
}
