// Hook for originals of reduced blocks, loaded lazily from the log, a page at a time.

import { useCallback, useEffect, useRef, useState } from 'react'
import { api } from '../api.ts'
import { textOf } from '../block-text.ts'
import type { Entry, ViewBlock } from '../contract.ts'

const pageSize = 100

export type OriginalOf = (block: ViewBlock) => string | undefined

/** The logged text of a block; undefined while loading. A full block is its own original. */
export function useOriginals(thread: string): OriginalOf {
  const entries = useRef(new Map<number, Entry>())
  const asked = useRef(new Set<number>())
  const [, setCount] = useState(0)
  // biome-ignore lint/correctness/useExhaustiveDependencies: another thread, other entries.
  useEffect(() => {
    entries.current.clear()
    asked.current.clear()
  }, [thread])
  const ask = useCallback(
    async (page: number) => {
      if (asked.current.has(page)) return
      asked.current.add(page)
      try {
        const found = await api.log(thread, 1 + page * pageSize, pageSize)
        for (const entry of found.entries) entries.current.set(entry.seq, entry)
        setCount((before) => before + 1)
      } catch {
        // Retry at the next access.
        asked.current.delete(page)
      }
    },
    [thread],
  )
  return useCallback(
    (block) => {
      if (block.form === 'full' && block.text.length < 20_000) return block.text
      const entry = entries.current.get(block.seq)
      if (entry?.type === 'message') {
        const own = entry.blocks[block.index]
        return own === undefined ? '' : textOf(own)
      }
      // Not during rendering: a cached response would set state at once.
      queueMicrotask(() => void ask(Math.floor((block.seq - 1) / pageSize)))
      return undefined
    },
    [ask],
  )
}
