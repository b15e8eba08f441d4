// The gateway's events, live. Read with fetch, so that the key goes in a header; opened again when the connection breaks.

import { EventSourceParserStream } from 'eventsource-parser/stream'
import { useEffect, useRef } from 'react'
import { send } from './api.ts'

export interface GatewayEvent {
  readonly type: string
  readonly data: Readonly<Record<string, unknown>>
}

/** Pause before the first new attempt; it doubles up to the second number. */
const firstPauseMs = 500
const longestPauseMs = 10_000

/** Calls `onEvent` for every event of a thread, or of all threads; not at all where there is no thread yet. */
export function useEvents(
  of: { readonly thread: string | undefined } | 'all',
  onEvent: (event: GatewayEvent) => void,
): void {
  const latest = useRef(onEvent)
  latest.current = onEvent
  const thread = of === 'all' ? '' : of.thread
  useEffect(() => {
    if (thread === undefined) return
    const controller = new AbortController()
    const path = `/api/events${thread === '' ? '' : `?thread=${encodeURIComponent(thread)}`}`
    void listen(path, controller.signal, (event) => latest.current(event))
    return () => controller.abort()
  }, [thread])
}

async function listen(
  path: string,
  signal: AbortSignal,
  onEvent: (event: GatewayEvent) => void,
): Promise<void> {
  let pauseMs = firstPauseMs
  while (!signal.aborted) {
    try {
      const response = await send(path, { signal })
      const events = response.body
        ?.pipeThrough(new TextDecoderStream())
        .pipeThrough(new EventSourceParserStream())
      pauseMs = firstPauseMs
      for await (const { event, data } of events ?? []) {
        onEvent({ type: event ?? 'message', data: JSON.parse(data) as Record<string, unknown> })
      }
    } catch {
      // Broken off or refused: the next attempt says more, and the page has its own requests to show errors.
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
    pauseMs = Math.min(pauseMs * 2, longestPauseMs)
  }
}
