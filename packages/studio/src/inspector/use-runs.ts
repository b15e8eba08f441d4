// Hook for the rows inside folded runs, loaded when a run is opened.

import { useEffect, useState } from 'react'
import { api } from '../api.ts'
import type { BlockRow } from '../contract.ts'

export type RunRows = ReadonlyMap<number, readonly BlockRow[]>

/** The rows of the runs that are asked for, by their first seq; those that are not there yet are missing. */
export function useRuns(
  thread: string,
  shown: { readonly step: number | 'next'; readonly version: number },
  wanted: readonly number[],
): RunRows {
  const { step, version } = shown
  const key = `${thread} ${step} ${version}`
  const [held, setHeld] = useState<{ readonly key: string; readonly rows: RunRows }>()
  const rows = held?.key === key ? held.rows : noRows
  const missing = wanted.find((from) => !rows.has(from))
  useEffect(() => {
    if (missing === undefined) return
    const controller = new AbortController()
    api.run(thread, step, missing, controller.signal).then(
      (found) => {
        if (controller.signal.aborted) return
        setHeld((before) => ({
          key,
          rows: new Map([...(before?.key === key ? before.rows : noRows), [missing, found.rows]]),
        }))
      },
      () => undefined,
    )
    return () => controller.abort()
  }, [thread, step, key, missing])
  return rows
}

const noRows: RunRows = new Map()
