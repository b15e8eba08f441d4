// Two views of one log, compared.

import type { ReactNode } from 'react'
import type { Form, ThreadSummary, ThreadView, ViewBlock } from '../contract.ts'
import { FormTag } from '../form-tag.tsx'
import { formatCount, formatPercent, formatTokens } from '../numbers.ts'
import { usualPrices } from '../timeline/cost.ts'
import { VirtualList } from '../virtual-list.tsx'

export interface OutcomeProps {
  readonly thread: ThreadSummary
  readonly now: ThreadView
  readonly other: ThreadView
}

const forms: readonly Form[] = ['full', 'clipped', 'summarized', 'omitted', 'dropped']

export function Outcome({ thread, now, other }: OutcomeProps): ReactNode {
  const before = new Map(now.blocks.map((block) => [`${block.seq}/${block.index}`, block]))
  const different = other.blocks.filter((block) => {
    const own = before.get(`${block.seq}/${block.index}`)
    return own?.form !== block.form || own.text !== block.text
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
              Now
            </th>
            <th scope="col" className="number">
              With this policy
            </th>
          </tr>
        </thead>
        <tbody>
          <Compared name="Tokens" now={now.tokens.after} other={other.tokens.after} />
          <Compared name="Messages" now={now.messages.length} other={other.messages.length} />
          <Compared
            name="Cost of the next request, cache cold"
            now={now.tokens.after * usualPrices.write}
            other={other.tokens.after * usualPrices.write}
          />
          <Compared
            name="Cost of each one after, cache warm"
            now={now.tokens.after * usualPrices.read}
            other={other.tokens.after * usualPrices.read}
          />
          {forms.map((form) => (
            <Compared
              key={form}
              name={`Blocks ${form}`}
              now={countOf(now, form)}
              other={countOf(other, form)}
            />
          ))}
        </tbody>
      </table>
      <p className="muted small">
        Costs are in input tokens at the base price. {formatTokens(thread.tokens.log)} tokens are in
        the log.
      </p>
      <h3>
        {different.length === 0
          ? 'The model would see the same.'
          : `${formatCount(different.length)} blocks would look different`}
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

function countOf({ blocks }: ThreadView, form: Form): number {
  return blocks.filter((block) => block.form === form).length
}

function Compared({
  name,
  now,
  other,
}: {
  readonly name: string
  readonly now: number
  readonly other: number
}): ReactNode {
  const change = now === 0 ? 0 : other / now - 1
  return (
    <tr>
      <th scope="row">{name}</th>
      <td className="number">{formatCount(now)}</td>
      <td className="number">
        {formatCount(other)}
        {Math.abs(change) >= 0.005 && (
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
