// Plugins, lifetimes, expiry, expansion, undo, changes of policy and failing models, in any order: what always holds.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type FormatName,
  memoryStore,
  openThread,
  type Plugin,
  type Policy,
  type Thread,
  validate,
} from '../src/index.ts'
import { factor, scaledRuns } from './scaled-runs.ts'

const formats: readonly FormatName[] = ['openai-chat', 'openai-responses', 'anthropic']
const words = (count: number) => Array.from({ length: count }, (_, n) => `word${n % 13}`).join(' ')

type Action =
  | { readonly type: 'user'; readonly size: number; readonly lifetime?: number }
  | { readonly type: 'step'; readonly tools: readonly number[]; readonly late: boolean }
  | { readonly type: 'say' }
  | { readonly type: 'view'; readonly format: number; readonly budget: boolean }
  | {
      readonly type: 'expand'
      readonly which: number
      readonly steps: number
      readonly part: boolean
    }
  | { readonly type: 'undo'; readonly which: number }
  | { readonly type: 'policy'; readonly policy: Policy }
  | { readonly type: 'reopen' }

const expiry = fc.record(
  {
    after: fc.integer({ min: 0, max: 3 }),
    mode: fc.constantFrom('none' as const, 'remove' as const, 'compact' as const),
    compact: fc.constantFrom('first-chars' as const, 'summary' as const),
    length: fc.constantFrom(40, 200),
    unit: fc.constantFrom('steps' as const, 'turns' as const),
  },
  { requiredKeys: ['after', 'mode'] },
)
const policies: fc.Arbitrary<Policy> = fc.record(
  {
    retention: fc.record({
      unit: fc.constantFrom('newer' as const, 'turns' as const, 'steps' as const),
    }),
    expiry: fc.record(
      {
        tools: fc.dictionary(fc.constantFrom('t0', 't*', '*'), expiry),
        kinds: fc.dictionary(fc.constantFrom('note', '*'), expiry),
        duplicates: fc.constant({}),
        relevance: fc.constant({}),
        preserveOriginals: fc.constantFrom(true, true, false),
      },
      { requiredKeys: [] },
    ),
    history: fc.record({ length: fc.integer({ min: 1, max: 4 }) }),
    toolResults: fc.record({
      strategy: fc.constantFrom('keepRecent' as const, 'dropAll' as const),
      max: fc.nat(3),
    }),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<Policy>

const actions: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('user' as const),
      size: fc.nat(80),
      lifetime: fc.nat(3),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      type: fc.constant('step' as const),
      tools: fc.array(fc.nat(2), { minLength: 1, maxLength: 3 }),
      late: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('say' as const) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('view' as const),
      format: fc.nat(2),
      budget: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('expand' as const),
      which: fc.nat(20),
      steps: fc.integer({ min: 1, max: 3 }),
      part: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('undo' as const), which: fc.nat(5) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('policy' as const), policy: policies }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('reopen' as const) }) },
)

/** Plugins that add this and that, and now and then fail. */
function pluginsOf(count: { asked: number }): readonly Plugin[] {
  return [
    {
      name: 'now',
      message: () => [
        { displayOnCurrentMessage: true, saveToChatHistory: false, content: `now ${words(10)}` },
        {
          displayOnCurrentMessage: false,
          saveToChatHistory: (count.asked++ % 3) + 1,
          content: 'kept',
        },
      ],
    },
    {
      name: 'bad',
      message: () => {
        if (count.asked++ % 2 === 0) throw new Error('bad')
        return [{ displayOnCurrentMessage: true, saveToChatHistory: true, content: 'always' }]
      },
    },
  ]
}

class Run {
  readonly #store = memoryStore()
  readonly #count = { asked: 0 }
  readonly #failing: boolean
  readonly #originals = new Map<string, string>()
  readonly #plugins: readonly Plugin[]
  #calls = 0
  thread!: Thread

  constructor(failing: boolean, hasPlugins: boolean) {
    this.#failing = failing
    this.#plugins = hasPlugins ? pluginsOf(this.#count) : []
  }

  async open(policy?: Policy): Promise<void> {
    this.thread = await openThread({
      id: 't',
      store: this.#store,
      now: () => 1,
      snapshotEvery: 5,
      plugins: this.#plugins,
      ...(policy === undefined ? {} : { policy }),
      summarize: async ({ text }) => {
        if (this.#failing) throw new Error('down')
        return `summary of ${text.length}`
      },
    })
  }

  async do(action: Action): Promise<void> {
    const { thread } = this
    switch (action.type) {
      case 'user': {
        const { size, lifetime = 0 } = action
        const content = [
          { type: 'text', text: `question ${words(size)}` },
          { type: 'text', text: `fades ${words(30)}`, lifetime: { newer: lifetime } },
        ]
        await thread.append({ role: 'user', content })
        if (size % 3 === 0) {
          await thread.append({
            role: 'user',
            origin: 'host',
            kind: 'note',
            content: `note ${words(60)}`,
          })
        }
        return
      }
      case 'step': {
        const calls = action.tools.map((tool) => ({ tool, callId: `c${this.#calls++}` }))
        await thread.append({
          role: 'assistant',
          content: calls.map(({ tool, callId }) => ({
            type: 'tool-call',
            callId,
            name: `t${tool}`,
            arguments: JSON.stringify({ tool }),
          })),
        })
        for (const { tool, callId } of calls) {
          const content =
            tool === 2 ? JSON.stringify([words(40), { n: this.#calls }]) : `${callId} ${words(90)}`
          const [entry] = await thread.append({
            role: 'tool',
            content: [{ type: 'tool-result', callId, content, isError: tool === 1 }],
          })
          this.#originals.set(entry?.id ?? '', content)
          if (action.late) await this.check()
        }
        return
      }
      case 'say':
        await thread.append({ role: 'assistant', content: 'said' })
        return
      case 'view':
        await this.check(formats[action.format], action.budget ? 4000 : undefined)
        return
      case 'expand': {
        const id = [...this.#originals.keys()][action.which % Math.max(1, this.#originals.size)]
        const range = action.part ? { lines: [0, 0] as const } : {}
        if (id !== undefined)
          await thread.expand(id, { inPlace: true, steps: action.steps, ...range })
        return
      }
      case 'undo': {
        const before = await thread.view({ dryRun: true })
        const live = [...before.trace].filter(
          ({ rule }) => rule === 'expiry' || rule === 'retention',
        )
        const edits = (await thread.log()).filter((entry) => entry.type === 'edit')
        const edit = edits[action.which % Math.max(1, edits.length)]
        if (edit === undefined || live.length === 0) return
        await thread.undo(edit.id).catch(() => undefined)
        return
      }
      case 'policy':
        await thread.setPolicy(action.policy)
        return
      case 'reopen':
        await thread.settled()
        await this.open()
    }
  }

  /** A view is valid, explained, the same again, and no form is longer than what it stands for. */
  async check(format: FormatName = 'openai-chat', budget?: number): Promise<void> {
    const options = { format, ...(budget === undefined ? {} : { budget }) }
    const view = await this.thread.view(options)
    const key = format === 'openai-responses' ? 'input' : 'messages'
    expect(validate(format, { [key]: view.messages })).toEqual([])
    expect(JSON.stringify(view.messages)).not.toContain('No result was recorded')
    for (const change of view.trace) {
      expect(change.reason).not.toBe('')
      expect(change.tokensAfter).toBeLessThanOrEqual(Math.max(change.tokensBefore, 0))
    }
    expect((await this.thread.view(options)).messages).toEqual(view.messages)
  }

  /** Every original comes back exactly, unless the policy forbids it. */
  async originals(): Promise<void> {
    for (const [id, text] of this.#originals) {
      const found = await this.thread.expand(id)
      if (found.ok) expect(found.text).toBe(text)
      else expect(found.reason).toContain('not preserved')
    }
  }
}

const scenario = fc.record({
  policy: policies,
  failing: fc.boolean(),
  hasPlugins: fc.boolean(),
  list: fc.array(actions, { minLength: 3, maxLength: 25 }),
})

describe('lifetimes in any order', () => {
  it(
    '[I2] [I4] [I8] [I11] every view is valid and explained, every original comes back',
    { timeout: 120_000 * factor },
    () =>
      fc.assert(
        fc.asyncProperty(scenario, async ({ policy, failing, hasPlugins, list }) => {
          const run = new Run(failing, hasPlugins)
          await run.open(policy)
          await run.do({ type: 'user', size: 5 })
          for (const action of list) await run.do(action)
          await run.check('anthropic')
          await run.originals()
        }),
        { numRuns: scaledRuns(150) },
      ),
  )

  it('[I12] undoing what one view applied shows what was there before', () =>
    fc.assert(
      fc.asyncProperty(scenario, async ({ policy, failing, list }) => {
        const run = new Run(failing, false)
        await run.open({})
        await run.do({ type: 'user', size: 5 })
        for (const action of list)
          if (action.type === 'step' || action.type === 'say') await run.do(action)
        const before = (await run.thread.view()).messages
        // What was not preserved does not come back.
        const expiry = { ...policy.expiry, preserveOriginals: true }
        await run.thread.setPolicy({ ...policy, expiry })
        const { epoch } = await run.thread.view()
        if (epoch.applied === 0) return
        await run.thread.undo(epoch.id)
        expect((await run.thread.view({ policy: {} })).messages).toEqual(before)
      }),
      { numRuns: scaledRuns(80) },
    ))
})
