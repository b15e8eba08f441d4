import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { OrielError } from '../core/log/errors.ts'
import { script } from '../testing/script.ts'
import { writeAnthropic } from '../testing/write-anthropic.ts'
import { writeOpenaiChat } from '../testing/write-openai-chat.ts'
import { writeOpenaiResponses } from '../testing/write-openai-responses.ts'
import { openRecording, type Recording } from './recording.ts'
import { threadManager } from './replay.ts'
import { simulate } from './simulate.ts'

/** An agent that reads files, and needs what stood in the first one at the end. */
function coding(id: string, steps = 12): Recording {
  const messages: object[] = [{ role: 'user', content: 'Fix the bug.' }]
  for (let step = 0; step < steps; step++) {
    const file = step === steps - 1 ? 'src/secret_module_0.ts' : `file ${step}`
    const args = JSON.stringify({ path: file })
    messages.push(
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: `c${step}`, type: 'function', function: { name: 'r', arguments: args } },
        ],
      },
      {
        role: 'tool',
        tool_call_id: `c${step}`,
        content: `import secret from 'src/secret_module_${step}.ts'\n${'some text '.repeat(120)}`,
      },
    )
  }
  return { id, source: 's', messages: [...messages, { role: 'assistant', content: 'Done.' }] }
}

const keep = (max: number) => ({
  toolResults: { strategy: 'keepRecent', max, cutoff: 0, placeholder: 'plain' } as const,
})

describe('simulate', () => {
  it('[W6] a limit holds by what the provider would have measured', async () => {
    const policy = { compaction: { contextWindow: 4000, reserveTokens: 500, auto: false } }
    const longest = async (measured?: number): Promise<number> => {
      const opened = openRecording(coding('a'))
      const own = measured === undefined ? {} : { measured }
      const manager = await threadManager({ policy, ...own })(opened)
      let [most, from] = [0, 0]
      for (const answer of opened.answers) {
        await manager.append(opened.recorded.slice(from, answer))
        most = Math.max(most, JSON.stringify((await manager.view())?.messages).length)
        from = answer
      }
      return most
    }
    const [plain, same, half] = [await longest(), await longest(1), await longest(2)]
    expect(same / plain).toBeCloseTo(1, 1)
    expect(half).toBeLessThan(0.7 * plain)
  })

  it('[W6] compares policies with doing nothing: cost, tokens, breaks, facts', async () => {
    const policies = [
      { name: 'keep 4', policy: keep(4) },
      { name: 'named', policy: { toolResults: { strategy: 'keepRecent', max: 4, cutoff: 0 } } },
    ] as const
    const { none, outcomes, optimum, requests } = await simulate([coding('a')], { policies })
    expect(requests).toBe(13)
    expect(none.totals).toMatchObject({ invalid: 0, breaks: {} })
    expect(none.totals.arguments).toEqual({
      needed: 1,
      visible: 1,
      anchored: 1,
      recoverable: 0,
      lost: 0,
    })
    const [plain, informative] = outcomes
    expect(plain?.totals.tokens).toBeLessThan(none.totals.tokens)
    expect(plain?.totals.cost).toBeGreaterThan(optimum)
    expect(plain?.totals.breaks).toEqual({ toolResults: 8 })
    expect(plain?.totals.arguments).toMatchObject({ visible: 0, lost: 1 })
    const { visible, recoverable } = informative?.totals.arguments ?? {}
    expect((visible ?? 0) + (recoverable ?? 0)).toBe(1)
  })

  it('[W3] calls nothing recoverable that expand does not give', async () => {
    const recording = openRecording(coding('a'))
    const manager = await threadManager({
      policy: { toolResults: { strategy: 'keepRecent', max: 2, cutoff: 0 } },
    })(recording)
    await manager.append(recording.recorded)
    const sent = JSON.stringify((await manager.view())?.messages)
    const [, id = ''] = /expand (e\w+)/.exec(sent) ?? []
    const lost = 'src/secret_module_0.ts'
    expect(await manager.recover?.(`[Omitted: expand ${id}]`, lost)).toBe(true)
    for (const text of [`[Omitted: expand ${id}x]`, '[Omitted: expand e9zz]', '[Omitted]']) {
      expect(await manager.recover?.(text, lost)).toBe(false)
    }
    expect(await manager.recover?.(`[Omitted: expand ${id}]`, 'src/secret_module_99.ts')).toBe(
      false,
    )
  })

  it('[W6] gives the same numbers on one thread and on several', async () => {
    const recordings = Array.from({ length: 6 }, (_, index) => coding(`r${index}`, 6 + index))
    const options = { policies: [{ name: 'keep 2', policy: keep(2) }] }
    const here = await simulate(recordings, { ...options, workers: 0 })
    const shares: number[] = []
    const onProgress = (share: number) => shares.push(share)
    const there = await simulate(recordings, { ...options, workers: 2, onProgress })
    expect(there).toEqual(here)
    expect(shares.at(-1)).toBe(1)
    expect(shares).toEqual(shares.toSorted((a, b) => a - b))
  })

  it('[W6] refuses policies that are wrong or share a name before any work', async () => {
    const wrong = { name: 'x', policy: { history: { length: -1 } } }
    const error = await simulate([coding('a')], { policies: [wrong] }).catch((e: unknown) => e)
    expect(OrielError.is(error, 'invalid-policy')).toBe(true)
    const twice = [1, 2].map((max) => ({ name: 'same', policy: keep(max) }))
    await expect(simulate([coding('a')], { policies: twice })).rejects.toThrow('different names')
  })

  it('[W6] reports a worker that fails', async () => {
    const broken = { id: 'b', messages: [{ role: 'nobody' }] } as Recording
    const error = await simulate([broken], { policies: [], workers: 1 }).catch((e: unknown) => e)
    expect(OrielError.is(error, 'invalid-input')).toBe(true)
  })

  it('[W6] finds the same facts in the messages of every framework', async () => {
    const text = `the id is key_77\n${'some text '.repeat(300)}`
    const aiSdk = (id: string, input: object, value: string) => [
      {
        role: 'assistant',
        content: [{ type: 'tool-call', toolCallId: id, toolName: 'r', input }],
      },
      {
        role: 'tool',
        content: [
          { type: 'tool-result', toolCallId: id, toolName: 'r', output: { type: 'text', value } },
        ],
      },
    ]
    const langchain = (id: string, args: object, content: string) => [
      {
        type: 'ai',
        data: { content: '', tool_calls: [{ id, name: 'r', args, type: 'tool_call' }] },
      },
      { type: 'tool', data: { content, tool_call_id: id, name: 'r' } },
    ]
    const steps = (step: (id: string, input: object, value: string) => readonly object[]) => [
      ...step('c1', { path: 'a' }, text),
      ...Array.from({ length: 20 }, (_, n) => step(`d${n}`, { path: 'a' }, text.slice(20))).flat(),
      ...step('c2', { path: 'key_77' }, 'ok'),
    ]
    const recordings: Recording[] = [
      {
        id: 'ai-sdk',
        format: 'ai-sdk',
        messages: [{ role: 'user', content: 'Go.' }, ...steps(aiSdk)],
      },
      {
        id: 'langchain',
        format: 'langchain',
        messages: [{ type: 'human', data: { content: 'Go.' } }, ...steps(langchain)],
      },
    ]
    for (const recording of recordings) {
      const { none, outcomes, requests, optimum } = await simulate([recording], {
        policies: [{ name: 'keep 1', policy: keep(1) }],
      })
      expect(requests).toBe(22)
      expect(none.totals).toMatchObject({ invalid: 0, arguments: { needed: 1, visible: 1 } })
      expect(outcomes[0]?.totals).toMatchObject({ invalid: 0, arguments: { lost: 1 } })
      expect(optimum).toBeLessThan(none.totals.cost)
    }
  })

  it('[W6] judges any conversation in any format: counts add up, nothing is dearer than it can be', async () => {
    const writers = {
      'openai-chat': writeOpenaiChat,
      anthropic: writeAnthropic,
      'openai-responses': writeOpenaiResponses,
    }
    const formats = fc.constantFrom(...(Object.keys(writers) as (keyof typeof writers)[]))
    await fc.assert(
      fc.asyncProperty(script(), formats, async (turns, format) => {
        const messages = writers[format](turns) as unknown[]
        const { none, outcomes } = await simulate([{ id: 'a', format, messages }], {
          policies: [{ name: 'keep 1', policy: keep(1) }],
          workers: 0,
        })
        for (const { totals } of [none, ...outcomes]) {
          for (const count of [totals.arguments, totals.text, totals.old]) {
            expect(count.visible + count.recoverable + count.lost).toBe(count.needed)
            expect(count.anchored).toBeLessThanOrEqual(count.visible)
          }
          expect(totals.cost).toBeGreaterThanOrEqual(0.1 * totals.tokens - 1e-6)
          expect(totals.cost).toBeLessThanOrEqual(1.25 * totals.tokens + 1e-6)
        }
        expect(none.totals.arguments.visible).toBe(none.totals.arguments.needed)
        expect(outcomes[0]?.totals.invalid).toBe(0)
      }),
      { numRuns: 40 },
    )
  })
})
