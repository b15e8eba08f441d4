// A client that leads one conversation with an official SDK and remembers what it saw whole. Every message carries a mark of its own, by which
// it is found again in the logs.

import type { WireFormat } from 'oriel'
import { dialects, spokenFormats, type Told, type ToolDefinition } from '../dialect.ts'
import { sdkClient } from '../sdk/sdk-client.ts'
import { type Action, reply } from '../upstream/action.ts'
import type { Asked } from '../upstream/upstream.ts'

const key = 'kill-key'

const tool: ToolDefinition = {
  name: 'look',
  description: 'Looks something up.',
  parameters: {
    type: 'object',
    properties: { mark: { type: 'string' }, end: { type: 'string' } },
    required: ['mark', 'end'],
  },
}

export interface ConversationOptions {
  readonly id: number
  readonly format: WireFormat
  readonly isStream: boolean
  /** Whether the client names its session; else only its history tells who it is. */
  readonly isNamed: boolean
}

export class Conversation {
  readonly id: number
  readonly name: string
  readonly isNamed: boolean
  readonly #options: ConversationOptions
  readonly #history: unknown[] = []
  readonly #marks: string[] = []
  #turn = 0
  /** Whether the newest message of the history has no answer yet. */
  #isAsking = false

  constructor(options: ConversationOptions) {
    const { id, format, isStream, isNamed } = options
    this.id = id
    this.isNamed = isNamed
    this.name = `c${id} (${format}${isStream ? ', streamed' : ''}${isNamed ? ', named' : ''})`
    this.#options = options
  }

  /** The marks of what the client holds for the conversation, from its first message to the last answer that it saw whole. */
  get seen(): readonly string[] {
    return this.#isAsking ? this.#marks.slice(0, -1) : this.#marks
  }

  /** One request; true when its answer arrived whole. One that failed is sent again as it was, as clients do. */
  async ask(url: string): Promise<boolean> {
    const { format, isStream, isNamed, id } = this.#options
    const dialect = dialects[format]
    if (!this.#isAsking) {
      this.#turn += 1
      this.#say(`q-${id}-${this.#turn}`, (text) => [dialect.user(text)])
    }
    const headers = isNamed ? { 'x-session-id': `session-${id}` } : {}
    let told: Told
    try {
      told = await sdkClient(format, { url, key, headers })(this.#history, {
        isStream,
        tools: [tool],
      })
    } catch {
      return false
    }
    this.#isAsking = false
    this.#history.push(...told.messages)
    this.#marks.push(...marksIn(JSON.stringify(told.messages)))
    const { calls } = told
    if (calls.length > 0) {
      this.#say(`r-${id}-${this.#turn}`, (text) =>
        dialect.results(calls.map((call) => ({ call, text }))),
      )
    }
    return true
  }

  /** Asks until there are enough answers, or the gateway is gone. */
  async goOn(
    url: string,
    { isAlive, answers }: { readonly isAlive: () => boolean; readonly answers: number },
  ): Promise<void> {
    let left = answers
    let failures = 0
    while (left > 0 && isAlive()) {
      if (await this.ask(url)) left -= 1
      else if (isAlive()) {
        failures += 1
        if (failures > 50) throw new Error(`${this.name} gets no answers.`)
        // The process may be gone already, and its end not be known yet.
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    }
  }

  #say(mark: string, messages: (text: string) => readonly unknown[]): void {
    this.#history.push(...messages(wholeText(mark)))
    this.#marks.push(mark)
    this.#isAsking = true
  }
}

/** Clients of each format, with streams and without, with a name and without. */
export function sixConversations(): readonly Conversation[] {
  const kinds = spokenFormats.flatMap((format) =>
    [false, true].map((isStream) => ({ format, isStream })),
  )
  return kinds.map(
    (kind, index) => new Conversation({ ...kind, id: index + 1, isNamed: index % 2 === 1 }),
  )
}

/** The upstream's part: every third question is answered with a call. Each answer has another mark, also to the same question. */
export function answerTo({ body, format, index }: Asked): Action {
  const history = (format === 'openai-responses' ? body.input : body.messages) as readonly unknown[]
  const [asked = ''] = marksIn(JSON.stringify(history.at(-1)))
  const [kind, id, turn] = asked.split('-')
  const mark = `a-${id}-${turn}-${index}`
  const delivery = { eventDelayMs: 2 }
  const isCall = kind === 'q' && Number(turn) % 3 === 0
  return isCall
    ? reply({ calls: [['look', JSON.stringify({ mark, end: `end-${mark}` })]] }, delivery)
    : reply({ text: wholeText(mark) }, delivery)
}

/** A text that shows whether it is whole. */
function wholeText(mark: string): string {
  return `${mark} ${'some words to say about it '.repeat(8)}end-${mark}`
}

/** The marks in a text, each once, without those of ends. */
export function marksIn(text: string): readonly string[] {
  return [...new Set([...text.matchAll(/(?<!end-)\b[qar]-\d+-\d+(?:-\d+)?\b/g)].map(String))]
}

/** Marks that begin and do not end in a text. */
export function halvesIn(text: string): readonly string[] {
  return marksIn(text).filter((mark) => !text.includes(`end-${mark}`))
}
