// URL state: the URL holds everything that is open, so that it can be shared, reloaded and
// navigated back to.

import { useLayoutEffect, useSyncExternalStore } from 'react'

const moved = 'oriel-moved'

/** The chat with the first agent. */
export const chatAddress = '/chat?debug=true'

/**
 * URL of a thread. Thread ids are unique per tenant only, so a foreign thread's URL names its
 * tenant; links within its page keep it.
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

/** The tenant of the shown thread; undefined for the caller's own. */
export function shownTenant(): string | undefined {
  return new URLSearchParams(location.search).get('tenant') ?? undefined
}

export interface Address {
  readonly path: string
  readonly params: URLSearchParams
}

/** The current URL; the component re-renders when it changes. */
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

/** Entry of the browser history: the scroll position of a page. */
interface Left {
  readonly top: number | undefined
}

function scroller(): HTMLElement | null {
  return document.querySelector('main')
}

/** Restores the scroll position of a revisited page as soon as its content is loaded. */
export function useLeftPlace(isThere: boolean): void {
  useLayoutEffect(() => {
    const main = scroller()
    if (isThere && main !== null) main.scrollTop = (history.state as Left | null)?.top ?? 0
  }, [isThere])
}

/** Sets query parameters of the current URL; undefined removes one. */
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
