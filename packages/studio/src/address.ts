// The address bar is the page's memory: what is open can be shared, reloaded and gone back from.

import { useLayoutEffect, useSyncExternalStore } from 'react'

const moved = 'oriel-moved'

/** The chat with the first agent that there is. */
export const chatAddress = '/chat?debug=true'

/**
 * The address of a thread. Callers may have named theirs alike, so another one's says whose it is; links within its page stay with it.
 */
export function threadAddress(
  id: string,
  params: Readonly<Record<string, string | undefined>> = {},
): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries({ tenant: shownTenant(), ...params })) {
    if (value !== undefined) search.set(name, value)
  }
  return `/threads/${encodeURIComponent(id)}${search.size === 0 ? '' : `?${search}`}`
}

/** Whose thread the page shows; undefined is the caller's own. */
export function shownTenant(): string | undefined {
  return new URLSearchParams(location.search).get('tenant') ?? undefined
}

export interface Address {
  readonly path: string
  readonly params: URLSearchParams
}

/** The current address; the component renders again when it changes. */
export function useAddress(): Address {
  const href = useSyncExternalStore(subscribe, () => location.href)
  const { pathname, searchParams } = new URL(href)
  return { path: pathname, params: searchParams }
}

function subscribe(onChange: () => void): () => void {
  addEventListener('popstate', onChange)
  addEventListener(moved, onChange)
  return () => {
    removeEventListener('popstate', onChange)
    removeEventListener(moved, onChange)
  }
}

export function go(href: string, how: 'push' | 'replace' = 'push'): void {
  if (how === 'push') {
    history.replaceState({ top: scroller()?.scrollTop } satisfies Left, '')
    history.pushState(null, '', href)
  } else {
    history.replaceState(null, '', href)
  }
  dispatchEvent(new Event(moved))
}

/** What the history of the browser holds of a page that was left: how far it was scrolled. */
interface Left {
  readonly top: number | undefined
}

function scroller(): HTMLElement | null {
  return document.querySelector('main')
}

/** Brings a page that somebody comes back to where it was left, as soon as its content is there. */
export function useLeftPlace(isThere: boolean): void {
  useLayoutEffect(() => {
    const main = scroller()
    if (isThere && main !== null) main.scrollTop = (history.state as Left | null)?.top ?? 0
  }, [isThere])
}

/** Sets parameters of the current address; undefined takes one away. */
export function setParams(
  values: Readonly<Record<string, string | undefined>>,
  how: 'push' | 'replace' = 'replace',
): void {
  const url = new URL(location.href)
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined || value === '') url.searchParams.delete(name)
    else url.searchParams.set(name, value)
  }
  go(`${url.pathname}${url.search}`, how)
}
