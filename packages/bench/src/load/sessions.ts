// Client sessions: conversations that resend everything with each request, as prepared bytes. All
// sessions differ, so that stores and caches cannot share content.

import { turnOf } from '../agent.ts'
import type { ChatMessage } from '../conversations.ts'
import { answerText, type Format, model } from './answers.ts'

export interface Workload {
  readonly name: string
  /** Bytes of the first request of a session, about. */
  readonly bodyBytes: number
  /** Turns after which a session ends and another one begins. 1: every request is a new conversation. */
  readonly turns: number
  readonly format: Format
  readonly isStream: boolean
}

/** One request of a session; `done` says how it ended. */
export interface Call {
  readonly format: Format
  readonly tenant: number
  readonly isStream: boolean
  readonly body: readonly Buffer[]
  done(isAnswered: boolean): void
}

/** Keys of callers, each a tenant of its own: gateways limit what one caller may do. */
export const tenants = 8

/** The sessions of one client, never two requests of a session at the same time. */
export class Sessions {
  readonly #workload: Workload
  readonly #seed: number
  readonly #free: Session[] = []
  #made = 0

  /** `seed` makes the sessions of two clients differ. */
  constructor(workload: Workload, seed: number) {
    this.#workload = workload
    this.#seed = seed
  }

  /** Makes sessions before they are needed. */
  prepare(count: number): void {
    while (this.#free.length < count) this.#free.push(this.#create())
  }

  next(): Call {
    const { format, isStream, turns } = this.#workload
    const session = this.#free.shift() ?? this.#create()
    return {
      format,
      isStream,
      tenant: session.tenant,
      body: session.body,
      done: (isAnswered) => {
        if (isAnswered) session.grow()
        if (session.turns < turns) this.#free.push(session)
      },
    }
  }

  #create(): Session {
    this.#made += 1
    return new Session(this.#workload, this.#seed * 1_000_000 + this.#made)
  }
}

class Session {
  readonly tenant: number
  readonly #format: Format
  readonly #id: number
  readonly #parts: Buffer[]
  readonly #end: Buffer
  turns = 0

  constructor({ format, bodyBytes, isStream }: Workload, id: number) {
    this.#format = format
    this.#id = id
    this.tenant = id % tenants
    const { open, close } = frames[format]
    this.#parts = [Buffer.from(open(isStream) + opening(format, bodyBytes, id))]
    this.#end = Buffer.from(close(bodyBytes))
  }

  get body(): readonly Buffer[] {
    return [...this.#parts, this.#end]
  }

  /** Adds the answer, and what the user says to it. */
  grow(): void {
    this.turns += 1
    const text = `Step ${this.turns} of ${this.#id}: ${turnOf(this.#id * 100 + this.turns, 0)
      .flat()
      .map(({ content }) => content)
      .join(' ')}`
    const messages = [assistant(this.#format, answerText), user(this.#format, text)]
    this.#parts.push(Buffer.from(`,${messages.map((one) => JSON.stringify(one)).join(',')}`))
  }
}

type Fields = Readonly<Record<string, unknown>>

const streamFlag = (isStream: boolean): string => (isStream ? '"stream":true' : '"stream":false')

const frames: Readonly<
  Record<Format, { open(isStream: boolean): string; close(bytes: number): string }>
> = {
  chat: {
    open: (isStream) =>
      `{"model":"${model}",${streamFlag(isStream)}${isStream ? ',"stream_options":{"include_usage":true}' : ''},"messages":[`,
    close: (bytes) => `]${toolsFor(bytes)}}`,
  },
  responses: {
    open: (isStream) => `{"model":"${model}",${streamFlag(isStream)},"store":false,"input":[`,
    close: () => ']}',
  },
  messages: {
    open: (isStream) =>
      `{"model":"${model}",${streamFlag(isStream)},"max_tokens":4000,"messages":[`,
    close: () => ']}',
  },
}

function user(format: Format, text: string): Fields {
  if (format !== 'responses') return { role: 'user', content: text }
  return { type: 'message', role: 'user', content: [{ type: 'input_text', text }] }
}

function assistant(format: Format, text: string): Fields {
  if (format === 'chat') return { role: 'assistant', content: text }
  if (format === 'messages') return { role: 'assistant', content: [{ type: 'text', text }] }
  const content = [{ type: 'output_text', text, annotations: [] }]
  return { type: 'message', id: 'msg_mock', status: 'completed', role: 'assistant', content }
}

/** The first messages of a session, as JSON without the brackets; they end with one of the user. */
function opening(format: Format, bytes: number, id: number): string {
  const messages: Fields[] = format === 'chat' && bytes > 10_000 ? longHistory(bytes, id) : []
  const rest = bytes - messages.reduce((sum, one) => sum + JSON.stringify(one).length + 1, 0)
  const padding = words(id, Math.max(rest - 250, 100))
  messages.push(user(format, `Session ${id}. ${padding}`))
  return messages.map((one) => JSON.stringify(one)).join(',')
}

/** An agent's conversation with tools, close to a number of bytes: about 500 messages in 400 KB. */
function longHistory(bytes: number, id: number): Fields[] {
  const system = turnOf(0, 0).flat()[0] as ChatMessage
  const messages: ChatMessage[] = [system]
  let size = 0
  for (let turn = id * 1000 + 1; ; turn++) {
    const steps = turnOf(turn)
      .flat()
      .slice(size === 0 ? 1 : 0)
    const added = steps.reduce((sum, one) => sum + JSON.stringify(one).length + 1, 0)
    // The last reply comes before the user's message that ends the history.
    if (size + added > bytes - 9000) break
    size += added
    messages.push(...steps)
  }
  messages.push({ role: 'assistant', content: answerText })
  return messages as unknown as Fields[]
}

function words(id: number, length: number): string {
  let text = ''
  for (let turn = id * 100; text.length < length; turn++) {
    text += `${
      turnOf(turn + 1, 0)
        .flat()
        .at(-1)?.content
    } `
  }
  return text.slice(0, length)
}

/** Twelve tools as a coding agent has them, in long sessions. */
function toolsFor(bytes: number): string {
  if (bytes < 10_000) return ''
  const tools = Array.from({ length: 12 }, (_, index) => ({
    type: 'function',
    function: {
      name: index === 0 ? 'search' : `tool_${index}`,
      description: words(900_000 + index, 300),
      parameters: {
        type: 'object',
        properties: { query: { type: 'string', description: words(950_000 + index, 100) } },
        required: ['query'],
      },
    },
  }))
  return `,"tools":${JSON.stringify(tools)}`
}
