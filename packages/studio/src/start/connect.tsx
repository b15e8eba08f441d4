// How to connect an agent: base URLs to copy, and what to do first.

import type { ReactNode } from 'react'
import { chatAddress } from '../address.ts'
import type { Info } from '../contract.ts'
import { CopyButton } from '../copy-button.tsx'
import { Link } from '../link.tsx'

/** Folded away where something was sent already. */
export function Connect({ isOpen }: { readonly isOpen: boolean }): ReactNode {
  return (
    <details className="connect" open={isOpen}>
      <summary>Connect an agent</summary>
      <BaseUrls />
    </details>
  )
}

function BaseUrls(): ReactNode {
  const { origin } = location
  const rows = [
    ['OpenAI SDKs and most agents', 'OPENAI_BASE_URL', `${origin}/v1`],
    ['Anthropic SDKs, Claude Code', 'ANTHROPIC_BASE_URL', origin],
  ] as const
  return (
    <dl className="base-urls">
      {rows.map(([who, name, url]) => (
        <div key={name}>
          <dt>{who}</dt>
          <dd>
            <code>
              {name}={url}
            </code>
            <CopyButton text={url} label={`Copy ${url}`} />
          </dd>
        </div>
      ))}
    </dl>
  )
}

/** The page before the first thread. */
export function Welcome({ info }: { readonly info: Info }): ReactNode {
  return (
    <div className="welcome-start">
      <h1 className="headline">No threads yet.</h1>
      <p className="muted">
        Oriel stands between your agents and their model. It keeps everything they said, sends the
        model what it needs, and shows here what was sent, why, and what it cost.
      </p>
      <ol className="steps">
        <li>
          <h2>Point an agent at this gateway</h2>
          <BaseUrls />
        </li>
        <li>
          <h2>Let it work</h2>
          <p className="muted">
            Each conversation becomes a thread and appears here at once.
            {info.isDemo && ' No upstream is set, so a script answers, offline.'}
          </p>
          {info.agents.length > 0 && (
            <Link className="button primary" href={chatAddress}>
              New chat
            </Link>
          )}
        </li>
        <li>
          <h2>Look inside</h2>
          <p className="muted">
            What the model saw at any step, why a message is not sent any more, what each step cost,
            and when the provider’s cache broke.
          </p>
        </li>
      </ol>
    </div>
  )
}
