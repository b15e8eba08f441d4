// Debounce hook.

import { useCallback, useEffect, useRef } from 'react'

export function useDebounced(action: () => void, delayMs = 200): () => void {
  const latest = useRef(action)
  latest.current = action
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  return useCallback(() => {
    clearTimeout(timer.current)
    timer.current = setTimeout(() => latest.current(), delayMs)
  }, [delayMs])
}
