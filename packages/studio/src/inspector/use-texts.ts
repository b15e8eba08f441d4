// Hook for originals, loaded lazily from the log, a page at a time.

import { useCallback, useEffect, useRef, useState } from 'react'
import { api } from '../api.ts'
import type { BlockRow, Preview } from '../contract.ts'

const pageSize = 100

export type TextOf = (row: Pick<BlockRow, 'seq' | 'index'>) => Preview | undefined

/** The beginning of an original; undefined while it loads. The log never changes, so nothing is loaded twice. */
export function useTexts(thread: string): TextOf {
  const texts = useRef(new Map<string, Preview>())
  const asked = useRef(new Set<number>())
  const [, setCount] = useState(0)
  // biome-ignore lint/correctness/useExhaustiveDependencies: another thread, other texts.
  useEffect(() => {
    texts.current.clear()
    asked.current.clear()
  }, [thread])
  const ask = useCallback(
    async (page: number) => {
      if (asked.current.has(page)) return
      asked.current.add(page)
      try {
        const found = await api.texts(thread, 1 + page * pageSize, pageSize)
        for (const [key, text] of Object.entries(found.texts)) texts.current.set(key, text)
        setCount((before) => before + 1)
      } catch {
        asked.current.delete(page)
      }
    },
    [thread],
  )
  return useCallback(
    ({ seq, index }) => {
      const known = texts.current.get(`${seq}/${index}`)
      if (known !== undefined) return known
      const page = Math.floor((seq - 1) / pageSize)
      // Entries that came since the page was read.
      const isOld = asked.current.has(page) && !hasPage(texts.current, seq)
      if (isOld) asked.current.delete(page)
      // Not during rendering: a cached response would set state at once.
      queueMicrotask(() => void ask(page))
      return undefined
    },
    [ask],
  )
}

/** Whether something of the same message is known: its other blocks came with it. */
function hasPage(texts: ReadonlyMap<string, Preview>, seq: number): boolean {
  return texts.has(`${seq}/0`)
}
