// Edit list of a thread, grouped by epoch, newest first, loaded page by page.

import { type ReactNode, useState } from 'react'
import { api } from '../api.ts'
import type { EditRow, EditsPage, EpochRow, ThreadSummary } from '../contract.ts'
import { FormTag } from '../form-tag.tsx'
import { Empty, Failure, Loading } from '../notice.tsx'
import { formatCount, formatTokens } from '../numbers.ts'
import { useLoad } from '../use-load.ts'

export interface EditsProps {
  readonly thread: ThreadSummary
  readonly version: number
  readonly onChange: () => void
}

const pageSize = 100

export function Edits({ thread, version, onChange }: EditsProps): ReactNode {
  const [shown, setShown] = useState(pageSize)
  const { data, error, reload } = useLoad(
    thread.id,
    (signal) => load(thread.id, shown, signal),
    version + shown / pageSize,
  )
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
  const epochs = new Map(data.epochs.map((epoch) => [epoch.id, epoch]))
  return (
    <div className="edits">
      {problem !== undefined && <Failure error={problem} />}
      {[...Map.groupBy(data.edits, ({ epoch }) => epoch)].map(([id, edits]) => (
        <Epoch key={id} epoch={epochs.get(id)} id={id} edits={edits} onUndo={undo} />
      ))}
      {data.next !== undefined && (
        <button type="button" className="more" onClick={() => setShown(shown + pageSize)}>
          Show more ({formatCount(data.count - data.edits.length)} older)
        </button>
      )}
    </div>
  )
}

/** As many pages as are shown. */
async function load(thread: string, count: number, signal: AbortSignal): Promise<EditsPage> {
  let page = await api.edits(thread, { limit: pageSize, before: undefined }, signal)
  while (page.next !== undefined && page.edits.length < count) {
    const { edits, epochs } = page
    const more = await api.edits(thread, { limit: pageSize, before: page.next }, signal)
    page = { ...more, edits: [...edits, ...more.edits], epochs: [...epochs, ...more.epochs] }
  }
  return page
}

interface EpochProps {
  readonly id: string
  readonly epoch: EpochRow | undefined
  readonly edits: readonly EditRow[]
  readonly onUndo: (id: string) => void
}

function Epoch({ id, epoch, edits, onUndo }: EpochProps): ReactNode {
  const { at = 0, edits: count = edits.length, tokensSaved = 0 } = epoch ?? {}
  const isInForce = ({ state }: EditRow): boolean => state === 'in-force'
  return (
    <section className="epoch" aria-label={`Epoch ${id}`}>
      <h2>
        <span className="id">{id}</span>
        <span>
          {formatCount(count)} {count === 1 ? 'edit' : 'edits'}, {formatTokens(tokensSaved)} tokens
          saved
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
              <span className="tag">{edit.state}</span>
            )}
          </li>
        ))}
      </ul>
    </section>
  )
}

function targetOf({ from, to, runs, block }: EditRow): string {
  if (block !== undefined) return `entry ${from}, block ${block + 1}`
  if (from === to) return `entry ${from}`
  return `entries ${from}–${to}${runs > 1 ? `, in ${formatCount(runs)} runs` : ''}`
}
