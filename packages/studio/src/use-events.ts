// The gateway's events, live. Read with fetch, so that the key goes in a header; opened again when the connection breaks.

import { EventSourceParserStream } from 'eventsource-parser/stream'
import { useEffect, useRef, useSyncExternalStore } from 'react'
import { isUnreachable, send } from './api.ts'

/** `reconnected` is the page's own: the connection was broken, and what happened meanwhile was not heard. */
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
  let isFirst = true
  signal.addEventListener('abort', () => note(signal, 'live'))
  while (!signal.aborted) {
    try {
      const response = await send(path, { signal })
      note(signal, 'live')
      if (!isFirst) onEvent({ type: 'reconnected', data: {} })
      isFirst = false
      const events = response.body
        ?.pipeThrough(new TextDecoderStream())
        .pipeThrough(new EventSourceParserStream())
      pauseMs = firstPauseMs
      for await (const { event, data } of events ?? []) {
        onEvent({ type: event ?? 'message', data: JSON.parse(data) as Record<string, unknown> })
      }
    } catch (error) {
      // Broken off or refused: the next attempt says more, and the page has its own requests to show errors.
      if (isUnreachable(error)) note(signal, 'lost')
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
    pauseMs = Math.min(pauseMs * 2, longestPauseMs)
  }
}

type Connection = 'live' | 'lost'

/** Connections that could not be opened again so far. */
const lost = new Set<AbortSignal>()
const changed = new EventTarget()

function note(signal: AbortSignal, state: Connection): void {
  if (state === 'lost') lost.add(signal)
  else lost.delete(signal)
  changed.dispatchEvent(new Event('change'))
}

/** Whether the page hears what happens, or shows what was there when the gateway last answered. */
export function useConnection(): Connection {
  return useSyncExternalStore(subscribe, () => (lost.size === 0 ? 'live' : 'lost'))
}

function subscribe(onChange: () => void): () => void {
  changed.addEventListener('change', onChange)
  return () => changed.removeEventListener('change', onChange)
}
