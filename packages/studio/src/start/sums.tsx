// The sums over all threads: spent, saved, cache, folds, breaks; and by day.

import type { ReactNode } from 'react'
import { causeName } from '../causes.ts'
import type { Overview } from '../contract.ts'
import {
  countOf,
  formatCount,
  formatDollars,
  formatPercent,
  formatTokens,
  listed,
  unpriced,
} from '../numbers.ts'
import { Tile } from '../tile.tsx'

export interface SumsProps {
  readonly overview: Overview
  readonly isDemo: boolean
}

export function Sums({ overview, isDemo }: SumsProps): ReactNode {
  const { cost, usage, folds, edits, breaks, requests, sent, expansions, recoveries } = overview
  const input = usage.uncached + usage.cacheRead + usage.cacheWrite
  const saved = cost === undefined ? 0 : cost.withoutOriel - cost.dollars
  const avoided = sent.log - sent.view
  return (
    <>
      <dl className="tiles" data-sums="">
        <Tile
          name="Spent"
          value={cost === undefined ? '–' : formatDollars(cost.dollars)}
          note={
            cost === undefined
              ? `no known price for ${countOf(requests, 'request')}`
              : listed([countOf(requests, 'request'), unpriced(cost.unpricedCalls)])
          }
        />
        <Tile
          name={saved < 0 ? 'Cost more' : 'Saved'}
          value={cost === undefined ? '–' : formatDollars(Math.abs(saved))}
          note={
            cost === undefined || cost.withoutOriel === 0
              ? `${formatTokens(avoided)} tokens not sent`
              : `${formatPercent(Math.abs(saved) / cost.withoutOriel)} of ${formatDollars(cost.withoutOriel)} in full`
          }
          tone={saved > 0 ? 'good' : undefined}
        />
        <Tile
          name="Cache hits"
          value={input === 0 ? '–' : formatPercent(usage.cacheRead / input)}
          note={`of ${formatTokens(input)} input tokens`}
        />
        <Tile
          name="Folds"
          value={formatCount(folds)}
          note={listed([
            countOf(edits, 'edit'),
            `${formatCount(expansions)} looked up again`,
            recoveries === 0
              ? ''
              : `${formatCount(recoveries)} ${recoveries === 1 ? 'recovery' : 'recoveries'}`,
          ])}
        />
        <Tile
          name="Cache breaks"
          value={formatCount(breaks.count)}
          note={
            breaks.count === 0
              ? 'the cache held'
              : `${causesOf(breaks.causes)}${
                  breaks.dollars === undefined ? '' : `; ${formatDollars(breaks.dollars)} lost`
                }`
          }
        />
      </dl>
      {overview.days.length > 1 && <Days days={overview.days} />}
      {(isDemo || overview.isPartial) && (
        <p className="muted small start-note">
          {isDemo && 'Demo prices: $3 and $15 for a million input and output tokens. '}
          {overview.isPartial && 'There are more threads than could be read in time.'}
        </p>
      )}
    </>
  )
}

function causesOf(causes: Readonly<Record<string, number>>): string {
  return Object.entries(causes)
    .sort(([, a], [, b]) => b - a)
    .map(([cause, count]) => `${formatCount(count)} ${causeName(cause)}`)
    .join(', ')
}

function Days({ days }: { readonly days: Overview['days'] }): ReactNode {
  const most = Math.max(...days.map(({ dollars, withoutOriel }) => Math.max(dollars, withoutOriel)))
  if (most === 0) return null
  return (
    <ol className="days" aria-label="Dollars by day: spent, and saved">
      {days.map(({ day, dollars, withoutOriel }) => (
        <li
          key={day}
          title={`${day}: ${formatDollars(dollars)} spent, ${formatDollars(withoutOriel)} for everything in full`}
        >
          <span className="day-bar" aria-hidden="true">
            <i style={{ height: `${(100 * Math.max(0, withoutOriel - dollars)) / most}%` }} />
            <b style={{ height: `${(100 * dollars) / most}%` }} />
          </span>
          <span className="small muted">{day.slice(5)}</span>
        </li>
      ))}
    </ol>
  )
}
