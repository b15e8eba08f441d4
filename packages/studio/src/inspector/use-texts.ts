// Hook for originals, loaded lazily from the log, a page at a time.

import { useCallback, useEffect, useRef, useState } from 'react'
import { api } from '../api.ts'
import type { BlockRow, Preview } from '../contract.ts'

const pageSize = 100

export type TextOf = (row: Pick<BlockRow, 'seq' | 'index'>) => Preview | undefined

/** The beginning of an original; undefined while it loads. The log never changes, so nothing is loaded twice. */
export function useTexts(thread: string): TextOf {
  const texts = useRef(new Map<string, Preview>())
  /** The newest entry that was there when a page was read; Infinity while it is read. */
  const pages = useRef(new Map<number, number>())
  const [, setCount] = useState(0)
  // biome-ignore lint/correctness/useExhaustiveDependencies: another thread, other texts.
  useEffect(() => {
    texts.current.clear()
    pages.current.clear()
  }, [thread])
  const ask = useCallback(
    async (page: number) => {
      pages.current.set(page, Number.POSITIVE_INFINITY)
      try {
        const found = await api.texts(thread, 1 + page * pageSize, pageSize)
        let newest = 0
        for (const [key, text] of Object.entries(found.texts)) {
          texts.current.set(key, text)
          newest = Math.max(newest, Number(key.split('/')[0]))
        }
        pages.current.set(page, newest)
        setCount((before) => before + 1)
      } catch {
        pages.current.delete(page)
      }
    },
    [thread],
  )
  return useCallback(
    ({ seq, index }) => {
      const known = texts.current.get(`${seq}/${index}`)
      if (known !== undefined) return known
      const page = Math.floor((seq - 1) / pageSize)
      const newest = pages.current.get(page)
      // Not during rendering: a cached response would set state at once.
      if (newest === undefined || seq > newest) {
        queueMicrotask(() => {
          const read = pages.current.get(page)
          if (read === undefined || seq > read) void ask(page)
        })
      }
      return undefined
    },
    [ask],
  )
}
