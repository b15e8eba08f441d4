// Hook for originals, loaded lazily from the log, a page at a time, with what the request shows in the place of reduced ones.

import { useCallback, useEffect, useRef, useState } from 'react'
import { api } from '../api.ts'
import type { BlockRow, Preview } from '../contract.ts'

const pageSize = 100

export type TextOf = (row: Pick<BlockRow, 'seq' | 'index' | 'form'>) => Preview | undefined

interface Loaded {
  readonly preview: Preview
  /** The outline that it was loaded for. */
  readonly of: string
}

/**
 * The beginning of an original; undefined while it loads. `of` names the outline. The log never changes, so that an original is loaded once;
 * what stands in the place of reduced ones is loaded for each outline.
 */
export function useTexts(thread: string, of: string): TextOf {
  const texts = useRef(new Map<string, Loaded>())
  /** Pages that were asked for, by outline and number, each with the newest entry that it had; Infinity while it is read. */
  const pages = useRef(new Map<string, number>())
  const [, setCount] = useState(0)
  // biome-ignore lint/correctness/useExhaustiveDependencies: another thread, other texts.
  useEffect(() => {
    texts.current.clear()
    pages.current.clear()
  }, [thread])
  const ask = useCallback(
    async (page: number) => {
      const key = `${of} ${page}`
      pages.current.set(key, Number.POSITIVE_INFINITY)
      try {
        const found = await api.texts(thread, { from: 1 + page * pageSize, limit: pageSize, of })
        let newest = 0
        for (const [name, preview] of Object.entries(found.texts)) {
          texts.current.set(name, { preview, of })
          newest = Math.max(newest, Number(name.split('/')[0]))
        }
        pages.current.set(key, newest)
        setCount((before) => before + 1)
      } catch {
        pages.current.delete(key)
      }
    },
    [thread, of],
  )
  return useCallback(
    ({ seq, index, form }) => {
      const known = texts.current.get(`${seq}/${index}`)
      const isReduced = form !== 'full' && form !== 'dropped'
      if (known !== undefined && (!isReduced || known.of === of)) return known.preview
      const page = Math.floor((seq - 1) / pageSize)
      const isMissing = (): boolean => {
        const newest = pages.current.get(`${of} ${page}`)
        return newest === undefined || seq > newest
      }
      // Not during rendering: a cached response would set state at once.
      if (isMissing()) queueMicrotask(() => isMissing() && void ask(page))
      if (known === undefined) return undefined
      const { shown: _shown, rest: _rest, ...original } = known.preview
      return original
    },
    [ask, of],
  )
}
