// Placeholders for missing content: loading, empty, failed.

import type { ReactNode } from 'react'

export function Loading({ what }: { readonly what: string }): ReactNode {
  return (
    <div className="notice" role="status">
      <span className="spinner" aria-hidden="true" />
      Loading {what}…
    </div>
  )
}

export function Empty(props: { readonly title: string; readonly children?: ReactNode }): ReactNode {
  return (
    <div className="notice notice-empty">
      <strong>{props.title}</strong>
      <div>{props.children}</div>
    </div>
  )
}

export interface FailureProps {
  readonly error: Error
  readonly onRetry?: () => void
}

export function Failure({ error, onRetry }: FailureProps): ReactNode {
  return (
    <div className="notice notice-failure" role="alert">
      <strong>{error.message}</strong>
      {onRetry && (
        <button type="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  )
}
