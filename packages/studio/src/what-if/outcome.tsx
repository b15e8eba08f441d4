// Comparison of three policies on one log: send everything, the thread's own, and the one to try.

import type { ReactNode } from 'react'
import type { Comparison, DifferentBlock, Form, PolicyOutcome, ThreadSummary } from '../contract.ts'
import { FormTag } from '../form-tag.tsx'
import { countOf, formatCount, formatDollars, formatPercent, formatTokens } from '../numbers.ts'

const forms: readonly Form[] = ['full', 'clipped', 'summarized', 'omitted', 'dropped']

export interface OutcomeProps {
  readonly thread: ThreadSummary
  readonly comparison: Comparison
}

export function Outcome({ thread, comparison }: OutcomeProps): ReactNode {
  const { outcomes: all, different } = comparison
  const hasReplay = all.every(({ replay }) => replay !== undefined)
  const isPriced = all.every(({ replay }) => replay?.dollars !== undefined)
  return (
    <>
      {hasReplay && <AsItWent thread={thread} />}
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
            values={all.map(({ tokens }) => tokens)}
            format={formatTokens}
          />
          <Compared
            name="Messages in it"
            values={all.map(({ messages }) => messages)}
            format={formatCount}
            isNeutral
          />
          {hasReplay && <ReplayRows outcomes={all} />}
          {(all[0]?.rules.stated ?? 0) > 0 && (
            <Compared
              name={`Standing instructions kept, of ${formatCount(all[0]?.rules.stated ?? 0)}`}
              values={all.map(({ rules }) => rules.kept)}
              format={formatCount}
              isNeutral
            />
          )}
          {forms
            .filter((form) => all.some((one) => one.forms[form] > 0))
            .map((form) => (
              <Compared
                key={form}
                name={`Blocks ${form}`}
                values={all.map((one) => one.forms[form])}
                format={formatCount}
                isNeutral
              />
            ))}
        </tbody>
      </table>
      <p className="muted small">
        {hasReplay
          ? 'No model is asked for summaries. What begins like the request before is read from the cache, the rest is written to it. A fact is a value that a later call or answer used; one that is not in sight may still be looked up by its id.'
          : 'This thread has more than 2,000 messages: only its next request is compared, not the cost of every step.'}
        {hasReplay &&
          !isPriced &&
          ` The price of ${thread.model ?? 'its model'} is not known: there are tokens, and no dollars.`}
      </p>
      <h2>
        {different.count === 0
          ? 'The model would see the same as now.'
          : `${formatCount(different.count)} ${different.count === 1 ? 'block' : 'blocks'} would look different`}
      </h2>
      {different.count > 0 && (
        <ul className="different-list" aria-label="Blocks that would look different">
          {different.blocks.map((block) => (
            <Different key={`${block.seq}/${block.index}`} block={block} />
          ))}
        </ul>
      )}
      {different.count > different.blocks.length && (
        <p className="muted small">The first {formatCount(different.blocks.length)} are listed.</p>
      )}
    </>
  )
}

/** A replay is not what happened: what happened stands beside it, in the numbers of all other pages. */
function AsItWent({ thread }: { readonly thread: ThreadSummary }): ReactNode {
  const { requests, cost, tokens, folds, breaks, usage } = thread
  const input = usage.uncached + usage.cacheRead + usage.cacheWrite
  return (
    <p className="muted as-it-went">
      All three columns are replayed from the first message on, so that they are counted alike.
      {requests > 0 &&
        ` As it went, the newest request had ${formatTokens(tokens.view)} tokens; all of them had ${formatTokens(input)} with ${countOf(folds, 'fold')} and ${countOf(breaks.count, 'cache break')}${cost === undefined ? '' : `, for ${formatDollars(cost.dollars)} with the answers`}.`}
    </p>
  )
}

/** What all steps together would have sent, cost and kept. */
function ReplayRows({ outcomes }: { readonly outcomes: readonly PolicyOutcome[] }): ReactNode {
  const replays = outcomes.flatMap(({ replay }) => replay ?? [])
  const isPriced = replays.every((replay) => replay.dollars !== undefined)
  const needed = replays[0]?.facts.needed ?? 0
  return (
    <>
      {isPriced && (
        <Compared
          name={`Input cost of all ${formatCount(replays[0]?.steps ?? 0)} steps`}
          values={replays.map(({ dollars = 0 }) => dollars)}
          format={formatDollars}
        />
      )}
      <Compared
        name="Input tokens of all steps"
        values={replays.map(({ input }) => input)}
        format={formatTokens}
      />
      <Compared
        name="Of them from the cache"
        values={replays.map(({ cached, input }) => (input === 0 ? 0 : cached / input))}
        format={formatPercent}
        isNeutral
      />
      <Compared
        name="Cache breaks"
        values={replays.map(({ breaks }) => breaks)}
        format={formatCount}
        isNeutral
      />
      <Compared
        name="Folds"
        values={replays.map(({ folds }) => folds)}
        format={formatCount}
        isNeutral
      />
      {needed > 0 && (
        <>
          <Compared
            name={`Facts in sight, of ${formatCount(needed)}`}
            values={replays.map(({ facts }) => facts.visible / Math.max(1, facts.needed))}
            format={formatPercent}
            isNeutral
          />
          <Compared
            name="Facts out of reach"
            values={replays.map(({ facts }) => facts.lost)}
            format={formatCount}
            isNeutral
          />
        </>
      )}
    </>
  )
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

function Different({ block }: { readonly block: DifferentBlock }): ReactNode {
  return (
    <li className="different">
      <div className="why">
        <span className="row-seq">{block.seq}</span>
        <span>{block.role}</span>
        <FormTag form={block.before} /> → <FormTag form={block.form} />
        {block.rule !== undefined && <b>{block.rule}</b>}
        <span className="muted">{block.reason}</span>
      </div>
      <div className="preview">{block.text}</div>
    </li>
  )
}
