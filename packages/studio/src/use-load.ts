// Data loading hook: loading, loaded or failed. Keeps stale data while reloading and while the
// gateway is unreachable.

import { useCallback, useEffect, useRef, useState } from 'react'
import { isUnreachable } from './api.ts'

export interface Loaded<T> {
  readonly data?: T
  readonly error?: Error
  readonly isLoading: boolean
  readonly reload: () => void
}

/**
 * Reloads when `key` changes, and, with stale data still shown, when `version` does. Discards late
 * responses. Loads nothing without a key.
 */
export function useLoad<T>(
  key: string | undefined,
  load: (signal: AbortSignal) => Promise<T>,
  version = 0,
): Loaded<T> {
  const [count, setCount] = useState(0)
  const [answer, setAnswer] = useState<{ key?: string; data?: T; error?: Error }>({})
  const [isLoading, setLoading] = useState(key !== undefined)
  const latest = useRef(load)
  latest.current = load
  const reload = useCallback(() => setCount((before) => before + 1), [])
  // biome-ignore lint/correctness/useExhaustiveDependencies: asked again on request.
  useEffect(() => {
    if (key === undefined) {
      setAnswer({})
      setLoading(false)
      return
    }
    const controller = new AbortController()
    setLoading(true)
    latest.current(controller.signal).then(
      (data) => {
        if (controller.signal.aborted) return
        setAnswer({ key, data })
        setLoading(false)
      },
      (error: Error) => {
        if (controller.signal.aborted) return
        const mayStay = isUnreachable(error)
        setAnswer((before) =>
          mayStay && before.key === key && before.data !== undefined ? before : { key, error },
        )
        setLoading(false)
      },
    )
    return () => controller.abort()
  }, [key, count, version])
  const { data, error } = answer
  const isCurrent = answer.key === key
  return {
    ...(data !== undefined && isCurrent ? { data } : {}),
    ...(error !== undefined && isCurrent ? { error } : {}),
    isLoading: isLoading || (!isCurrent && key !== undefined),
    reload,
  }
}
