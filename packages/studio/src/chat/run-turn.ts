// Turn loop: ask, stream the answer, run its tool calls, and repeat until there are none.

import { api, send } from '../api.ts'
import type { Agent, JsonObject } from '../contract.ts'
import { type Answer, readAnswer } from './answer-stream.ts'
import { type Call, type ChatMessage, toWire } from './messages.ts'

export interface Turn {
  readonly agent: Agent
  /** Query parameters that set the policy. */
  readonly parameters: string
  /** Identifies the conversation until it has a thread. */
  readonly session: string
  readonly thread?: string | undefined
  readonly history: readonly ChatMessage[]
  readonly text: string
  /** Prefix of the React keys of this turn's messages. */
  readonly keys: string
  readonly signal: AbortSignal
  /** Called with the messages of this turn so far. */
  readonly onProgress: (messages: readonly ChatMessage[]) => void
  readonly onThread: (thread: string) => void
}

/** Limit for a model that never stops calling tools. */
const maxSteps = 24

const expandTool: JsonObject = {
  type: 'function',
  function: {
    name: 'expand_message',
    description:
      'Shows the original of something that was shortened or left out. Use the id that its placeholder prints.',
    parameters: {
      type: 'object',
      properties: {
        id: { type: 'string' },
        query: { type: 'string', description: 'Only the lines that have these words.' },
        reason: { type: 'string' },
      },
      required: ['id'],
    },
  },
}

/**
 * Runs the turn to its end. Rejects if the gateway refuses or the signal is aborted; earlier
 * messages were reported.
 */
export async function runTurn(turn: Turn): Promise<void> {
  const own: ChatMessage[] = [
    { key: `${turn.keys}-user`, role: 'user', text: turn.text, calls: [] },
  ]
  let { thread } = turn
  turn.onProgress([...own])
  for (let step = 0; step < maxSteps; step++) {
    const place = own.length
    const response = await ask(turn, thread, [...turn.history, ...own])
    thread = response.headers.get('x-oriel-thread') ?? thread
    if (thread !== undefined) turn.onThread(thread)
    if (response.body === null) return
    const answer = await readAnswer(response.body, (state) => {
      own[place] = spoken(`${turn.keys}-${place}`, state)
      turn.onProgress([...own])
    })
    if (answer.calls.length === 0) return
    const results = await Promise.all(answer.calls.map((call) => runTool(turn, thread, call)))
    own.push(...results)
    turn.onProgress([...own])
  }
}

function spoken(key: string, { text, calls }: Answer): ChatMessage {
  return { key, role: 'assistant', text, calls }
}

function ask(
  { agent, parameters, session, signal }: Turn,
  thread: string | undefined,
  messages: readonly ChatMessage[],
): Promise<Response> {
  const tools = agent.tools.map((tool) => ({ type: 'function', function: tool }))
  const system = agent.system === undefined ? [] : [{ role: 'system', content: agent.system }]
  const body = {
    model: agent.model ?? agent.name,
    messages: [...system, ...toWire(messages)],
    ...(tools.length === 0 ? {} : { tools: [...tools, expandTool] }),
    stream: true,
    stream_options: { include_usage: true },
  }
  return send(`/v1/chat/completions${parameters}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(thread === undefined ? { 'x-session-id': session } : { 'x-oriel-thread': thread }),
    },
    body: JSON.stringify(body),
    signal,
  })
}

async function runTool(
  { agent, keys }: Turn,
  thread: string | undefined,
  call: Call,
): Promise<ChatMessage> {
  const text = await resultOf(agent.name, thread, call).catch(
    (error: Error) => `Error: ${error.message}`,
  )
  return {
    key: `${keys}-${call.id}`,
    role: 'tool',
    text,
    calls: [],
    callId: call.id,
    tool: call.name,
  }
}

async function resultOf(agent: string, thread: string | undefined, call: Call): Promise<string> {
  if (call.name !== 'expand_message' || thread === undefined) {
    return (await api.runTool(agent, call.name, call.arguments)).text
  }
  const { id, ...options } = JSON.parse(call.arguments) as { readonly id?: unknown }
  const expansion = await api.expand(thread, String(id), options)
  return expansion.ok ? expansion.text : `Cannot show it: ${expansion.reason}`
}
