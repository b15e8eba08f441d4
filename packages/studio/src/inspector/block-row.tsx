// Block row: the log on the left, the model's view on the right.

import { memo, type ReactNode } from 'react'
import type { ListedEdit, ViewBlock } from '../contract.ts'
import { FormTag } from '../form-tag.tsx'
import { formatCount, formatTokens } from '../numbers.ts'
import type { Since } from './rows.ts'

/** Characters shown in the list; a click shows all. */
const previewChars = 700

export interface BlockRowProps {
  readonly block: ViewBlock
  readonly original: string | undefined
  readonly since: Since
  readonly isSelected: boolean
  readonly onOpen: (id: string) => void
}

/** Memoized, so that scrolling does not re-render rows. */
export const BlockRow = memo(Block)

function Block({ block, original, since, isSelected, onOpen }: BlockRowProps): ReactNode {
  const { seq, role, type, form, text } = block
  const marks = [
    `row role-${role}`,
    form === 'full' ? '' : 'is-changed',
    isSelected ? 'is-selected' : '',
    since === 'new' ? 'is-new' : '',
    since === 'changed' || since === 'first-changed' ? 'is-since' : '',
  ]
  const open = (): void => {
    // Do not open the block while the user selects text.
    if (getSelection()?.isCollapsed !== false) onOpen(block.id)
  }
  return (
    // biome-ignore lint/a11y: the keyboard has the button in it, whose clicks come here too.
    <div
      className={marks.join(' ')}
      data-block={block.id}
      data-form={form}
      data-since={since}
      onClick={open}
    >
      <button type="button" className="row-open">
        <span className="row-seq">{seq}</span>
        <span className="row-role">{role}</span>
        {type !== 'text' && <span className="row-type">{type}</span>}
        <span className="sr-only">Open block {block.id}</span>
      </button>
      <div className="cell cell-log">
        <Preview text={original} />
      </div>
      <div className="cell cell-view">
        <Why block={block} since={since} />
        {form === 'full' && <Preview text={text} />}
        {form !== 'full' && form !== 'dropped' && <Preview text={text} />}
      </div>
    </div>
  )
}

function Why({ block, since }: { readonly block: ViewBlock; readonly since: Since }): ReactNode {
  const { form, rule, reason, tokensBefore, tokensAfter, isPinned, isExcluded } = block
  const isPlain = form === 'full' && !isPinned && since !== 'first-changed' && since !== 'changed'
  if (isPlain && !isExcluded) return null
  return (
    <div className="why">
      {since === 'first-changed' && <span className="tag tag-break">first change</span>}
      {since === 'changed' && <span className="tag">changed here</span>}
      {form !== 'full' && <FormTag form={form} />}
      {isPinned && <span className="tag">pinned</span>}
      {isExcluded && <span className="tag">excluded</span>}
      {rule !== undefined && <b>{rule}</b>}
      {reason !== undefined && <span className="muted">{reason}</span>}
      {tokensBefore !== undefined && tokensAfter !== undefined && form !== 'full' && (
        <span className="tokens">
          {formatTokens(tokensBefore)} → {formatTokens(tokensAfter)} tokens
        </span>
      )}
    </div>
  )
}

function Preview({ text }: { readonly text: string | undefined }): ReactNode {
  if (text === undefined) return <div className="preview muted">…</div>
  if (text === '') return <div className="preview muted">(empty)</div>
  const isCut = text.length > previewChars
  return (
    <div className="preview">
      {isCut ? text.slice(0, previewChars) : text}
      {isCut && <span className="muted"> … {formatCount(text.length)} characters</span>}
    </div>
  )
}

export interface CheckpointRowProps {
  readonly edit: ListedEdit
  readonly covered: number
}

export function CheckpointRow({ edit, covered }: CheckpointRowProps): ReactNode {
  return (
    <div className="row row-checkpoint">
      <div className="row-open">
        <span className="row-role">checkpoint</span>
      </div>
      <div className="cell cell-log muted">
        Stands for {formatCount(covered)} messages. They stay in the log and can be expanded.
      </div>
      <div className="cell cell-view">
        <div className="why">
          <span className="form form-summarized">summary</span>
          <b>{edit.rule}</b>
          <span className="muted">{edit.reason}</span>
        </div>
        <div className="preview preview-long">{edit.text}</div>
      </div>
    </div>
  )
}
