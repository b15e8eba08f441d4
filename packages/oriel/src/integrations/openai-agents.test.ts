import {
  Agent,
  type AgentInputItem,
  MemorySession,
  type Model,
  type ModelRequest,
  type ModelResponse,
  run,
  type Session,
  type StreamEvent,
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

  async *getStreamedResponse(request: ModelRequest): AsyncGenerator<StreamEvent> {
    yield* streamOf(await this.getResponse(request))
  }
}

/** An answer as a provider streams it: nothing before its end. */
async function* streamOf({ output }: ModelResponse): AsyncGenerator<StreamEvent> {
  const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 }
  yield { type: 'response_started' }
  yield { type: 'response_done', response: { id: 'r', usage, output } } as StreamEvent
}

/** Answers with what is written down, one after the other. */
class Scripted implements Model {
  readonly inputs: AgentInputItem[][] = []
  readonly #outputs: ModelResponse['output'][]

  constructor(outputs: ModelResponse['output'][]) {
    this.#outputs = [...outputs]
  }

  async getResponse({ input }: ModelRequest): Promise<ModelResponse> {
    this.inputs.push(structuredClone(input) as AgentInputItem[])
    return { usage: new Usage(), output: this.#outputs.shift() ?? [] }
  }

  async *getStreamedResponse(request: ModelRequest): AsyncGenerator<StreamEvent> {
    yield* streamOf(await this.getResponse(request))
  }
}

const calls = (callId: string, name: string, input: object): ModelResponse['output'] => [
  { type: 'function_call', callId, name, arguments: JSON.stringify(input), status: 'completed' },
]
const says = (text: string): ModelResponse['output'] => [
  {
    type: 'message',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text }],
  },
]

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

  it.each([false, true])(
    '[OA2] keeps handoffs, tools that fail and calls in parallel over two runs of a session (streamed: %s)',
    async (isStreamed) => {
      const outputs = (): ModelResponse['output'][] => [
        [...calls('c1', 'read', { page: 1 }), ...calls('c2', 'broken', {})],
        calls('h1', 'transfer_to_expert', {}),
        calls('c3', 'read', { page: 3 }),
        says('The expert has read it.'),
        // The second run begins with the first agent again.
        calls('c4', 'broken', {}),
        says('It is broken.'),
      ]
      const broken = tool({
        name: 'broken',
        description: 'Fails',
        parameters: z.object({}),
        execute: async (): Promise<string> => {
          throw new Error('out of paper')
        },
      })
      const runs = async (session: Session, more: object) => {
        const model = new Scripted(outputs())
        const expert = new Agent({ name: 'expert', model, tools: [read, broken] })
        const agent = new Agent({ name: 'first', model, tools: [read, broken], handoffs: [expert] })
        const answers: unknown[] = []
        for (const question of ['Read it.', 'And now?']) {
          if (isStreamed) {
            const result = await run(agent, question, { ...more, session, stream: true })
            for await (const _event of result) {
              // Reads to the end.
            }
            await result.completed
            answers.push(result.finalOutput)
          } else {
            answers.push((await run(agent, question, { ...more, session })).finalOutput)
          }
        }
        return { answers, inputs: model.inputs, items: await session.getItems() }
      }
      const own = await runs(new MemorySession(), {})
      const session = orielSession({ thread: await openThread({ store: memoryStore() }) })
      const managed = await runs(session, { callModelInputFilter: session.callModelInputFilter })
      expect(own.answers).toEqual(['The expert has read it.', 'It is broken.'])
      expect(managed.answers).toEqual(own.answers)
      expect(managed.items).toEqual(own.items)
      expect(managed.inputs.map(halves)).toEqual(managed.inputs.map(() => 0))
      expect(JSON.stringify(managed.inputs.at(-1))).toContain('An error occurred while')
      // The second run knows what was said in the first.
      expect(JSON.stringify(managed.inputs[4])).toContain('The expert has read it.')
    },
  )

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
