// Comparison of two views of one log.

import type { ReactNode } from 'react'
import type { Form, OtherView, ViewBlock } from '../contract.ts'
import { FormTag } from '../form-tag.tsx'
import { formatCount, formatPercent } from '../numbers.ts'
import { usualPrices } from '../timeline/cost.ts'
import { VirtualList } from '../virtual-list.tsx'

export interface OutcomeProps {
  /** Both from the first message on: under the thread's own policy, and under the other. */
  readonly own: OtherView
  readonly other: OtherView
}

const forms: readonly Form[] = ['full', 'clipped', 'summarized', 'omitted', 'dropped']

export function Outcome({ own, other }: OutcomeProps): ReactNode {
  const before = new Map(own.blocks.map((block) => [`${block.seq}/${block.index}`, block]))
  const different = other.blocks.filter((block) => {
    const mine = before.get(`${block.seq}/${block.index}`)
    return mine?.form !== block.form || mine.text !== block.text
  })
  return (
    <>
      <table className="compare">
        <thead>
          <tr>
            <th scope="col">
              <span className="sr-only">What</span>
            </th>
            <th scope="col" className="number">
              Its own policy
            </th>
            <th scope="col" className="number">
              This policy
            </th>
          </tr>
        </thead>
        <tbody>
          <Compared name="Tokens in the view" own={own.tokens.after} other={other.tokens.after} />
          <Compared
            name="Messages in the view"
            own={own.messages.length}
            other={other.messages.length}
          />
          {own.replay !== undefined && other.replay !== undefined && (
            <>
              <Compared
                name={`Input of all ${own.replay.steps} steps`}
                own={own.replay.input}
                other={other.replay.input}
              />
              <Compared name="Cost of that input" own={costOf(own)} other={costOf(other)} />
            </>
          )}
          {forms.map((form) => (
            <Compared
              key={form}
              name={`Blocks ${form}`}
              own={countOf(own, form)}
              other={countOf(other, form)}
              isNeutral
            />
          ))}
        </tbody>
      </table>
      <p className="muted small">
        Cost in input tokens at the base price: what begins like the request before counts{' '}
        {usualPrices.read}, the rest {usualPrices.write}. Played again without a summarizing model,
        and without the frame.
      </p>
      <h3>
        {different.length === 0
          ? 'The model would see the same.'
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

function countOf({ blocks }: OtherView, form: Form): number {
  return blocks.filter((block) => block.form === form).length
}

function costOf({ replay }: OtherView): number {
  if (replay === undefined) return 0
  const { input, repeated } = replay
  return repeated * usualPrices.read + (input - repeated) * usualPrices.write
}

interface ComparedProps {
  readonly name: string
  readonly own: number
  readonly other: number
  /** Neither direction is better. */
  readonly isNeutral?: boolean
}

function Compared({ name, own, other, isNeutral = false }: ComparedProps): ReactNode {
  const change = own === 0 ? 0 : other / own - 1
  return (
    <tr>
      <th scope="row">{name}</th>
      <td className="number">{formatCount(own)}</td>
      <td className="number">
        {formatCount(other)}
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
