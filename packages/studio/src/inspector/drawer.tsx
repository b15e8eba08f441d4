// The drawer beside the view: one block in full, why it looks as it does, and what can be done about it.

import { type ReactNode, useEffect, useRef, useState } from 'react'
import { api } from '../api.ts'
import { readable } from '../block-text.ts'
import type { BlockRow, OutlineRow, ThreadAction } from '../contract.ts'
import { FormTag } from '../form-tag.tsx'
import { Failure, Loading } from '../notice.tsx'
import { formatCount, grouped } from '../numbers.ts'
import { useLoad } from '../use-load.ts'
import { EffectBox } from './effect-box.tsx'
import { lineDiff } from './line-diff.ts'
import { frameName, nameOf } from './row.tsx'

export interface DrawerProps {
  readonly thread: string
  readonly row: Exclude<OutlineRow, { type: 'folded' }>
  /** Of the log that is shown. */
  readonly version: number
  readonly step: number | 'next'
  /** Whether an action would act on what is shown: the newest request or the next one. */
  readonly isNow: boolean
  readonly onClose: () => void
  readonly onChange: () => void
}

export function Drawer(props: DrawerProps): ReactNode {
  const { row, onClose } = props
  const title = useRef<HTMLHeadingElement>(null)
  const key = row.type === 'block' ? row.id : row.type
  // biome-ignore lint/correctness/useExhaustiveDependencies: another block was opened.
  useEffect(() => title.current?.focus(), [key])
  return (
    <aside className="drawer" aria-label="Block">
      <header>
        <h2 ref={title} tabIndex={-1}>
          {row.type === 'block' ? nameOf(row) : frameName(row)}{' '}
          {row.type === 'block' && <FormTag form={row.form} rule={row.rule} />}
        </h2>
        <button type="button" className="quiet" onClick={onClose}>
          <span aria-hidden="true">✕</span>
          <span className="sr-only">Close</span>
        </button>
      </header>
      {row.type === 'block' ? <BlockPart {...props} row={row} /> : <FramePart row={row} />}
    </aside>
  )
}

function FramePart({
  row,
}: {
  readonly row: Exclude<OutlineRow, BlockRow | { type: 'folded' }>
}): ReactNode {
  return (
    <>
      <p>{formatCount(row.shown)} tokens in the request</p>
      {row.type === 'summary' && row.covered > 0 && (
        <p className="muted">
          Stands for {formatCount(row.covered)} messages. They stay in the log and can be looked up.
        </p>
      )}
      <pre>{readable(row.text)}</pre>
    </>
  )
}

function BlockPart(props: DrawerProps & { readonly row: BlockRow }): ReactNode {
  const { thread, row, step, isNow } = props
  const { id, seq, index, turn, form, rule, reason, tokens, shown } = row
  const { data, error, reload } = useLoad(`${thread} ${step} ${seq}/${index}`, (signal) =>
    api.block(thread, { seq, index, step }, signal),
  )
  return (
    <>
      <p className="muted small">
        <span className="id">{id}</span>
        <span>entry {seq}</span>
        <span>turn {turn}</span>
        <span>step {row.step}</span>
      </p>
      {rule !== undefined && (
        <p>
          <b>{rule}</b>: {grouped(reason ?? '')}
        </p>
      )}
      <p data-drawer-tokens={`${tokens} ${shown}`}>
        {formatCount(tokens)} tokens in the log, {formatCount(shown)} in the request
      </p>
      {isNow ? (
        <Actions {...props} />
      ) : (
        <p className="muted">A past step can be looked at, not changed.</p>
      )}
      {error !== undefined && <Failure error={error} onRetry={reload} />}
      {data === undefined && error === undefined && <Loading what="the block" />}
      {data?.picture !== undefined && <img className="picture" src={data.picture} alt="" />}
      {data !== undefined && form !== 'full' && data.shown !== undefined && (
        <section aria-label="What the model sees">
          <h3>What the model sees, against the original</h3>
          <Diff before={readable(data.original)} after={readable(data.shown)} />
        </section>
      )}
      {data !== undefined && (
        <section aria-label="Original">
          <h3>{form === 'full' ? 'Text' : 'Original'}</h3>
          <pre>{readable(data.original)}</pre>
        </section>
      )}
    </>
  )
}

/** Unchanged lines shown around a change. */
const around = 3

function Diff({ before, after }: { readonly before: string; readonly after: string }): ReactNode {
  return (
    <pre className="diff">
      {lineDiff(before, after).map(({ type, lines }, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a text have an order and nothing else.
        <span key={at} className={`diff-${type}`}>
          {shortened(lines, type === 'added' ? Number.POSITIVE_INFINITY : around)
            .map((line) => `${signs[type]}${line}`)
            .join('\n')}
          {'\n'}
        </span>
      ))}
    </pre>
  )
}

const signs = { same: '  ', removed: '− ', added: '+ ' } as const

function shortened(lines: readonly string[], most: number): readonly string[] {
  if (lines.length <= 2 * most + 1) return lines
  const left = lines.length - 2 * most
  return [...lines.slice(0, most), `⋯ ${formatCount(left)} lines`, ...lines.slice(-most)]
}

type Action = 'undo' | 'expand' | 'pin' | 'exclude'

function Actions({
  thread,
  row,
  version,
  onChange,
}: DrawerProps & { readonly row: BlockRow }): ReactNode {
  const [asked, setAsked] = useState<Action>()
  const [note, setNote] = useState<{ text: string; isError: boolean }>()
  const { id, message, edit, isPinned = false, isExcluded = false } = row
  // biome-ignore lint/correctness/useExhaustiveDependencies: what was said belongs to the block before.
  useEffect(() => {
    setNote(undefined)
    setAsked(undefined)
  }, [id])
  const run = async (action: Action): Promise<void> => {
    if (action === 'undo') await api.undo(thread, edit ?? '')
    else if (action === 'pin') await api.pin(thread, message, !isPinned)
    else if (action === 'exclude') await api.exclude(thread, message, !isExcluded)
    else {
      const answer = await api.expand(thread, id, {
        inPlace: true,
        reason: 'asked for in the studio',
      })
      if (!answer.ok) throw new Error(answer.reason)
    }
  }
  const act = (action: Action): void => {
    setAsked(undefined)
    run(action).then(
      () => {
        setNote({ text: 'Done: the next request is shown.', isError: false })
        onChange()
      },
      (error: Error) => setNote({ text: error.message, isError: true }),
    )
  }
  const can: Readonly<Record<Action, boolean>> = {
    undo: edit !== undefined,
    // A message that left the view whole has no place to be shown in.
    expand: row.canExpand === true && row.form !== 'dropped',
    pin: true,
    exclude: true,
  }
  const names: Readonly<Record<Action, string>> = {
    undo: 'Undo',
    expand: 'Expand',
    pin: isPinned ? 'Unpin' : 'Pin',
    exclude: isExcluded ? 'Include' : 'Exclude',
  }
  return (
    <div className="block-actions">
      <div className="actions">
        {(['undo', 'expand', 'pin', 'exclude'] as const).map((action) => (
          <button
            key={action}
            type="button"
            disabled={!can[action]}
            aria-expanded={asked === action}
            onClick={() => setAsked(asked === action ? undefined : action)}
          >
            {names[action]}
          </button>
        ))}
      </div>
      {asked !== undefined && (
        <EffectBox
          thread={thread}
          action={actionOf(asked, row)}
          version={version}
          what={whatOf(asked, row)}
          name={names[asked]}
          onAct={() => act(asked)}
          onCancel={() => setAsked(undefined)}
        />
      )}
      {note !== undefined && (
        <p role={note.isError ? 'alert' : 'status'} className={note.isError ? 'warning' : 'muted'}>
          {note.text}
        </p>
      )}
    </div>
  )
}

/** Undoing and expanding mean the block, marks its message. */
function actionOf(
  action: Action,
  { id, message, edit = '', isPinned, isExcluded }: BlockRow,
): ThreadAction {
  switch (action) {
    case 'undo':
      return { type: 'undo', id: edit }
    case 'expand':
      return { type: 'expand', id }
    case 'pin':
      return { type: isPinned === true ? 'unpin' : 'pin', id: message }
    case 'exclude':
      return { type: isExcluded === true ? 'include' : 'exclude', id: message }
  }
}

function whatOf(action: Action, { isPinned, isExcluded }: BlockRow): string {
  return {
    undo: 'Takes the edit back and forbids it from now on.',
    expand: 'Shows the original in its place for three steps.',
    pin:
      isPinned === true
        ? 'Later edits may reduce this message again.'
        : 'Keeps this message word for word in every request.',
    exclude:
      isExcluded === true
        ? 'Sends this message again.'
        : 'Leaves this message out of every request.',
  }[action]
}
