// Live events of the gateway (SSE). Read with fetch, so that the key goes in a header; reconnects
// automatically.

import { EventSourceParserStream } from 'eventsource-parser/stream'
import { useEffect, useRef, useSyncExternalStore } from 'react'
import { isUnreachable, send } from './api.ts'

/** `reconnected` is emitted by the page: events during the outage were missed. */
export interface GatewayEvent {
  readonly type: string
  readonly data: Readonly<Record<string, unknown>>
}

/** Reconnect backoff: initial delay, doubled up to the maximum. */
const firstPauseMs = 500
const longestPauseMs = 10_000

/** Calls `onEvent` for every event of a thread, or of all threads; inactive without a thread. */
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
      // Ignore the error: the next attempt reports more, and the page's own requests show errors.
      if (isUnreachable(error)) note(signal, 'lost')
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
    pauseMs = Math.min(pauseMs * 2, longestPauseMs)
  }
}

type Connection = 'live' | 'lost'

/** Connections that are currently lost. */
const lost = new Set<AbortSignal>()
const changed = new EventTarget()

function note(signal: AbortSignal, state: Connection): void {
  if (state === 'lost') lost.add(signal)
  else lost.delete(signal)
  changed.dispatchEvent(new Event('change'))
}

/** The connection state: live, or showing stale data. */
export function useConnection(): Connection {
  return useSyncExternalStore(subscribe, () => (lost.size === 0 ? 'live' : 'lost'))
}

function subscribe(onChange: () => void): () => void {
  changed.addEventListener('change', onChange)
  return () => changed.removeEventListener('change', onChange)
}
