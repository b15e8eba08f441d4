// Debug panel: active settings with their sources, and the composition of the last request
// (document 002's panel and more).

import type { ReactNode } from 'react'
import { api } from '../api.ts'
import type { Source } from '../contract.ts'
import { Failure, Loading } from '../notice.tsx'
import { countOf, formatCount, formatDollars, formatPercent, formatTokens } from '../numbers.ts'
import { useLoad } from '../use-load.ts'
import type { ChatMessage } from './messages.ts'
import type { Sent } from './use-sent.ts'

export interface DebugPanelProps {
  readonly parameters: string
  readonly messages: readonly ChatMessage[]
  readonly sent: Sent | undefined
  readonly hasThread: boolean
}

const names: Readonly<Record<Source, string>> = {
  environment: 'environment',
  request: 'URL',
  agent: 'agent',
  default: 'default',
}

export function DebugPanel({ parameters, messages, sent, hasThread }: DebugPanelProps): ReactNode {
  const settings = useLoad(parameters, (signal) => api.settings(parameters, signal))
  const { data } = settings
  const policy = data?.chat.historyPolicy
  return (
    <aside className="panel" aria-label="Debug panel">
      <h2>History</h2>
      {settings.error !== undefined && <Failure error={settings.error} onRetry={settings.reload} />}
      <dl className="facts">
        <Fact name="Policy" value={policy} source={data?.sources['history.policy']} />
        <Fact
          name="Length"
          value={data === undefined ? undefined : String(data.chat.historyLength ?? '–')}
          source={data?.sources['history.length']}
        />
        <Fact name="Messages" value={formatCount(messages.length)} />
        <Fact
          name="In the view"
          value={
            hasThread
              ? sent?.messages === undefined
                ? undefined
                : formatCount(sent.messages)
              : '0'
          }
        />
      </dl>
      {data?.warnings.map((warning) => (
        <p className="warning" role="alert" key={warning}>
          {warning}
        </p>
      ))}
      <h2>Last request</h2>
      {hasThread ? <LastRequest sent={sent} /> : <p className="muted">Nothing was sent yet.</p>}
      {data !== undefined && (
        <details>
          <summary>Whole policy</summary>
          <pre>{JSON.stringify(data.policy, undefined, 2)}</pre>
        </details>
      )}
    </aside>
  )
}

function LastRequest({ sent }: { readonly sent: Sent | undefined }): ReactNode {
  if (sent === undefined) return <Loading what="the last request" />
  const { thread, step, epoch } = sent
  const { tokens, cost, usage } = thread
  const input = usage.uncached + usage.cacheRead + usage.cacheWrite
  const saved = cost === undefined ? 0 : cost.withoutOriel - cost.dollars
  return (
    <dl className="facts">
      <Fact name="Step" value={step && String(step.step)} />
      <Fact name="Tokens in the log" value={formatTokens(tokens.log)} />
      <Fact name="Tokens in the view" value={formatTokens(tokens.view)} />
      <Fact name="Input so far" value={`${formatTokens(input)} tokens`} />
      <Fact name="From the cache" value={formatPercent(usage.cacheRead / Math.max(1, input))} />
      <Fact
        name="Cost so far"
        value={cost === undefined ? 'price unknown' : formatDollars(cost.dollars)}
      />
      {cost !== undefined && (
        <Fact
          name={saved < 0 ? 'Cost more' : 'Saved'}
          value={
            saved === 0
              ? '$0'
              : `${formatDollars(Math.abs(saved))} (${formatPercent(Math.abs(saved) / cost.withoutOriel)})`
          }
        />
      )}
      <Fact
        name="Last edits"
        value={
          epoch === undefined
            ? 'none'
            : `step ${epoch.step}, ${countOf(epoch.edits, 'edit')} (${epoch.rules.join(', ')})`
        }
      />
    </dl>
  )
}

function Fact(props: {
  readonly name: string
  readonly value: string | undefined
  readonly source?: Source | undefined
}): ReactNode {
  const { name, value, source } = props
  return (
    <div>
      <dt>{name}</dt>
      <dd data-fact={name}>
        {value ?? '…'}
        {source !== undefined && (
          <span className={`source source-${source}`} title={`Set by: ${names[source]}`}>
            {names[source]}
          </span>
        )}
      </dd>
    </div>
  )
}
