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
  readonly log: Loaded<unknown>
  readonly say: (text: string) => void
  readonly stop: () => void
}

const pageSize = 500

/** Reads a whole log, page by page. */
async function readLog(thread: string, signal?: AbortSignal): Promise<readonly Entry[]> {
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

interface Read {
  readonly messages: readonly ChatMessage[]
  /** How many turns had ended when reading began. */
  readonly turns: number
  readonly wasBusy: boolean
}

export function useChat({ agent, parameters, thread }: ChatOptions): Chat {
  const [shown, setShown] = useState<readonly ChatMessage[]>([])
  const [live, setLive] = useState<readonly ChatMessage[]>([])
  const [state, setState] = useState({ isBusy: false, turns: 0 })
  const [error, setError] = useState<Error>()
  const session = useRef(crypto.randomUUID())
  const controller = useRef<AbortController>(undefined)
  const latest = useRef(state)
  latest.current = state
  const log = useLoad(
    thread,
    async (signal): Promise<Read> => {
      const { turns, isBusy } = latest.current
      const messages = messagesOf(await readLog(thread ?? '', signal))
      return { messages, turns, wasBusy: isBusy }
    },
    state.turns,
  )
  const read = log.data
  useEffect(() => {
    if (thread !== undefined) return
    setShown([])
    session.current = crypto.randomUUID()
  }, [thread])
  useEffect(() => {
    // What the log holds replaces what was heard, unless more was heard since it was read.
    if (read === undefined || read.wasBusy || state.isBusy || read.turns !== state.turns) return
    setShown(read.messages)
  }, [read, state])
  useEvents({ thread }, ({ type }) => {
    if (type === 'thread-changed' && !latest.current.isBusy) log.reload()
  })
  const say = (text: string): void => {
    if (agent === undefined || state.isBusy) return
    const abort = new AbortController()
    controller.current = abort
    let heard: readonly ChatMessage[] = []
    setState({ ...state, isBusy: true })
    setError(undefined)
    runTurn({
      agent,
      parameters,
      session: session.current,
      thread,
      history: shown,
      text,
      keys: `t${state.turns}`,
      signal: abort.signal,
      onProgress: (messages) => {
        heard = messages
        setLive(messages)
      },
      onThread: (id) => setParams({ thread: id }),
    })
      .catch((problem: Error) => {
        heard = brokenOff(heard)
        if (!abort.signal.aborted) setError(problem)
      })
      .finally(() => {
        setShown([...shown, ...heard])
        setLive([])
        setState({ isBusy: false, turns: state.turns + 1 })
      })
  }
  const stop = useCallback(() => controller.current?.abort(), [])
  return {
    messages: [...shown, ...live],
    isBusy: state.isBusy,
    ...(error === undefined ? {} : { error }),
    log,
    say,
    stop,
  }
}

/** An answer that was not heard to its end is no part of the history: no client sends it back. */
function brokenOff(heard: readonly ChatMessage[]): readonly ChatMessage[] {
  const last = heard.at(-1)
  if (last?.role !== 'assistant') return heard
  return [...heard.slice(0, -1), { ...last, calls: [], isInterrupted: true }]
}
