import {
  Agent,
  type AgentInputItem,
  type Model,
  type ModelRequest,
  type ModelResponse,
  run,
  setTracingDisabled,
  tool,
  Usage,
} from '@openai/agents-core'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { memoryStore } from '../stores/memory/index.ts'
import { openThread } from '../thread/thread.ts'
import { modelInputFilter, orielSession } from './openai-agents.ts'

setTracingDisabled(true)

/** Reads so many pages for each question, then answers. */
class Reader implements Model {
  readonly inputs: AgentInputItem[][] = []
  readonly #steps: number
  #calls = 0

  constructor(steps: number) {
    this.#steps = steps
  }

  async getResponse({ input }: ModelRequest): Promise<ModelResponse> {
    this.inputs.push(input as AgentInputItem[])
    const isOver = this.inputs.length % (this.#steps + 1) === 0
    const output: ModelResponse['output'] = isOver
      ? [
          {
            type: 'message',
            role: 'assistant',
            status: 'completed',
            content: [{ type: 'output_text', text: `Read ${this.#calls} pages.` }],
          },
        ]
      : [
          {
            type: 'function_call',
            callId: `c${this.#calls}`,
            name: 'read',
            arguments: JSON.stringify({ page: this.#calls++ }),
            status: 'completed',
          },
        ]
    return { usage: new Usage(), output }
  }

  // biome-ignore lint/correctness/useYield: nothing streams here.
  async *getStreamedResponse(): AsyncGenerator<never> {
    throw new Error('Not streamed.')
  }
}

const read = tool({
  name: 'read',
  description: 'Reads a page',
  parameters: z.object({ page: z.number() }),
  execute: async ({ page }) => `page ${page}: ${`line of page ${page} `.repeat(150)}`,
})

async function ask(model: Reader, options: object): Promise<(string | undefined)[]> {
  const agent = new Agent({ name: 'reader', model, tools: [read] })
  const answers: (string | undefined)[] = []
  for (const question of ['Read the first pages.', 'Read on.']) {
    const { finalOutput } = await run(agent, question, { maxTurns: 30, ...options })
    answers.push(finalOutput)
  }
  return answers
}

const size = ({ inputs }: Reader): number =>
  inputs.reduce((sum, input) => sum + JSON.stringify(input).length, 0)

/** Calls without a result, and results without a call. */
function halves(input: readonly AgentInputItem[]): number {
  const idsOf = (kind: string): string[] =>
    input.flatMap((item) => (item.type === kind && 'callId' in item ? [String(item.callId)] : []))
  const [calls, results] = [idsOf('function_call'), idsOf('function_call_result')]
  return (
    calls.filter((id) => !results.includes(id)).length +
    results.filter((id) => !calls.includes(id)).length
  )
}

describe('a session of the OpenAI Agents SDK', () => {
  it('[OA1] gives the same answers with less input, over 40 tool calls and two turns', async () => {
    const [without, managed] = [new Reader(20), new Reader(20)]
    const plain = orielSession({ thread: await openThread({ store: memoryStore() }) })
    const thread = await openThread({ store: memoryStore() })
    const session = orielSession({ thread })
    const { callModelInputFilter } = session
    const first = await ask(without, { session: plain })
    const second = await ask(managed, { session, callModelInputFilter })
    expect(second).toEqual(first)
    expect(second).toEqual(['Read 20 pages.', 'Read 40 pages.'])
    expect(size(managed)).toBeLessThan(0.6 * size(without))
    expect(managed.inputs.map(halves)).toEqual(managed.inputs.map(() => 0))
    // What the model saw in part is whole in the session.
    const whole = await plain.getItems()
    expect((await session.getItems()).length).toBe(whole.length)
    expect(JSON.stringify(await session.getItems()).length).toBe(JSON.stringify(whole).length)
  })

  it('[OA2] gives items back as they came, the newest ones for a limit, after reopening too', async () => {
    const store = memoryStore()
    const items = [
      { type: 'message', role: 'user', content: 'Hi' },
      {
        type: 'message',
        role: 'user',
        content: [{ type: 'input_image', image: 'https://x/y.png' }],
      },
      { type: 'reasoning', content: [{ type: 'input_text', text: 'Hm.' }], providerData: { a: 1 } },
      { type: 'computer_call', callId: 'k', status: 'completed', action: { type: 'screenshot' } },
      {
        type: 'computer_call_result',
        callId: 'k',
        output: { type: 'computer_screenshot', data: 'x' },
      },
      { type: 'hosted_tool_call', name: 'web_search', status: 'completed' },
    ] as unknown as AgentInputItem[]
    await orielSession({ thread: await openThread({ id: 'a', store }) }).addItems(items)
    const session = orielSession({ thread: await openThread({ id: 'a', store }) })
    expect(await session.getSessionId()).toBe('a')
    expect(await session.getItems()).toEqual(items)
    expect(await session.getItems(2)).toEqual(items.slice(-2))
    expect(await session.getItems(0)).toEqual([])
    expect(await session.popItem()).toEqual(items.at(-1))
    expect(await session.getItems()).toEqual(items.slice(0, -1))
    await session.clearSession()
    expect(await session.getItems()).toEqual([])
    expect(await session.popItem()).toBeUndefined()
    await session.addItems(items.slice(0, 1))
    expect(await session.getItems()).toEqual(items.slice(0, 1))
    const shown = await session.callModelInputFilter({
      modelData: { input: items },
    } as never)
    expect(shown.input).toEqual(items)
  })

  it('[OA3] rejects unknown options', async () => {
    const thread = await openThread({ store: memoryStore() })
    const wrong = expect.objectContaining({ code: 'invalid-option', path: 'sends' })
    expect(() => orielSession({ thread, sends: 'all' } as never)).toThrow(wrong)
    expect(() => modelInputFilter({ sends: 'all' } as never)).toThrow(wrong)
  })
})
