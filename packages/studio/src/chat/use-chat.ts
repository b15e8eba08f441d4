// Chat state hook: the logged messages, the current turn, and actions.

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
  /** Loading state of the log. */
  readonly log: Loaded<unknown>
  readonly say: (text: string) => void
  /** Sends the message again that could not be answered; absent if there is none. */
  readonly retry?: () => void
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
  /** Finished turns when reading started. */
  readonly turns: number
  readonly wasBusy: boolean
}

/** A message without an answer, and what was said before it. */
interface Failed {
  readonly text: string
  readonly history: readonly ChatMessage[]
}

interface State {
  readonly isBusy: boolean
  /** Finished turns. */
  readonly turns: number
}

export function useChat({ agent, parameters, thread }: ChatOptions): Chat {
  const [shown, setShown] = useState<readonly ChatMessage[]>([])
  const [live, setLive] = useState<readonly ChatMessage[]>([])
  const [state, setState] = useState<State>({ isBusy: false, turns: 0 })
  const [error, setError] = useState<Error>()
  const [failed, setFailed] = useState<Failed>()
  const session = useRef(crypto.randomUUID())
  /** Controller of the turn that this page shows. A turn left for another thread is detached. */
  const controller = useRef<AbortController>(undefined)
  const log = useLog(thread, state)
  const read = log.data
  useEffect(() => {
    // The log replaces received messages, unless more were received since it was read.
    if (read === undefined || read.wasBusy || state.isBusy || read.turns !== state.turns) return
    // A message that never arrived is in no log, and stays.
    if (failed !== undefined) return
    setShown(read.messages)
  }, [read, state, failed])
  const place = useMoved(thread, () => {
    controller.current?.abort()
    controller.current = undefined
    session.current = crypto.randomUUID()
    setShown([])
    setLive([])
    setError(undefined)
    setFailed(undefined)
    setState(({ turns }) => ({ isBusy: false, turns: turns + 1 }))
  })
  useEffect(() => {
    // A turn continues when the user navigates away, but no longer changes the URL.
    return () => {
      controller.current = undefined
    }
  }, [])
  const say = (text: string, history = shown): void => {
    if (agent === undefined || state.isBusy) return
    const abort = new AbortController()
    controller.current = abort
    const isShown = (): boolean => controller.current === abort
    let heard: readonly ChatMessage[] = []
    setState({ ...state, isBusy: true })
    setError(undefined)
    setFailed(undefined)
    if (history !== shown) setShown(history)
    runTurn({
      ...{ agent, parameters, session: session.current, thread, history, text },
      keys: `t${state.turns}`,
      signal: abort.signal,
      onProgress: (messages) => {
        heard = messages
        if (isShown()) setLive(messages)
      },
      onThread: (id) => {
        if (!isShown()) return
        place.current = id
        setParams({ thread: id })
      },
    })
      .catch((problem: Error) => {
        heard = brokenOff(heard)
        if (!isShown() || abort.signal.aborted) return
        setError(problem)
        setFailed({ text, history })
      })
      .finally(() => {
        if (!isShown()) return
        setShown([...history, ...heard])
        setLive([])
        setState({ isBusy: false, turns: state.turns + 1 })
      })
  }
  const stop = useCallback(() => controller.current?.abort(), [])
  const messages = [...shown, ...live]
  return {
    messages,
    isBusy: state.isBusy,
    ...(error && { error }),
    ...(failed && { retry: () => say(failed.text, failed.history) }),
    log,
    say: (text) => say(text),
    stop,
  }
}

/** The log of the thread, reloaded when a turn ends and when the gateway reports a change. */
function useLog(thread: string | undefined, state: State): Loaded<Read> {
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
  useEvents({ thread }, ({ type }) => {
    const mayDiffer = type === 'thread-changed' || type === 'reconnected'
    if (mayDiffer && !latest.current.isBusy) log.reload()
  })
  return log
}

/**
 * Calls `onMoved` when the URL names a different thread than recorded. A turn itself may change the
 * URL.
 */
function useMoved(
  thread: string | undefined,
  onMoved: () => void,
): { current: string | undefined } {
  const place = useRef(thread)
  const latest = useRef(onMoved)
  latest.current = onMoved
  useEffect(() => {
    if (thread === place.current) return
    place.current = thread
    latest.current()
  }, [thread])
  return place
}

/** An interrupted answer is not part of the history: no client sends it back. */
function brokenOff(heard: readonly ChatMessage[]): readonly ChatMessage[] {
  const last = heard.at(-1)
  if (last?.role !== 'assistant') return heard
  return [...heard.slice(0, -1), { ...last, calls: [], isInterrupted: true }]
}
