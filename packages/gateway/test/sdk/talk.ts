// A scripted conversation with tools over an SDK, as an agent leads it.

import type { WireFormat } from 'oriel'
import { type Dialect, dialects, type ToolDefinition } from '../dialect.ts'
import type { AskOptions, SdkClient } from './sdk-client.ts'

export interface TalkOptions extends Omit<AskOptions, 'tools'> {
  readonly format: WireFormat
  readonly ask: SdkClient
  /** What the person says, turn by turn; a list is a message with parts. */
  readonly questions: readonly (string | readonly unknown[])[]
  readonly tools?: readonly ToolDefinition[]
  readonly runTool?: (name: string, argumentsText: string) => string
}

export interface Talk {
  /** The last text of each turn. */
  readonly answers: readonly string[]
  readonly history: readonly unknown[]
}

/** Most model calls in one turn. */
const maxSteps = 12

export async function talk(options: TalkOptions): Promise<Talk> {
  const { format, ask, questions, tools = [], runTool = () => 'nothing', ...asking } = options
  const dialect = dialects[format]
  const history: unknown[] = []
  const answers: string[] = []
  for (const question of questions) {
    history.push(userMessage(dialect, question))
    for (let step = 0; step < maxSteps; step++) {
      const { text, calls, messages } = await ask(history, { ...asking, tools })
      history.push(...messages)
      if (calls.length === 0) {
        answers.push(text)
        break
      }
      const results = calls.map((call) => ({ call, text: runTool(call.name, call.arguments) }))
      history.push(...dialect.results(results))
    }
  }
  return { answers, history }
}

function userMessage(dialect: Dialect, question: string | readonly unknown[]): unknown {
  return typeof question === 'string'
    ? dialect.user(question)
    : { ...dialect.user(''), content: question }
}
