// The state of a chat: what the log has, what is being said right now, and how to go on.

import { useCallback, useEffect, useRef, useState } from 'react'
import { setParams } from '../address.ts'
import { api } from '../api.ts'
import type { Agent, Entry } from '../contract.ts'
import { useEvents } from '../use-events.ts'
import { type Loaded, useLoad } from '../use-load.ts'
import { type ChatMessage, messagesOf } from './messages.ts'
import { runTurn } from './run-turn.ts'

export interface Chat {
  readonly messages: readonly ChatMessage[]
  readonly isBusy: boolean
  readonly error?: Error
  /** The log behind it: loading, there, or failed. */
  readonly log: Loaded<readonly ChatMessage[]>
  readonly say: (text: string) => void
  readonly stop: () => void
}

const pageSize = 500

/** Reads a whole log, page by page. */
export async function readLog(thread: string, signal?: AbortSignal): Promise<readonly Entry[]> {
  const entries: Entry[] = []
  for (let from: number | undefined = 1; from !== undefined; ) {
    const page: Awaited<ReturnType<typeof api.log>> = await api.log(thread, from, pageSize, signal)
    entries.push(...page.entries)
    from = page.next
  }
  return entries
}

export interface ChatOptions {
  readonly agent: Agent | undefined
  readonly parameters: string
  readonly thread: string | undefined
}

export function useChat({ agent, parameters, thread }: ChatOptions): Chat {
  const [live, setLive] = useState<readonly ChatMessage[]>([])
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<Error>()
  const session = useRef(crypto.randomUUID())
  const controller = useRef<AbortController>(undefined)
  const log = useLoad(thread, async (signal) => messagesOf(await readLog(thread ?? '', signal)))
  // What the log holds replaces what was shown while it was being said.
  const [shown, setShown] = useState<readonly ChatMessage[]>([])
  useEffect(() => {
    if (thread === undefined) {
      setShown([])
      session.current = crypto.randomUUID()
    } else if (log.data !== undefined && !isBusy) {
      setShown(log.data)
      setLive([])
    }
  }, [thread, log.data, isBusy])
  useEvents({ thread }, ({ type }) => {
    if (type === 'thread-changed' && !isBusy) log.reload()
  })
  const say = useCallback(
    (text: string) => {
      if (agent === undefined || isBusy) return
      const abort = new AbortController()
      controller.current = abort
      setBusy(true)
      setError(undefined)
      runTurn({
        agent,
        parameters,
        session: session.current,
        thread,
        history: shown,
        text,
        signal: abort.signal,
        onProgress: setLive,
        onThread: (id) => setParams({ thread: id }),
      })
        .catch((problem: Error) => {
          if (!abort.signal.aborted) setError(problem)
        })
        .finally(() => {
          setBusy(false)
          log.reload()
        })
    },
    [agent, isBusy, parameters, thread, shown, log.reload],
  )
  const stop = useCallback(() => controller.current?.abort(), [])
  return {
    messages: [...shown, ...live],
    isBusy,
    ...(error === undefined ? {} : { error }),
    log,
    say,
    stop,
  }
}
