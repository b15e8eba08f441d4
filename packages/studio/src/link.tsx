// Client-side link: navigates without a page load, but can still be opened in a new tab.

import type { MouseEvent, ReactNode } from 'react'
import { go } from './address.ts'

export interface LinkProps {
  readonly href: string
  readonly className?: string
  readonly isCurrent?: boolean
  readonly title?: string | undefined
  readonly children: ReactNode
}

export function Link({
  href,
  className,
  isCurrent = false,
  title,
  children,
}: LinkProps): ReactNode {
  const onClick = (event: MouseEvent): void => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey || event.button !== 0)
      return
    event.preventDefault()
    go(href)
  }
  return (
    <a
      href={href}
      className={className}
      title={title}
      onClick={onClick}
      aria-current={isCurrent ? 'page' : undefined}
    >
      {children}
    </a>
  )
}
