// Block drawer: the original, the model's view of it, the reason, and actions.

import { type ReactNode, useEffect, useRef, useState } from 'react'
import { api } from '../api.ts'
import type { ViewBlock } from '../contract.ts'
import { FormTag } from '../form-tag.tsx'
import { formatCount } from '../numbers.ts'

export interface BlockDrawerProps {
  readonly thread: string
  readonly block: ViewBlock
  readonly original: string | undefined
  /** Past steps are read-only. */
  readonly isPast: boolean
  readonly onClose: () => void
  readonly onChange: () => void
}

export function BlockDrawer(props: BlockDrawerProps): ReactNode {
  const { block, original, isPast, onClose } = props
  const { id, seq, turn, step, role, type, form, rule, reason, tokensBefore, tokensAfter } = block
  const title = useRef<HTMLHeadingElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: another block was opened.
  useEffect(() => title.current?.focus(), [id])
  return (
    <aside className="drawer" aria-label="Block">
      <header>
        <h2 ref={title} tabIndex={-1}>
          {role} {type} <FormTag form={form} />
        </h2>
        <button type="button" className="quiet" onClick={onClose}>
          <span aria-hidden="true">✕</span>
          <span className="sr-only">Close</span>
        </button>
      </header>
      <p className="muted small">
        <span className="id">{id}</span>
        <span>entry {seq}</span>
        <span>turn {turn}</span>
        <span>step {step}</span>
      </p>
      {rule !== undefined && (
        <p>
          <b>{rule}</b>: {reason}
        </p>
      )}
      {tokensBefore !== undefined && tokensAfter !== undefined && (
        <p>
          {formatCount(tokensBefore)} tokens in the log, {formatCount(tokensAfter)} in the view
        </p>
      )}
      {isPast ? (
        <p className="muted">This is a past step: it can be looked at, not changed.</p>
      ) : (
        <Actions {...props} />
      )}
      {form !== 'full' && form !== 'dropped' && (
        <section aria-label="What the model sees">
          <h3>What the model sees</h3>
          <pre>{block.text}</pre>
        </section>
      )}
      <section aria-label="Original">
        <h3>{form === 'full' ? 'Text' : 'Original'}</h3>
        <pre>{original ?? 'Loading…'}</pre>
      </section>
    </aside>
  )
}

function Actions({ thread, block, onChange }: BlockDrawerProps): ReactNode {
  const [note, setNote] = useState<{ text: string; isError: boolean }>()
  const { id, message, edit, isPinned, isExcluded, canExpand } = block
  // biome-ignore lint/correctness/useExhaustiveDependencies: what was said belongs to the block before.
  useEffect(() => setNote(undefined), [id])
  const act = (action: () => Promise<unknown>, done: string): void => {
    action().then(
      () => {
        setNote({ text: done, isError: false })
        onChange()
      },
      (error: Error) => setNote({ text: error.message, isError: true }),
    )
  }
  const expand = async (): Promise<void> => {
    const answer = await api.expand(thread, id, { reason: 'asked for in the studio' })
    if (!answer.ok) throw new Error(answer.reason)
  }
  return (
    <div className="actions">
      <button
        type="button"
        disabled={!canExpand}
        title="Gives the original back for a few steps"
        onClick={() => act(expand, 'Expanded: the original is in the log and may be shown again.')}
      >
        Expand
      </button>
      <button
        type="button"
        disabled={edit === undefined}
        title="Takes the edit back, and forbids this form for this block"
        onClick={() =>
          act(() => api.undo(thread, edit ?? ''), 'Undone. Pin keeps it from other edits.')
        }
      >
        Undo
      </button>
      <button
        type="button"
        aria-pressed={isPinned}
        title="Keeps the message verbatim in every view"
        onClick={() =>
          act(() => api.pin(thread, message, !isPinned), isPinned ? 'Unpinned.' : 'Pinned.')
        }
      >
        {isPinned ? 'Unpin' : 'Pin'}
      </button>
      <button
        type="button"
        aria-pressed={isExcluded}
        title="Leaves the message out of every view"
        onClick={() =>
          act(
            () => api.exclude(thread, message, !isExcluded),
            isExcluded ? 'Included.' : 'Excluded.',
          )
        }
      >
        {isExcluded ? 'Include' : 'Exclude'}
      </button>
      {note !== undefined && (
        <span
          role={note.isError ? 'alert' : 'status'}
          className={note.isError ? 'warning' : 'muted'}
        >
          {note.text}
        </span>
      )}
    </div>
  )
}
