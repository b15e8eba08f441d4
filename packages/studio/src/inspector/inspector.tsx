// Inspector: the log beside the view, block by block, now or at any step.

import { type ReactNode, useMemo } from 'react'
import { setParams, useAddress } from '../address.ts'
import { api } from '../api.ts'
import type { ThreadSummary, ThreadView } from '../contract.ts'
import { useKeys } from '../keyboard.ts'
import { Empty, Failure, Loading } from '../notice.tsx'
import { formatCount, formatTokens } from '../numbers.ts'
import { useLoad } from '../use-load.ts'
import { VirtualList } from '../virtual-list.tsx'
import { BlockDrawer } from './block-drawer.tsx'
import { BlockRow, CheckpointRow } from './block-row.tsx'
import { type Row, rowsOf } from './rows.ts'
import { StepBar } from './step-bar.tsx'
import { StepDiff } from './step-diff.tsx'
import { useOriginals } from './use-originals.ts'

export interface InspectorProps {
  readonly thread: ThreadSummary
  readonly version: number
  readonly onChange: () => void
}

export function Inspector({ thread, version, onChange }: InspectorProps): ReactNode {
  const { id } = thread
  const { params } = useAddress()
  const step = numberIn(params, 'step')
  const show = params.get('show') === 'changed' ? 'changed' : 'all'
  const selected = params.get('block') ?? undefined
  const loaded = useInspected(id, step, version)
  const { steps, view, previous, edits, upTo } = loaded
  const originalOf = useOriginals(id)
  const rows = useMemo(
    () => (view === undefined ? [] : rowsOf({ view, previous, edits, upTo, show })),
    [view, previous, edits, upTo, show],
  )
  const place = rows.findIndex((row) => row.type === 'block' && row.block.id === selected)
  const first = rows.findIndex((row) => row.type === 'block' && row.since === 'first-changed')
  const open = (index: number): void => {
    const row = rows[index]
    if (row?.type === 'block') setParams({ block: row.block.id })
    else if (row !== undefined && index + 1 < rows.length) open(index + 1)
  }
  useInspectorKeys({ steps, step, place, open, close: () => closeBlock(selected) })
  const row = rows[place]
  return (
    <div className="inspector">
      <div className="toolbar">
        <StepBar
          steps={steps}
          step={step}
          onStep={(to) => setParams({ step: to?.toString(), block: undefined })}
        />
        <label>
          <input
            type="checkbox"
            checked={show === 'changed'}
            onChange={(event) => setParams({ show: event.target.checked ? 'changed' : undefined })}
          />{' '}
          Changed only
        </label>
        <span className="spacer" />
        {view !== undefined && <Totals view={view} />}
      </div>
      {step !== undefined && loaded.error === undefined && <StepDiff thread={id} step={step} />}
      {loaded.error !== undefined && <Failure error={loaded.error} onRetry={onChange} />}
      {view === undefined && loaded.error === undefined && <Loading what="the view" />}
      {view !== undefined && rows.length === 0 && (
        <Empty title={show === 'changed' ? 'Nothing is changed here.' : 'The log has no messages.'}>
          {show === 'changed' && 'The model sees the log as it is.'}
        </Empty>
      )}
      {rows.length > 0 && (
        <div className="columns">
          <div className="column-heads" aria-hidden="true">
            <span />
            <span>Log</span>
            <span>{step === undefined ? 'View, now' : `View, as sent at step ${step}`}</span>
          </div>
          <VirtualList
            label="The log beside the view"
            count={rows.length}
            guess={96}
            resetKey={`${id} ${step} ${show}`}
            keyOf={(index) => rows[index]?.key ?? String(index)}
            start={first !== -1 ? first : rows.length - 1}
            scrollTo={place === -1 ? undefined : place}
            renderRow={(index) => renderRow(rows[index], originalOf, selected)}
          />
        </div>
      )}
      {row?.type === 'block' && (
        <BlockDrawer
          thread={id}
          block={row.block}
          original={originalOf(row.block)}
          isPast={step !== undefined}
          onClose={() => closeBlock(selected)}
          onChange={onChange}
        />
      )}
    </div>
  )
}

function renderRow(
  row: Row | undefined,
  originalOf: ReturnType<typeof useOriginals>,
  selected: string | undefined,
): ReactNode {
  if (row === undefined) return null
  if (row.type === 'checkpoint') return <CheckpointRow edit={row.edit} covered={row.covered} />
  const { block, since } = row
  return (
    <BlockRow
      block={block}
      since={since}
      original={originalOf(block)}
      isSelected={block.id === selected}
      onOpen={openBlock}
    />
  )
}

function openBlock(id: string): void {
  setParams({ block: id })
}

/** Closes the drawer and returns the focus to its row. */
function closeBlock(id: string | undefined): void {
  setParams({ block: undefined })
  const row = id === undefined ? '' : `[data-block="${CSS.escape(id)}"] .row-open`
  if (row !== '') document.querySelector<HTMLElement>(row)?.focus({ preventScroll: true })
}

function useInspected(id: string, step: number | undefined, version: number) {
  const requests = useLoad(id, (signal) => api.requests(id, signal), version)
  const view = useLoad(`${id} ${step}`, (signal) => api.view(id, step, signal), version)
  const edits = useLoad(id, (signal) => api.edits(id, signal), version)
  const steps = useMemo(() => {
    const newest = new Map(requests.data?.requests.map((request) => [request.step, request]))
    return [...newest.values()].sort((a, b) => a.step - b.step)
  }, [requests.data])
  const at = steps.findIndex((one) => one.step === step)
  const before = at > 0 ? steps[at - 1]?.step : undefined
  const previous = useLoad(before === undefined ? undefined : `${id} ${before}`, (signal) =>
    api.view(id, before, signal),
  )
  const error = view.error ?? requests.error ?? edits.error
  return {
    steps,
    view: view.data,
    previous: previous.data,
    edits: edits.data?.edits ?? [],
    upTo: steps[at]?.seq,
    ...(error === undefined ? {} : { error }),
  }
}

function useInspectorKeys(options: {
  readonly steps: readonly { readonly step: number }[]
  readonly step: number | undefined
  readonly place: number
  readonly open: (index: number) => void
  readonly close: () => void
}): void {
  const { steps, step, place, open, close } = options
  const at = step === undefined ? steps.length : steps.findIndex((one) => one.step === step)
  const move = (to: number): void =>
    setParams({ step: steps[Math.max(0, Math.min(to, steps.length))]?.step.toString() })
  useKeys({
    j: () => open(place + 1),
    k: () => open(Math.max(0, place - 1)),
    ArrowDown: () => open(place + 1),
    ArrowUp: () => open(Math.max(0, place - 1)),
    '[': () => move(at - 1),
    ']': () => move(at + 1),
    Escape: close,
  })
}

function Totals({ view }: { readonly view: ThreadView }): ReactNode {
  const forms = new Map<string, number>()
  for (const { form } of view.blocks) forms.set(form, (forms.get(form) ?? 0) + 1)
  return (
    <p className="totals">
      <b>{formatTokens(view.tokens.after)}</b> of {formatTokens(view.tokens.before)} tokens
      {[...forms].map(([form, blocks]) => (
        <span key={form} className={`form form-${form}`}>
          {formatCount(blocks)} {form}
        </span>
      ))}
    </p>
  )
}

function numberIn(params: URLSearchParams, name: string): number | undefined {
  const text = params.get(name)
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : undefined
}
