// Edit list of a thread, grouped by epoch, newest first, loaded page by page.

import { type ReactNode, useState } from 'react'
import { threadAddress } from '../address.ts'
import { api } from '../api.ts'
import type { EditRow, EditsPage, EpochRow, ThreadSummary, TimelineStep } from '../contract.ts'
import { FormTag } from '../form-tag.tsx'
import { Link } from '../link.tsx'
import { Empty, Failure, Loading } from '../notice.tsx'
import { formatCount, formatTokens, grouped } from '../numbers.ts'
import { useLoad } from '../use-load.ts'
import { EffectBox } from './effect-box.tsx'

export interface EditsProps {
  readonly thread: ThreadSummary
  readonly steps: readonly TimelineStep[]
  readonly version: number
  readonly onChange: () => void
}

const pageSize = 100

export function Edits({ thread, steps, version, onChange }: EditsProps): ReactNode {
  const [shown, setShown] = useState(pageSize)
  const { data, error, reload } = useLoad(
    thread.id,
    (signal) => load(thread.id, shown, signal),
    version + shown / pageSize,
  )
  const [problem, setProblem] = useState<Error>()
  const [done, setDone] = useState(false)
  const undo = (id: string): void => {
    setProblem(undefined)
    setDone(false)
    api.undo(thread.id, id).then(() => {
      setDone(true)
      onChange()
    }, setProblem)
  }
  if (error !== undefined) return <Failure error={error} onRetry={reload} />
  if (data === undefined) return <Loading what="edits" />
  if (data.edits.length === 0) {
    return (
      <Empty title="No edits yet.">
        The model is sent everything as it was said. What a policy shortens, omits or folds is
        listed here, with its reason, and can be undone.
      </Empty>
    )
  }
  const epochs = new Map(data.epochs.map((epoch) => [epoch.id, epoch]))
  return (
    <div className="edits">
      {problem !== undefined && <Failure error={problem} />}
      {done && (
        <p className="notice" role="status">
          Undone.{' '}
          <Link href={threadAddress(thread.id, { step: 'next' })}>Show the next request</Link>
        </p>
      )}
      {[...Map.groupBy(data.edits, ({ epoch }) => epoch)].map(([id, edits]) => (
        <Epoch
          key={id}
          {...{ id, edits, version, thread: thread.id, epoch: epochs.get(id), onUndo: undo }}
          step={stepOf(edits, steps)}
        />
      ))}
      {data.next !== undefined && (
        <button type="button" className="more" onClick={() => setShown(shown + pageSize)}>
          Show more ({formatCount(data.count - data.edits.length)} older)
        </button>
      )}
    </div>
  )
}

/** The step whose request first had these edits; undefined until one is sent. */
function stepOf(
  [newest]: readonly EditRow[],
  steps: readonly TimelineStep[],
): TimelineStep | undefined {
  return newest && steps.find(({ seq }) => seq > newest.seq)
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
  readonly thread: string
  readonly version: number
  readonly id: string
  /** The step that sent them first. */
  readonly step: TimelineStep | undefined
  readonly epoch: EpochRow | undefined
  readonly edits: readonly EditRow[]
  readonly onUndo: (id: string) => void
}

function Epoch({ thread, version, id, step, epoch, edits, onUndo }: EpochProps): ReactNode {
  const { at = 0, edits: count = edits.length, tokensSaved = 0 } = epoch ?? {}
  const isInForce = ({ state }: EditRow): boolean => state === 'in-force'
  const [asked, setAsked] = useState<readonly EditRow[]>()
  const inForce = edits.filter(isInForce)
  const undoneBy = ([first, ...rest]: readonly EditRow[]): string =>
    rest.length === 0 ? (first?.id ?? id) : id
  const undo = (): void => {
    onUndo(undoneBy(asked ?? []))
    setAsked(undefined)
  }
  return (
    <section className="epoch" aria-label={`Epoch ${id}`}>
      <h2>
        {step === undefined ? (
          <span>Not sent yet</span>
        ) : (
          <Link href={threadAddress(thread, { step: String(step.step) })}>Step {step.step}</Link>
        )}
        <span>
          {formatCount(count)} {count === 1 ? 'edit' : 'edits'}, {formatTokens(tokensSaved)} tokens
          saved
        </span>
        <time className="muted" dateTime={new Date(at).toISOString()}>
          {timeOf(at)}
        </time>
        <span className="id muted" title="The id of this epoch">
          {id}
        </span>
        {inForce.length > 1 && (
          <button type="button" className="quiet" onClick={() => setAsked(inForce)}>
            Undo all {formatCount(inForce.length)}
          </button>
        )}
      </h2>
      {asked !== undefined && (
        <EffectBox
          thread={thread}
          action={{ type: 'undo', id: undoneBy(asked) }}
          version={version}
          what={whatOf(asked)}
          name="Undo"
          onAct={undo}
          onCancel={() => setAsked(undefined)}
        />
      )}
      <ul>
        {edits.map((edit) => (
          <li
            key={edit.id}
            className={isInForce(edit) ? undefined : 'is-undone'}
            data-edit={edit.id}
          >
            <FormTag form={edit.form} rule={edit.rule} />
            <span className="edit-what">
              <b>{edit.rule}</b>{' '}
              <Link href={threadAddress(thread, { block: `${edit.from}/${edit.block ?? 0}` })}>
                {targetOf(edit)}
              </Link>{' '}
              <span className="muted">{grouped(edit.reason)}</span>
            </span>
            <span className="tokens" title="Tokens before and after">
              {formatTokens(edit.tokensBefore)} → {formatTokens(edit.tokensAfter)}
            </span>
            {isInForce(edit) ? (
              <button type="button" className="quiet" onClick={() => setAsked([edit])}>
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

function whatOf(edits: readonly EditRow[]): string {
  const isFold = edits.some(({ rule }) => rule === 'compaction')
  const what =
    edits.length === 1
      ? `Takes back this edit of ${targetOf(edits[0] as EditRow)}.`
      : `Takes back ${formatCount(edits.length)} edits.`
  return isFold ? `${what} The summary before it holds again, if there is one.` : what
}

function timeOf(at: number): string {
  return new Date(at).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' })
}

function targetOf({ from, to, runs, block }: EditRow): string {
  if (block !== undefined) return `entry ${from}, block ${block + 1}`
  if (from === to) return `entry ${from}`
  return `entries ${from}–${to}${runs > 1 ? `, in ${formatCount(runs)} runs` : ''}`
}
