// What the tab and the history of the browser call the page.

import { useEffect } from 'react'

export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Oriel`
  }, [title])
}
