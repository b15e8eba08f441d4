// A conversation of any length becomes a valid request of any size that its system text and its newest message leave room for.

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json } from '../src/core/log/json.ts'
import { presets } from '../src/policy/presets.ts'
import type { PolicyInput, PresetName } from '../src/policy/schema.ts'
import { project } from '../src/project.ts'
import { validate } from '../src/providers/registry.ts'
import { memoryStore } from '../src/stores/memory/index.ts'
import { openThread } from '../src/thread/thread.ts'
import { recoveryBudget } from '../src/thread/view/recovery.ts'

const policies: readonly (readonly [string, PolicyInput])[] = [
  ['no policy', {}],
  ...(Object.keys(presets) as PresetName[]).map((name) => [name, name] as const),
]
const limits = [16_000, 8000, 4000, 2000] as const
const frame = { system: 'You are a careful engineer.', tools: [{ name: 'read' }] }

interface Shape {
  readonly turns: number
  /** Characters of a result. */
  readonly size: number
  /** Whether the user speaks in every turn; else the whole conversation is one tool loop. */
  readonly isChat: boolean
  readonly seed: number
}

/** A conversation whose words never repeat, so that every line is worth a note. */
function conversation({ turns, size, isChat, seed }: Shape): Json[] {
  let state = seed
  const next = (): number => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return state
  }
  const word = (): string => next().toString(36)
  const words = (count: number): string => Array.from({ length: count }, word).join(' ')
  const messages: Json[] = [{ role: 'user', content: `Find the fault in ${word()}.` }]
  for (let turn = 0; turn < turns; turn++) {
    if (isChat && turn > 0)
      messages.push({ role: 'user', content: `Look at ${word()}. ${words(20)}` })
    const input = JSON.stringify({ path: `src/${word()}/${word()}.ts` })
    messages.push({
      role: 'assistant',
      content: null,
      tool_calls: [
        { id: `c${turn}`, type: 'function', function: { name: 'read', arguments: input } },
      ],
    })
    let text = ''
    while (text.length < size) text += `/usr/lib/${word()}.ts:${next()} error ${word()}\n`
    messages.push({ role: 'tool', tool_call_id: `c${turn}`, content: text })
    if (isChat) messages.push({ role: 'assistant', content: `It says ${words(20)}.` })
  }
  return isChat ? [...messages, { role: 'user', content: 'Go on.' }] : messages
}

/** Recovers from refusals at smaller and smaller limits; each request must be valid and fit. */
async function refuse(shape: Shape, policy: PolicyInput): Promise<readonly string[]> {
  const failures: string[] = []
  const thread = await openThread({ store: memoryStore(), policy })
  await thread.append(conversation(shape), { format: 'openai-chat' })
  for (const limit of limits) {
    const sent = await thread.view({ frame })
    const check = (what: string, view: Awaited<ReturnType<typeof thread.view>>): void => {
      const problems = validate('openai-chat', view.messages)
      if (problems.length > 0) failures.push(`${what} ${limit}: ${problems[0]?.rule}`)
      if (view.tokens.after > limit) failures.push(`${what} ${limit}: ${view.tokens.after} tokens`)
    }
    check('budget', await thread.view({ frame, budget: limit, dryRun: true }))
    if (sent.tokens.after > limit) {
      const message = `This model's maximum context length is ${limit} tokens. However, your messages resulted in ${sent.tokens.after} tokens.`
      check('recovery', await thread.recover({ status: 400, message }, { frame }))
    }
    await thread.append([
      { role: 'assistant', content: 'Done with that.' },
      { role: 'user', content: 'And now?' },
    ])
  }
  return failures
}

describe('recovery', () => {
  it.each(
    policies.flatMap(([name, policy]) =>
      [40, 300, 1000].map((turns) => [name, turns, policy] as const),
    ),
  )(
    '[RC1] %s, %i turns: every refusal down to 2,000 tokens is answered with a valid view that fits',
    async (_name, turns, policy) => {
      const shape = { turns, size: 1200, isChat: turns !== 300, seed: turns }
      expect(await refuse(shape, policy)).toEqual([])
    },
    60_000,
  )

  it('[RC1] holds for conversations of every shape', async () => {
    const shapes = fc.record({
      turns: fc.integer({ min: 40, max: 250 }),
      size: fc.constantFrom(10, 300, 1500, 6000),
      isChat: fc.boolean(),
      seed: fc.integer({ min: 1, max: 1_000_000 }),
    })
    await fc.assert(
      fc.asyncProperty(shapes, fc.constantFrom(...policies), async (shape, [, policy]) => {
        expect(await refuse(shape, policy)).toEqual([])
      }),
      { numRuns: Math.ceil(12 * Number(process.env.ORIEL_RUNS ?? 1)) },
    )
  }, 120_000)

  it('[RC1] uses the room that is there: notes are shortened, not thrown away', async () => {
    const thread = await openThread({ store: memoryStore(), policy: 'recommended' })
    const shape = { turns: 300, size: 1200, isChat: true, seed: 7 }
    await thread.append(conversation(shape), { format: 'openai-chat' })
    await thread.view()
    const sizes = []
    for (const budget of [12_000, 8000, 4000, 2000]) {
      const view = await thread.view({ budget, dryRun: true })
      sizes.push(view.tokens.after / budget)
      expect(JSON.stringify(view.messages)).toContain('[Previous conversation summary]')
    }
    expect(Math.min(...sizes)).toBeGreaterThan(0.5)
  })

  it('[RC1] folds a newest exchange whose call alone is larger than the budget', () => {
    const patch = JSON.stringify({ path: 'a.ts', text: 'word '.repeat(20_000) })
    const messages: Json[] = [
      { role: 'user', content: 'Write it.' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'write', arguments: patch } }],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'ok' },
    ]
    const { messages: shown, tokens } = project(messages, {}, { budget: 100 })
    expect(tokens.after).toBeLessThanOrEqual(100)
    expect(validate('openai-chat', shown)).toEqual([])
    expect(JSON.stringify(shown)).toContain('2 earlier messages left out')
  })
})

describe('a limit that a refusal taught', () => {
  it.each(policies)(
    '[RC5] %s: every later view fits it, and the policy folds in time where it folds at all',
    async (_name, policy) => {
      const thread = await openThread({ store: memoryStore(), policy })
      const all = conversation({ turns: 60, size: 1200, isChat: true, seed: 3 })
      await thread.append(all.slice(0, 120))
      const sent = (await thread.view({ frame })).tokens.after
      const message = `prompt is too long: ${sent} tokens > 6000 maximum`
      const limit = Math.min(5400, recoveryBudget({ status: 400, message }, sent))
      const sizes: number[] = []
      for (let at = 120; at < all.length; at += 4) {
        await thread.append(all.slice(at, at + 4))
        const view = await thread.view({ frame, limit })
        expect(validate('openai-chat', view.messages)).toEqual([])
        sizes.push(view.tokens.after)
      }
      expect(Math.max(...sizes)).toBeLessThanOrEqual(limit)
    },
  )
})

describe('an error that names what is too large', () => {
  const message = (tokens: number): string => 'word '.repeat(tokens)

  it('[RC2] names the parts that stay with their tokens, and nothing else', () => {
    const messages = [
      { role: 'user', content: message(3000) },
      { role: 'assistant', content: message(500) },
      { role: 'user', content: message(300) },
    ]
    const around = { system: message(50), tools: [{ name: 'read', description: message(700) }] }
    let error: unknown
    try {
      project(messages, {}, { budget: 200, frame: around })
    } catch (thrown) {
      error = thrown
    }
    expect(error).toMatchObject({ code: 'cannot-project' })
    const { message: text, details } = error as Error & { details: { parts: readonly string[] } }
    expect(details.parts.map((part) => part.replace(/ \d+$/, ''))).toEqual([
      'tools',
      'newest user message',
      'system text',
    ])
    expect(text).toMatch(/the budget is 200: tools \d+, newest user message \d+, system text \d+\./)
    expect(text).not.toContain('pin')
  })

  it('[RC2] names pins only where there are some', async () => {
    const thread = await openThread({ store: memoryStore() })
    const [first] = await thread.append([{ role: 'user', content: message(3000) }])
    await thread.append([
      { role: 'assistant', content: 'Noted.' },
      { role: 'user', content: 'Go on.' },
    ])
    await thread.pin(first?.id as string)
    await expect(thread.view({ budget: 500 })).rejects.toMatchObject({
      code: 'cannot-project',
      message: expect.stringMatching(/pinned messages \d+, newest user message \d+/),
    })
  })
})
