// Comparison of three policies on one log: send everything, the thread's own, and the one to try.

import type { ReactNode } from 'react'
import type { Form, OtherView, ViewBlock } from '../contract.ts'
import { FormTag } from '../form-tag.tsx'
import { formatCount, formatDollars, formatPercent, formatTokens } from '../numbers.ts'
import { VirtualList } from '../virtual-list.tsx'

export interface OutcomeProps {
  /** All from the first message on. */
  readonly everything: OtherView
  readonly own: OtherView
  readonly other: OtherView
}

const forms: readonly Form[] = ['full', 'clipped', 'summarized', 'omitted', 'dropped']

export function Outcome({ everything, own, other }: OutcomeProps): ReactNode {
  const before = new Map(own.blocks.map((block) => [`${block.seq}/${block.index}`, block]))
  const different = other.blocks.filter((block) => {
    const mine = before.get(`${block.seq}/${block.index}`)
    return mine?.form !== block.form || mine.text !== block.text
  })
  const all = [everything, own, other] as const
  const hasReplay = all.every(({ replay }) => replay !== undefined)
  return (
    <>
      <table className="compare">
        <thead>
          <tr>
            <th scope="col">
              <span className="sr-only">What</span>
            </th>
            {['Send everything', 'Now', 'This policy'].map((name) => (
              <th key={name} scope="col" className="number">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          <Compared
            name="Tokens of the next request"
            values={all.map(({ tokens }) => tokens.after)}
            format={formatTokens}
          />
          <Compared
            name="Messages in it"
            values={all.map(({ messages }) => messages.length)}
            format={formatCount}
            isNeutral
          />
          {hasReplay && <ReplayRows views={all} />}
          {forms.map((form) => (
            <Compared
              key={form}
              name={`Blocks ${form}`}
              values={all.map((view) => countOf(view, form))}
              format={formatCount}
              isNeutral
            />
          ))}
        </tbody>
      </table>
      <p className="muted small">
        {hasReplay
          ? 'Replayed from the first message on, without a summarizing model. What begins like the request before is read from the cache, the rest is written to it.'
          : 'This thread has more than 2,000 messages: only its next request is compared, not the cost of every step.'}
      </p>
      <h3>
        {different.length === 0
          ? 'The model would see the same as now.'
          : `${formatCount(different.length)} ${different.length === 1 ? 'block' : 'blocks'} would look different`}
      </h3>
      {different.length > 0 && (
        <VirtualList
          label="Blocks that would look different"
          count={different.length}
          guess={64}
          resetKey={other.id}
          keyOf={(index) => `${different[index]?.seq}/${different[index]?.index}`}
          renderRow={(index) => (
            <Different
              block={different[index]}
              before={before.get(`${different[index]?.seq}/${different[index]?.index}`)}
            />
          )}
        />
      )}
    </>
  )
}

/** What all steps together would have sent and cost. */
function ReplayRows({ views }: { readonly views: readonly OtherView[] }): ReactNode {
  const replays = views.map(({ replay }) => replay)
  const isPriced = replays.every((replay) => replay?.dollars !== undefined)
  return (
    <>
      {isPriced && (
        <Compared
          name={`Input cost of all ${formatCount(replays[0]?.steps ?? 0)} steps`}
          values={replays.map((replay) => replay?.dollars ?? 0)}
          format={formatDollars}
        />
      )}
      <Compared
        name="Input tokens of all steps"
        values={replays.map((replay) => replay?.input ?? 0)}
        format={formatTokens}
      />
      <Compared
        name="Of them from the cache"
        values={replays.map((replay) =>
          replay === undefined || replay.input === 0 ? 0 : replay.repeated / replay.input,
        )}
        format={formatPercent}
        isNeutral
      />
      <Compared
        name="Cache breaks"
        values={replays.map((replay) => replay?.breaks ?? 0)}
        format={formatCount}
        isNeutral
      />
      <Compared
        name="Folds"
        values={replays.map((replay) => replay?.folds ?? 0)}
        format={formatCount}
        isNeutral
      />
    </>
  )
}

function countOf({ blocks }: OtherView, form: Form): number {
  return blocks.filter((block) => block.form === form).length
}

interface ComparedProps {
  readonly name: string
  /** Everything, now, this. */
  readonly values: readonly number[]
  readonly format: (value: number) => string
  /** Neither direction is better. */
  readonly isNeutral?: boolean
}

function Compared({ name, values, format, isNeutral = false }: ComparedProps): ReactNode {
  const [everything = 0, own = 0, other = 0] = values
  const change = everything === 0 ? 0 : other / everything - 1
  return (
    <tr>
      <th scope="row">{name}</th>
      <td className="number">{format(everything)}</td>
      <td className="number">{format(own)}</td>
      <td className="number">
        {format(other)}
        {!isNeutral && Math.abs(change) >= 0.005 && (
          <span className={change < 0 ? 'better' : 'worse'}>
            {' '}
            {change < 0 ? '−' : '+'}
            {formatPercent(Math.abs(change))}
          </span>
        )}
      </td>
    </tr>
  )
}

interface DifferentProps {
  readonly block: ViewBlock | undefined
  readonly before: ViewBlock | undefined
}

function Different({ block, before }: DifferentProps): ReactNode {
  if (block === undefined) return null
  return (
    <div className="different">
      <div className="why">
        <span className="row-seq">{block.seq}</span>
        <span>{block.role}</span>
        <FormTag form={before?.form ?? 'full'} /> → <FormTag form={block.form} />
        {block.rule !== undefined && <b>{block.rule}</b>}
        <span className="muted">{block.reason}</span>
      </div>
      <div className="preview">{block.text.slice(0, 300)}</div>
    </div>
  )
}
