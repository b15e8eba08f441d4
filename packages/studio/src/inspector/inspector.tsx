// Inspector: what a request showed of the log, row by row, at any step.

import { type ReactNode, useMemo, useState } from 'react'
import { setParams, useAddress } from '../address.ts'
import type { Outline, OutlineRow, ThreadSummary, TimelineStep } from '../contract.ts'
import { useKeys } from '../keyboard.ts'
import { Empty, Failure, Loading } from '../notice.tsx'
import type { Loaded } from '../use-load.ts'
import { VirtualList } from '../virtual-list.tsx'
import { Drawer } from './drawer.tsx'
import { Filters, useFilter } from './filters.tsx'
import { InspectorRow } from './row.tsx'
import { isChanged, keyOf, openRuns, type Row, rowsOf } from './rows.ts'
import { StepBar } from './step-bar.tsx'
import { StepNote } from './step-note.tsx'
import { type RunRows, useRuns } from './use-runs.ts'
import { useTexts } from './use-texts.ts'

export interface InspectorProps {
  readonly thread: ThreadSummary
  readonly outline: Loaded<Outline>
  readonly steps: readonly TimelineStep[]
  readonly onChange: () => void
}

export function Inspector({ thread, outline, steps, onChange }: InspectorProps): ReactNode {
  const { id } = thread
  const { params } = useAddress()
  const selected = params.get('block') ?? undefined
  const { data, error } = outline
  const shownStep = stepOf(params, steps)
  const [chosenRuns, setChosenRuns] = useState<ReadonlySet<number>>(new Set())
  const filter = useFilter(id)
  const outlined = data?.rows ?? noRows
  const open = useMemo(
    () => openRuns(outlined, filter, withRunOf(chosenRuns, outlined, selected)),
    [outlined, filter, chosenRuns, selected],
  )
  const version = data?.version ?? 0
  const inside = useRuns(id, { step: data?.step ?? 'next', version }, [...open])
  const rows = useMemo(
    () => rowsOf({ rows: outlined, filter, open, inside }),
    [outlined, filter, open, inside],
  )
  const place = rows.findIndex((row) => row.type === 'row' && row.key === selected)
  useInspectorKeys({ rows, place, steps, shownStep, selected })
  const row = chosenRow(outlined, inside, selected)
  const newest = steps.at(-1)?.step
  return (
    <div className={row === undefined ? 'inspector' : 'inspector has-drawer'}>
      <div className="inspector-main">
        <div className="toolbar">
          <StepBar steps={steps} step={shownStep} onStep={goToStep} />
          <Filters rows={outlined} />
        </div>
        {data !== undefined && (
          <StepNote
            key={data.step}
            thread={id}
            outline={data}
            step={steps.find((one) => one.step === data.step)}
          />
        )}
        {error !== undefined && <Failure error={error} onRetry={outline.reload} />}
        {data === undefined && error === undefined && <Loading what="the request" />}
        {data !== undefined && rows.length === 0 && <NoRows isEmpty={outlined.length === 0} />}
        {rows.length > 0 && (
          <RowList
            thread={id}
            outline={data?.name ?? ''}
            rows={rows}
            place={place}
            onToggle={(from) => setChosenRuns((before) => toggled(before, from))}
          />
        )}
      </div>
      {row !== undefined && (
        <Drawer
          thread={id}
          row={row}
          version={version}
          step={data?.step ?? 'next'}
          isNow={data?.step === undefined || data.step === newest}
          onClose={() => closeBlock(selected)}
          onChange={() => {
            onChange()
            if (steps.length > 0) goToStep('next', selected)
          }}
        />
      )}
    </div>
  )
}

/** The chosen row, also where the filter hides it: what was changed may no longer fit. */
function chosenRow(
  rows: readonly OutlineRow[],
  inside: RunRows,
  selected: string | undefined,
): Exclude<OutlineRow, { type: 'folded' }> | undefined {
  if (selected === undefined) return undefined
  for (const row of [rows, ...inside.values()].flat()) {
    if (row.type !== 'folded' && keyOf(row) === selected) return row
  }
  return undefined
}

function NoRows({ isEmpty }: { readonly isEmpty: boolean }): ReactNode {
  return (
    <Empty title={isEmpty ? 'The log has no messages.' : 'No row fits the filter.'}>
      {!isEmpty && 'Everything that was not reduced is sent as it was said.'}
    </Empty>
  )
}

interface RowListProps {
  readonly thread: string
  /** The name of the outline. */
  readonly outline: string
  readonly rows: readonly Row[]
  readonly place: number
  readonly onToggle: (from: number) => void
}

function RowList({ thread, outline, rows, place, onToggle }: RowListProps): ReactNode {
  const { params } = useAddress()
  const textOf = useTexts(thread, outline)
  const shown = ['step', 'show', 'only', 'of'].map((name) => params.get(name) ?? '')
  return (
    <VirtualList
      label="The log beside the view"
      count={rows.length}
      guess={72}
      resetKey={`${thread} ${shown.join(' ')}`}
      keyOf={(index) => rows[index]?.key ?? String(index)}
      start={startOf(rows)}
      scrollTo={place === -1 ? undefined : place}
      renderRow={(index) => {
        const row = rows[index]
        return row === undefined ? null : (
          <InspectorRow
            row={row}
            textOf={textOf}
            isSelected={index === place}
            onOpen={chooseBlock}
            onToggle={onToggle}
          />
        )
      }}
    />
  )
}

function chooseBlock(key: string): void {
  setParams({ block: key })
}

function useInspectorKeys(options: {
  readonly rows: readonly Row[]
  readonly place: number
  readonly steps: readonly TimelineStep[]
  readonly shownStep: number | 'next'
  readonly selected: string | undefined
}): void {
  const { rows, place, steps, shownStep, selected } = options
  const isBlock = (row: Row): boolean => row.type === 'row' && row.row.type !== 'folded'
  const choose = (at: number): void => {
    const row = rows[at]
    if (row?.type === 'row') chooseBlock(row.key)
  }
  const move = (by: number): void => {
    const at =
      shownStep === 'next' ? steps.length : steps.findIndex((one) => one.step === shownStep)
    const to = Math.max(0, Math.min(steps.length, at + by))
    goToStep(steps[to]?.step ?? 'next')
  }
  useKeys({
    j: () => choose(rows.findIndex((row, at) => at > place && isBlock(row))),
    k: () => choose(rows.findLastIndex((row, at) => at < place && isBlock(row))),
    '[': () => move(-1),
    ']': () => move(1),
    Escape: () => closeBlock(selected),
  })
}

const noRows: readonly OutlineRow[] = []

/** The step in the address; else the newest request, else the next. */
function stepOf(params: URLSearchParams, steps: readonly TimelineStep[]): number | 'next' {
  const text = params.get('step')
  if (text === 'next') return 'next'
  if (text !== null && /^\d{1,9}$/.test(text)) return Number(text)
  return steps.at(-1)?.step ?? 'next'
}

function goToStep(step: number | 'next', block?: string): void {
  setParams({ step: String(step), block })
}

/** Opens at the first change; a request as it was said, at its end. */
function startOf(rows: readonly Row[]): number {
  const isOne = (row: Row): boolean =>
    row.type === 'row' && (row.isFirstChange || ('since' in row.row && row.row.since === 'changed'))
  const since = rows.findIndex(isOne)
  if (since !== -1) return since
  const first = rows.findIndex((row) => row.type === 'row' && isChanged(row.row))
  return first === -1 ? rows.length - 1 : first
}

/** The opened runs, with the one that holds the chosen block. */
function withRunOf(
  open: ReadonlySet<number>,
  rows: readonly OutlineRow[],
  selected: string | undefined,
): ReadonlySet<number> {
  const seq = Number(selected?.split('/')[0])
  if (!Number.isInteger(seq)) return open
  const isHere = rows.some((row) => row.type === 'block' && row.seq === seq)
  const run = rows.find((row) => row.type === 'folded' && seq >= row.from && seq <= row.to)
  return isHere || run?.type !== 'folded' ? open : new Set([...open, run.from])
}

function toggled(open: ReadonlySet<number>, from: number): ReadonlySet<number> {
  const next = new Set(open)
  if (!next.delete(from)) next.add(from)
  return next
}

/** Closes the drawer and returns the focus to its row. */
function closeBlock(key: string | undefined): void {
  if (key === undefined) return
  const row = document.querySelector<HTMLElement>('.row.is-selected .row-open')
  setParams({ block: undefined })
  row?.focus({ preventScroll: true })
}
