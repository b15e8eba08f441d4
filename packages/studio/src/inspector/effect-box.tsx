// What an action does to the next request, told before it is done.

import type { ReactNode } from 'react'
import { api } from '../api.ts'
import type { ActionEffect, ThreadAction } from '../contract.ts'
import { Failure, Loading } from '../notice.tsx'
import { countOf, formatTokens } from '../numbers.ts'
import { useLoad } from '../use-load.ts'

export interface EffectBoxProps {
  readonly thread: string
  readonly action: ThreadAction
  /** Changes when the thread does: the effect is another one then. */
  readonly version: number
  /** What the action does to its block or edit. */
  readonly what: string
  /** On the button. */
  readonly name: string
  readonly onAct: () => void
  readonly onCancel: () => void
}

export function EffectBox(props: EffectBoxProps): ReactNode {
  const { thread, action, version, what, name, onAct, onCancel } = props
  const { data, error, reload } = useLoad(
    `${thread} ${action.type} ${action.id}`,
    (signal) => api.effect(thread, action, signal),
    version,
  )
  return (
    <fieldset className="effect" data-action={action.type}>
      <legend className="sr-only">Effect</legend>
      {error !== undefined && <Failure error={error} onRetry={reload} />}
      {data === undefined && error === undefined && <Loading what="the effect" />}
      {data?.ok === false && <p role="alert">{data.reason}</p>}
      {data?.ok === true && (
        <>
          <p data-tokens={data.tokens.after - data.tokens.before} data-rewritten={data.rewritten}>
            {what} {sentenceOf(data)}
          </p>
          <button type="button" className="primary" onClick={onAct}>
            {name} now
          </button>
        </>
      )}
      <button type="button" onClick={onCancel}>
        Cancel
      </button>
    </fieldset>
  )
}

function sentenceOf({ blocks, tokens: { before, after }, rewritten }: ActionEffect): string {
  if (blocks === 0 && before === after) return 'The next request stays as it is.'
  const more = after - before
  const size =
    more === 0 ? 'as long as now' : `${more > 0 ? '+' : '−'}${formatTokens(Math.abs(more))} tokens`
  return `Next request: ${size} (${formatTokens(before)} → ${formatTokens(after)}), ${countOf(blocks, 'block')} shown otherwise; the provider reads ${formatTokens(rewritten)} tokens anew.`
}
