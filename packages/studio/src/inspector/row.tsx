// A row of the inspector. What the model sees as it was said stands once; what is reduced stands beside its original.

import { memo, type ReactNode } from 'react'
import { argumentsOf, readable } from '../block-text.ts'
import type { BlockRow, OutlineRow, Preview } from '../contract.ts'
import { FormTag } from '../form-tag.tsx'
import { formatCount, formatTokens, grouped } from '../numbers.ts'
import { Prose } from '../prose.tsx'
import type { Row } from './rows.ts'
import type { TextOf } from './use-texts.ts'

export interface RowProps {
  readonly row: Row
  readonly textOf: TextOf
  readonly isSelected: boolean
  readonly onOpen: (key: string) => void
  readonly onToggle: (from: number) => void
}

export function InspectorRow({ row, textOf, isSelected, onOpen, onToggle }: RowProps): ReactNode {
  if (row.type === 'turn') {
    const { turn, lastTurn } = row
    return (
      <h2 className="turn">
        {turn === 0
          ? 'Before the first turn'
          : lastTurn > turn
            ? `Turns ${turn} to ${lastTurn}`
            : `Turn ${turn}`}
      </h2>
    )
  }
  const { row: own, key } = row
  switch (own.type) {
    case 'block':
      return (
        <BlockLine
          row={own}
          preview={textOf(own)}
          isSelected={isSelected}
          isInside={row.isInside}
          isFirstChange={row.isFirstChange}
          onOpen={onOpen}
        />
      )
    case 'folded':
      return (
        <FoldedLine
          row={own}
          isOpen={row.isOpen}
          isFirstChange={row.isFirstChange}
          onToggle={() => onToggle(own.from)}
        />
      )
    default:
      return (
        <FrameLine
          row={own}
          isSelected={isSelected}
          isFirstChange={row.isFirstChange}
          onOpen={() => onOpen(key)}
        />
      )
  }
}

interface BlockLineProps {
  readonly row: BlockRow
  readonly preview: Preview | undefined
  readonly isSelected: boolean
  readonly isInside: boolean
  readonly isFirstChange: boolean
  readonly onOpen: (key: string) => void
}

/** Memoized, so that scrolling does not re-render rows. */
const BlockLine = memo(Line)

function Line({
  row,
  preview,
  isSelected,
  isInside,
  isFirstChange,
  onOpen,
}: BlockLineProps): ReactNode {
  const { seq, index, role, form, since } = row
  const isReduced = form !== 'full' && form !== 'dropped'
  const marks = ['row', `role-${role}`]
  if (form !== 'full') marks.push('is-changed')
  if (isSelected) marks.push('is-selected')
  if (isInside) marks.push('is-inside')
  if (since === 'new') marks.push('is-new')
  if (since === 'changed') marks.push('is-since')
  const open = (): void => {
    // Do not open the block while the user selects text.
    if (getSelection()?.isCollapsed !== false) onOpen(`${seq}/${index}`)
  }
  return (
    // biome-ignore lint/a11y: the keyboard has the button in it, whose clicks come here too.
    <div
      className={marks.join(' ')}
      data-block={row.id}
      data-form={form}
      data-since={isFirstChange ? 'first-changed' : (since ?? 'same')}
      data-tokens={row.tokens}
      data-shown={row.shown}
      onClick={open}
    >
      <button type="button" className="row-open">
        <span className="row-role">{nameOf(row)}</span>
        {row.isError === true && <span className="tag tag-break">error</span>}
        <span className="sr-only">Open block {row.id}</span>
      </button>
      <div className="row-body">
        <Why row={row} isFirstChange={isFirstChange} />
        {isReduced ? (
          <div className="beside">
            <Said preview={preview?.rest ?? preview} label="Log" same={row.same} />
            <Said
              preview={
                preview?.shown === undefined
                  ? undefined
                  : { text: preview.shown, length: preview.shown.length }
              }
              label="View"
              same={row.same}
            />
          </div>
        ) : (
          <Said preview={preview} as={asOf(row)} />
        )}
      </div>
      <Tokens row={row} />
    </div>
  )
}

/** How a text is read: calls as their arguments, what models and people write as Markdown. */
function asOf({ block, role }: BlockRow): 'call' | 'prose' | 'plain' {
  if (block === 'tool-call') return 'call'
  return block === 'text' && role === 'assistant' ? 'prose' : 'plain'
}

/** Who said it: the tool of a call or a result, else the role. */
export function nameOf({ role, block, tool, kind }: BlockRow): string {
  if (block === 'tool-call') return `→ ${tool ?? 'tool'}`
  if (block === 'tool-result') return tool ?? 'result'
  if (block === 'reasoning') return 'reasoning'
  return kind === undefined || role !== 'user' ? role : `${role}, ${kind}`
}

function Why({
  row,
  isFirstChange,
}: {
  readonly row: BlockRow
  readonly isFirstChange: boolean
}): ReactNode {
  const { form, rule, reason, isPinned, isExcluded, since } = row
  const isPlain = form === 'full' && isPinned !== true && isExcluded !== true && since !== 'changed'
  if (isPlain) return null
  return (
    <div className="why">
      {isFirstChange && <span className="tag tag-break">first change</span>}
      {since === 'changed' && !isFirstChange && <span className="tag">changed at this step</span>}
      {form !== 'full' && <FormTag form={form} rule={rule} />}
      {isPinned === true && <span className="tag">pinned</span>}
      {isExcluded === true && <span className="tag">excluded</span>}
      {rule !== undefined && <b>{rule}</b>}
      {reason !== undefined && <span className="muted">{grouped(reason)}</span>}
    </div>
  )
}

function Tokens({ row }: { readonly row: Pick<BlockRow, 'tokens' | 'shown'> }): ReactNode {
  const { tokens, shown } = row
  const title = `${formatCount(tokens)} tokens in the log, ${formatCount(shown)} in the request`
  return (
    <span className="row-tokens" title={title}>
      {shown === tokens || tokens === 0 ? (
        formatTokens(shown)
      ) : (
        <>
          <s>{formatTokens(tokens)}</s> {formatTokens(shown)}
        </>
      )}
    </span>
  )
}

interface SaidProps {
  readonly preview: Preview | undefined
  readonly label?: string
  /** Lines at the beginning that log and view share: they are not repeated. */
  readonly same?: number | undefined
  readonly as?: 'call' | 'prose' | 'plain'
}

function Said({ preview, label, same = 0, as = 'plain' }: SaidProps): ReactNode {
  const shared =
    same === 0 ? '' : `, after ${formatCount(same)} equal ${same === 1 ? 'line' : 'lines'}`
  const heading =
    label === undefined ? null : (
      <span className="beside-label">
        {label}
        {shared}
      </span>
    )
  if (preview === undefined) return <div className="preview muted">{heading}…</div>
  const { text, length, picture } = preview
  if (picture !== undefined) {
    return (
      <div className="preview">
        {heading}
        <img className="thumbnail" src={picture} alt={text} />
      </div>
    )
  }
  if (text === '') return <div className="preview muted">{heading}(empty)</div>
  return (
    <div className="preview">
      {heading}
      {as === 'prose' ? (
        <Prose text={readable(text)} />
      ) : as === 'call' ? (
        argumentsOf(text)
      ) : (
        readable(text)
      )}
      {length > text.length && <span className="muted"> … {formatCount(length)} characters</span>}
    </div>
  )
}

interface FoldedLineProps {
  readonly row: Extract<OutlineRow, { type: 'folded' }>
  readonly isOpen: boolean
  readonly isFirstChange: boolean
  readonly onToggle: () => void
}

function FoldedLine({ row, isOpen, isFirstChange, onToggle }: FoldedLineProps): ReactNode {
  const { messages, rule, reason } = row
  return (
    <div
      className="row row-folded"
      data-folded={messages}
      data-tokens={row.tokens}
      data-shown={0}
      data-since={isFirstChange ? 'first-changed' : (row.since ?? 'same')}
    >
      <button type="button" className="row-open" aria-expanded={isOpen} onClick={onToggle}>
        <span aria-hidden="true">{isOpen ? '▾' : '▸'}</span>{' '}
        {rule === 'compaction' ? 'Folded' : 'Not sent'}
      </button>
      <div className="row-body why">
        {isFirstChange && <span className="tag tag-break">first change</span>}
        <b>
          {formatCount(messages)} {messages === 1 ? 'message' : 'messages'}
        </b>
        {rule !== undefined && <b>{rule}</b>}
        {reason !== undefined && <span className="muted">{grouped(reason)}</span>}
      </div>
      <Tokens row={row} />
    </div>
  )
}

interface FrameLineProps {
  readonly row: Extract<OutlineRow, { type: 'system' | 'tools' | 'summary' }>
  readonly isSelected: boolean
  readonly isFirstChange: boolean
  readonly onOpen: () => void
}

/** What a row is called: a text that Oriel wrote may be a summary, a result that was missing, or an addition to this request. */
export function frameName(row: FrameLineProps['row']): string {
  return row.type === 'summary' ? (row.kind ?? 'summary') : row.type
}

function FrameLine({ row, isSelected, isFirstChange, onOpen }: FrameLineProps): ReactNode {
  const names = row.type === 'tools' ? (row.names ?? []) : []
  return (
    // biome-ignore lint/a11y: the keyboard has the button in it, whose clicks come here too.
    <div
      className={`row row-${row.type}${isSelected ? ' is-selected' : ''}`}
      data-part={row.type}
      data-tokens={row.tokens}
      data-shown={row.shown}
      data-since={isFirstChange ? 'first-changed' : 'same'}
      onClick={onOpen}
    >
      <button type="button" className="row-open">
        <span className="row-role">{frameName(row)}</span>
        <span className="sr-only">Open</span>
      </button>
      <div className="row-body">
        {row.type === 'summary' && (
          <div className="why">
            {isFirstChange && <span className="tag tag-break">first change</span>}
            {row.kind === 'result' && (
              <span className="muted">
                Written by Oriel: the log has no result of this call, and providers want one.
              </span>
            )}
            {row.kind === 'added' && (
              <span className="muted">Written by Oriel for this request.</span>
            )}
            {row.covered > 0 && <span>stands for {formatCount(row.covered)} messages</span>}
            {row.rule !== undefined && <b>{row.rule}</b>}
            {row.reason !== undefined && <span className="muted">{grouped(row.reason)}</span>}
          </div>
        )}
        <div className="preview">
          {row.type === 'tools' ? (
            names.length === 0 ? (
              <span className="muted">none</span>
            ) : (
              names.join(', ')
            )
          ) : (
            <Prose text={readable(row.text.slice(0, 1200))} />
          )}
        </div>
      </div>
      <Tokens row={row} />
    </div>
  )
}
