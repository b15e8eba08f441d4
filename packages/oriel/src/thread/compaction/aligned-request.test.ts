// A summary that is asked with the conversation's own prefix: what it has in common with what was sent, counted in tokens.

import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../../core/log/json.ts'
import { estimate } from '../../core/tokens/estimate.ts'
import { validate } from '../../index.ts'
import type { FormatName } from '../../providers/format.ts'
import { CacheMeter } from '../../simulate/cost.ts'
import { framePieces, type Piece, piecesOf } from '../../simulate/pieces.ts'
import { memoryStore } from '../../stores/memory/index.ts'
import type { AlignedRequest, SummaryJob } from '../summaries/answer.ts'
import { openThread } from '../thread.ts'
import type { View } from '../view/view.ts'

const titles = [
  'Goal',
  'Constraints',
  'Progress',
  'Key Decisions',
  'Next Steps',
  'Critical Context',
]
const summary = titles.map((title) => `## ${title}\nSaid by the model.`).join('\n')
const tools = [
  { type: 'function', function: { name: 'look', description: 'Looks.', parameters: {} } },
]
const frames = {
  'openai-chat': { tools, params: { temperature: 0 } },
  anthropic: {
    system: 'You are a careful agent. '.repeat(40),
    tools: [{ name: 'look', description: 'Looks.', input_schema: { type: 'object' } }],
    params: { max_tokens: 4000 },
  },
  'openai-responses': { system: 'You are a careful agent.', params: {} },
} satisfies Partial<Record<FormatName, object>>

interface Run {
  readonly jobs: readonly SummaryJob[]
  /** The request that was sent before each job was asked. */
  readonly before: readonly View[]
  readonly calls: number
}

/** A tool loop of one turn, with a summarizer that takes the aligned request. */
async function run(format: keyof typeof frames, policy: object, isAligned = true): Promise<Run> {
  const jobs: SummaryJob[] = []
  const before: View[] = []
  let newest: View | undefined
  const thread = await openThread({
    id: 't',
    store: memoryStore(),
    policy,
    summarize: async (job) => {
      if (job.kind === 'checkpoint') {
        jobs.push(job)
        before.push(newest as View)
      }
      return { summary, isAligned }
    },
  })
  await thread.append([{ role: 'user', content: 'Look at everything. Never delete a file.' }])
  for (let n = 0; n < 60; n++) {
    newest = await thread.view({ format, frame: frames[format], model: 'some-model' })
    await thread.settled()
    const callId = `call_${n}`
    await thread.append([
      {
        role: 'assistant',
        content: [{ type: 'tool-call', callId, name: 'look', arguments: `{"path":"f${n}.ts"}` }],
      },
      {
        role: 'tool',
        content: [
          { type: 'tool-result', callId, content: `row ${n} of value ${n * 7919} `.repeat(80) },
        ],
      },
    ])
  }
  return { jobs, before, calls: jobs.length }
}

function piecesIn(format: keyof typeof frames, messages: readonly Json[], system?: Json): Piece[] {
  return [...framePieces(frames[format]), ...piecesOf(messages, system)]
}

/** Share of the tokens of a summary's call that a provider reads from its cache after the conversation's newest request. */
function cachedShare(format: keyof typeof frames, sent: View, { body }: AlignedRequest): number {
  const meter = new CacheMeter(estimate)
  meter.send(piecesIn(format, sent.messages, sent.system))
  const list = (body.messages ?? body.input) as readonly Json[]
  const own = sent.system === undefined ? undefined : (body.system as Json)
  const { cached, tokens } = meter.send(piecesIn(format, list, own))
  return cached / tokens
}

describe('an aligned request', () => {
  it.each(['openai-chat', 'anthropic', 'openai-responses'] as const)(
    '[CN6] is the conversation as it was sent, with the instruction last: %s',
    async (format) => {
      const { jobs, before } = await run(format, { preset: 'recommended' })
      expect(jobs.length).toBeGreaterThan(0)
      for (const [index, { request, signal, text }] of jobs.entries()) {
        const sent = before[index] as View
        const { body } = request as AlignedRequest
        expect(signal.aborted).toBe(false)
        expect(text).toContain('Never delete a file.')
        expect(request).toMatchObject({ format, model: 'some-model' })
        expect(body.model).toBe('some-model')
        expect(body.tools).toEqual('tools' in frames[format] ? frames[format].tools : undefined)
        expect(validate(format, body as JsonObject)).toEqual([])
        expect(JSON.stringify(body)).toContain('Never delete a file.')
        expect(JSON.stringify((body.messages ?? body.input) as Json[]).slice(-3000)).toContain(
          'call no tool.',
        )
        expect(cachedShare(format, sent, request as AlignedRequest)).toBeGreaterThanOrEqual(0.9)
      }
    },
  )

  it('[CN6] replaces all parts: the model is asked once for a fold, whatever its window', async () => {
    const policy = { compaction: { maxTokens: 30_000, keepRecentTokens: 4000 } }
    const aligned = await run('openai-chat', policy)
    const { calls } = await run('openai-chat', policy, false)
    expect(aligned.calls).toBeGreaterThan(0)
    expect(aligned.calls).toBeLessThanOrEqual(calls)
    expect(
      aligned.jobs.every(({ meta }) => meta.isUpdate === false || meta.isUpdate === true),
    ).toBe(true)
  })

  it('[CN6] is not offered before a request is known', async () => {
    const jobs: SummaryJob[] = []
    const thread = await openThread({
      id: 't',
      store: memoryStore(),
      policy: {},
      summarize: async (job) => {
        jobs.push(job)
        return summary
      },
    })
    const turn = (n: number) => [
      { role: 'user', content: `Question ${n}. ${'Some words. '.repeat(400)}` } as const,
      { role: 'assistant', content: `Answer ${n}. ${'Some words. '.repeat(400)}` } as const,
    ]
    await thread.append(Array.from({ length: 30 }, (_, n) => turn(n)).flat())
    await thread.compact()
    expect(jobs.length).toBeGreaterThan(0)
    expect(jobs.every(({ request }) => request === undefined)).toBe(true)
  })
})

describe('how often a model is asked', () => {
  it.each([
    ['compaction', 'gpt-4o'],
    ['compaction', undefined],
    ['recommended', 'gpt-4o'],
    ['recommended', undefined],
  ] as const)('[CN7] no preset asks at every step: %s, %s', async (preset, model) => {
    const asked: number[] = []
    let step = 0
    const thread = await openThread({
      id: 't',
      store: memoryStore(),
      policy: preset,
      summarize: async (job) => {
        asked.push(step)
        const several = job.text.match(/about=/g)?.length ?? 1
        if (job.kind === 'checkpoint') return summary
        return several === 1
          ? 'Short.'
          : Array.from({ length: several }, (_, n) => `=== ${n + 1} ===\nShort.`).join('\n')
      },
    })
    await thread.append([{ role: 'user', content: 'Do the work.' }])
    for (step = 0; step < 30; step++) {
      await thread.view(model === undefined ? {} : { model })
      await thread.settled()
      const callId = `c${step}`
      const content = `row ${step} of value ${step * 7919} and more of it\n`.repeat(200)
      await thread.append([
        {
          role: 'assistant',
          content: [{ type: 'tool-call', callId, name: 'look', arguments: `{"path":"f${step}"}` }],
        },
        { role: 'tool', content: [{ type: 'tool-result', callId, content }] },
      ])
    }
    const steps = [...new Set(asked)]
    expect(steps.length).toBeLessThanOrEqual(15)
    for (const [index, at] of steps.entries()) {
      if (index > 0) expect(at - (steps[index - 1] as number)).toBeGreaterThan(1)
    }
  })
})
