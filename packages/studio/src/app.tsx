// Application shell: navigation, and the state that every page needs.

import { type ReactNode, useState } from 'react'
import { chatAddress, shownTenant, useAddress } from './address.ts'
import { ApiError, api } from './api.ts'
import { ChatPage } from './chat/chat-page.tsx'
import type { Info } from './contract.ts'
import { ThreadPage } from './inspector/thread-page.tsx'
import { KeyForm } from './key-form.tsx'
import { useShortcuts } from './keyboard.ts'
import { KeyboardHelp } from './keyboard-help.tsx'
import { Link } from './link.tsx'
import { MemoryPage } from './memory/memory-page.tsx'
import { Empty, Failure, Loading } from './notice.tsx'
import { SettingsPage } from './settings/settings-page.tsx'
import { StartPage } from './start/start-page.tsx'
import { nextTheme, readTheme } from './theme.ts'
import { useConnection } from './use-events.ts'
import { useLoad } from './use-load.ts'

export function App(): ReactNode {
  const { path } = useAddress()
  const info = useLoad('info', (signal) => api.info(signal))
  const [isHelpOpen, setHelpOpen] = useState(false)
  const isLost = useConnection() === 'lost'
  useShortcuts(() => setHelpOpen(true))
  return (
    <div className="app">
      <a className="skip" href="#main">
        Skip to content
      </a>
      <header className="bar">
        <Link href="/threads" className="brand" title="Oriel studio">
          <span className="brand-mark" aria-hidden="true" />
          <span className="brand-name">Oriel</span>
        </Link>
        <nav aria-label="Pages">
          <Link href="/threads" isCurrent={!otherPages.has(path)}>
            Threads
          </Link>
          <Link href={chatAddress} isCurrent={path === '/chat'}>
            Chat
          </Link>
          <Link href="/memory" isCurrent={path === '/memory'}>
            Memory
          </Link>
          <Link href="/settings" isCurrent={path === '/settings'}>
            Settings
          </Link>
        </nav>
        <span className="spacer" />
        {isLost && (
          <span className="warning small" role="status">
            Not live: the gateway does not answer.
          </span>
        )}
        <button type="button" className="quiet" onClick={() => setHelpOpen(true)} title="Keyboard">
          <span aria-hidden="true">?</span>
          <span className="sr-only">Keyboard shortcuts</span>
        </button>
        <ThemeButton />
      </header>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard. */}
      <main id="main" tabIndex={0}>
        {info.error !== undefined && isKeyMissing(info.error) && <KeyForm onSaved={info.reload} />}
        {info.error !== undefined && !isKeyMissing(info.error) && (
          <Failure error={info.error} onRetry={info.reload} />
        )}
        {info.data === undefined && info.error === undefined && <Loading what="the gateway" />}
        {info.data !== undefined && <Page path={path} info={info.data} />}
      </main>
      {isHelpOpen && <KeyboardHelp onClose={() => setHelpOpen(false)} />}
    </div>
  )
}

/** Pages beside the threads. */
const otherPages: ReadonlySet<string> = new Set(['/chat', '/memory', '/settings'])

function isKeyMissing(error: Error): boolean {
  return error instanceof ApiError && (error.status === 401 || error.status === 403)
}

function Page({ path, info }: { readonly path: string; readonly info: Info }): ReactNode {
  if (path === '/chat') return <ChatPage info={info} />
  if (path === '/' || path === '/threads') return <StartPage info={info} />
  if (path === '/memory') return <MemoryPage info={info} />
  if (path === '/settings') return <SettingsPage info={info} />
  const id = threadIn(path)
  if (id !== undefined) return <ThreadPage key={`${shownTenant()} ${id}`} id={id} info={info} />
  return <Empty title="There is no such page.">Chat and Threads are at the top.</Empty>
}

/** The thread id in a path; undefined if it is truncated or malformed. */
function threadIn(path: string): string | undefined {
  const written = /^\/threads\/([^/]+)$/.exec(path)?.[1]
  try {
    return written && decodeURIComponent(written)
  } catch {
    return undefined
  }
}

function ThemeButton(): ReactNode {
  const [theme, setTheme] = useState(readTheme)
  const names = { system: 'as the system', light: 'light', dark: 'dark' }
  const signs = { system: '◐', light: '☀', dark: '☾' }
  return (
    <button
      type="button"
      className="quiet"
      onClick={() => setTheme(nextTheme(theme))}
      title={`Colours: ${names[theme]}`}
    >
      <span aria-hidden="true">{signs[theme]}</span>
      <span className="sr-only">Colours: {names[theme]}. Change</span>
    </button>
  )
}
