// Settings page: what this gateway is configured with. The configuration rules; the page changes nothing but its own key.

import type { ReactNode } from 'react'
import { key } from '../api.ts'
import type { Info } from '../contract.ts'
import { useTitle } from '../use-title.ts'

export function SettingsPage({ info }: { readonly info: Info }): ReactNode {
  useTitle('Settings')
  const { version, upstreams, agents, defaultPolicy, requestOverrides, hasKeys } = info
  const signOut = (): void => {
    key.clear()
    location.assign('/')
  }
  return (
    <section className="settings" aria-label="Settings">
      <h1>Settings</h1>
      <p className="muted">
        Set by the configuration of the gateway, and read-only here. Version {version}.
      </p>
      <h2>Key</h2>
      <p>
        {hasKeys ? 'This gateway needs a key.' : 'This gateway needs no key.'}{' '}
        {key.read() === undefined
          ? 'This tab holds none.'
          : 'This tab holds one until it is closed.'}
      </p>
      {key.read() !== undefined && (
        <button type="button" onClick={signOut}>
          Sign out
        </button>
      )}
      <h2>Upstreams</h2>
      <ul>
        {upstreams.map(({ name, models }) => (
          <li key={name}>
            <b>{name}</b> <span className="muted">{models?.join(', ') ?? 'every model'}</span>
          </li>
        ))}
      </ul>
      <h2>Agents</h2>
      {agents.length === 0 && <p className="muted">None. A template is a file agents/name.json.</p>}
      <ul>
        {agents.map(({ name, title, model }) => (
          <li key={name}>
            <b>{title ?? name}</b>{' '}
            <span className="muted">{[name, model].filter(Boolean).join(', ')}</span>
          </li>
        ))}
      </ul>
      <h2>Default policy</h2>
      <pre>{JSON.stringify(defaultPolicy, undefined, 2)}</pre>
      <p className="muted">Settings in requests: {requestOverrides}.</p>
    </section>
  )
}
