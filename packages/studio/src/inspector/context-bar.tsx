// What fills the context window: one bar by category, against the model's window. A category filters the rows below.

import type { ReactNode } from 'react'
import { setParams, useAddress } from '../address.ts'
import type { Composition, ContextCategory } from '../contract.ts'
import { formatCount, formatPercent, formatTokens } from '../numbers.ts'

export const categoryNames: Readonly<Record<ContextCategory, string>> = {
  system: 'System',
  tools: 'Tools',
  summary: 'Summary',
  directives: 'Directives',
  user: 'User',
  assistant: 'Assistant',
  results: 'Results',
}

export const categories = Object.keys(categoryNames) as readonly ContextCategory[]

export interface ContextBarProps {
  readonly context: Composition
  /** Which request it is. */
  readonly title: string
}

export function ContextBar({ context, title }: ContextBarProps): ReactNode {
  const { params } = useAddress()
  const chosen = params.get('only')
  const { tokens, used, window: size, free } = context
  const whole = size === undefined ? used : Math.max(size, used)
  const found = categories.filter((name) => tokens[name] > 0)
  const width = (part: number): string => `${whole === 0 ? 0 : (100 * part) / whole}%`
  return (
    <section className="context" aria-label="Context window">
      <p className="context-title">
        <span>{title}</span>
        <b data-context-used={used} title={`${formatCount(used)} tokens`}>
          {formatTokens(used)}
        </b>
        {size !== undefined && (
          <span className="muted">
            of {formatTokens(size)} ({formatPercent(used / size)})
          </span>
        )}
      </p>
      <div className="context-bar" aria-hidden="true">
        {found.map((name) => (
          <span
            key={name}
            className={`part part-${name}${chosen !== null && chosen !== name ? ' is-dim' : ''}`}
            style={{ width: width(tokens[name]) }}
            title={`${categoryNames[name]}: ${formatCount(tokens[name])} tokens`}
          />
        ))}
      </div>
      <ul className="context-legend">
        {found.map((name) => (
          <li key={name}>
            <button
              type="button"
              className="quiet legend-item"
              aria-pressed={chosen === name}
              data-category={name}
              data-tokens={tokens[name]}
              onClick={() =>
                setParams({
                  only: chosen === name ? undefined : name,
                  tab: undefined,
                  block: undefined,
                })
              }
            >
              <i className={`dot part-${name}`} aria-hidden="true" />
              {categoryNames[name]} <span className="tokens">{formatTokens(tokens[name])}</span>
            </button>
          </li>
        ))}
        {free !== undefined && (
          <li className="legend-item legend-free">
            <i className="dot part-free" aria-hidden="true" />
            Free <span className="tokens">{formatTokens(free)}</span>
          </li>
        )}
      </ul>
    </section>
  )
}
