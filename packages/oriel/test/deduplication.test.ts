// Conversations whose tools read the same few files again and again, under every policy that takes something from the view.

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { memoryStore, openThread, type PolicyInput, project, type Thread } from '../src/index.ts'
import { scaledRuns } from './scaled-runs.ts'

type Message = Record<string, unknown>

/** Slices of three files, with line numbers or without. */
const output = fc
  .record({
    file: fc.nat({ max: 2 }),
    from: fc.nat({ max: 20 }),
    count: fc.integer({ min: 1, max: 20 }),
    isNumbered: fc.boolean(),
    extra: fc.constantFrom('', 'ok', 'a line of its own that is new here'),
  })
  .map(({ file, from, count, isNumbered, extra }) => {
    const lines = Array.from({ length: count }, (_, n) => {
      const line = `  file ${file} has the statement ${from + n}${(from + n) % 7 === 0 ? '()' : ''}`
      return isNumbered ? `${from + n}\t${line}` : line
    })
    return [...lines, ...(extra === '' ? [] : [extra])].join('\n')
  })

const step = fc.record({
  kind: fc.constantFrom('run', 'run', 'run', 'two', 'say', 'ask', 'paste'),
  output,
  other: output,
})

function historyOf(
  steps: readonly { readonly kind: string; readonly output: string; readonly other: string }[],
): readonly Message[] {
  const messages: Message[] = [{ role: 'user', content: 'Read the files.' }]
  steps.forEach(({ kind, output: first, other }, n) => {
    if (kind === 'ask') messages.push({ role: 'user', content: `And then ${n}?` })
    else if (kind === 'paste') messages.push({ role: 'user', content: other })
    else if (kind === 'say') messages.push({ role: 'assistant', content: other })
    else {
      const results = kind === 'two' ? [first, other] : [first]
      const make = (_: string, at: number) => ({
        id: `c${n}_${at}`,
        type: 'function',
        function: { name: 'run', arguments: `{"command":"cat ${n}"}` },
      })
      messages.push({ role: 'assistant', content: null, tool_calls: results.map(make) })
      for (const [at, content] of results.entries()) {
        messages.push({ role: 'tool', tool_call_id: `c${n}_${at}`, content })
      }
    }
  })
  return messages
}

const part = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: undefined })
const policies = fc
  .record({
    minChars: fc.integer({ min: 100, max: 300 }),
    history: part(fc.record({ length: fc.integer({ min: 1, max: 3 }) })),
    toolResults: part(
      fc.record({
        strategy: fc.constant('keepRecent' as const),
        max: fc.integer({ min: 1, max: 4 }),
        cutoff: fc.constant(0),
        placeholder: fc.constant('plain' as const),
      }),
    ),
    expiry: part(
      fc.record({
        tools: fc.record({
          run: fc.record({
            after: fc.integer({ min: 0, max: 3 }),
            mode: fc.constantFrom('compact' as const, 'remove' as const),
            length: fc.integer({ min: 20, max: 300 }),
          }),
        }),
      }),
    ),
    toolOutput: part(fc.record({ maxLines: fc.integer({ min: 4, max: 30 }) })),
  })
  .map(({ minChars, ...others }): PolicyInput => {
    const given = Object.entries(others).filter(([, value]) => value !== undefined)
    return { deduplication: { minChars }, ...Object.fromEntries(given) }
  })

/** Placeholders with handles may be longer in one log than in another, and then not be used. */
const withoutHandles = policies.map((policy) =>
  typeof policy === 'string' ? policy : { ...policy, expiry: undefined },
)

const histories = fc.array(step, { minLength: 1, maxLength: 14 }).map(historyOf)

/** The view after each message, as a host asks for it. */
async function fed(thread: Thread, history: readonly Message[], skipped: readonly number[] = []) {
  for (const [at, message] of history.entries()) {
    await thread.append([message], { format: 'openai-chat' })
    if (!skipped.includes(at)) await thread.view()
  }
  return thread.view<Message>()
}

/** Each line of a result that refers to others is in it, or in a message before it. */
function expectNothingLost(
  history: readonly Message[],
  messages: readonly Message[],
  ids: readonly string[],
): void {
  const original = new Map(
    history
      .filter(({ role }) => role === 'tool')
      .map((one) => [one.tool_call_id, String(one.content)]),
  )
  const above = new Set<string>()
  const bare = (line: string) => line.replace(/^ *\d+\t/, '').trimEnd()
  for (const { role, content, tool_call_id: call } of messages) {
    const lines = String(content ?? '')
      .split('\n')
      .map(bare)
    for (const line of lines) above.add(line)
    if (
      role !== 'tool' ||
      !ids.some(
        (id) => String(content).includes(`; id ${id}]`) && String(content).includes(' lines as '),
      )
    )
      continue
    for (const line of (original.get(call) ?? '').split('\n').map(bare))
      expect(above).toContain(line)
  }
}

describe('references to lines that the view shows', () => {
  it('[DD3] lose nothing, whatever else the policy takes away', () =>
    fc.assert(
      fc.property(histories, policies, (history, policy) => {
        const { messages, trace } = project(history, policy)
        const ids = trace.filter(({ rule }) => rule === 'deduplication').map(({ id }) => id)
        expectNothingLost(history, messages as readonly Message[], ids)
      }),
      { numRuns: scaledRuns(300) },
    ))

  it('[DD5] are the same in a thread that is fed message by message', () =>
    fc.assert(
      fc.asyncProperty(
        histories,
        withoutHandles,
        fc.array(fc.nat({ max: 30 })),
        async (history, policy, skipped) => {
          const thread = await openThread({ id: 't', store: memoryStore(), policy })
          const view = await fed(thread, history, skipped)
          const whole = project(history, policy)
          const bare = (messages: readonly unknown[]) =>
            JSON.stringify(messages).replaceAll(/\b(expand|id) e\w+/g, '$1 ID')
          expect(bare(view.messages)).toBe(bare(whole.messages as readonly unknown[]))
        },
      ),
      { numRuns: scaledRuns(150) },
    ))

  it('[DD3] [DD4] [I3] lose nothing under a cache-aware schedule with folds, marks and restarts', () =>
    fc.assert(
      fc.asyncProperty(
        histories,
        fc.integer({ min: 100, max: 300 }),
        fc.array(
          fc.tuple(fc.nat({ max: 30 }), fc.constantFrom('exclude', 'pin', 'undo', 'reopen')),
          { maxLength: 4 },
        ),
        async (history, minChars, marks) => {
          const store = memoryStore()
          const policy: PolicyInput = {
            preset: 'recommended',
            deduplication: { minChars },
            compaction: { contextWindow: 1500 },
          }
          let thread = await openThread({ id: 't', store, policy })
          const ids: string[] = []
          for (const [at, message] of history.entries()) {
            ids.push(
              ...(await thread.append([message], { format: 'openai-chat' })).map(({ id }) => id),
            )
            const { trace } = await thread.view()
            for (const [when, mark] of marks) {
              if (when !== at) continue
              const edit = trace.find(
                ({ rule }) => rule === 'deduplication' || rule === 'compaction',
              )
              const id = ids[(when * 7) % ids.length] as string
              if (id === ids[0]) continue
              if (mark === 'exclude') await thread.exclude(id)
              else if (mark === 'pin') await thread.pin(id)
              else if (mark === 'undo' && edit !== undefined)
                await thread.undo(edit.id).catch(() => undefined)
              else if (mark === 'reopen') thread = await openThread({ id: 't', store, policy })
            }
            const view = await thread.view<Message>()
            const again = await (await openThread({ id: 't', store, policy })).view<Message>()
            expect(again.messages).toEqual(view.messages)
            const own = view.trace
              .filter(({ rule }) => rule === 'deduplication')
              .map((one) => one.id)
            expectNothingLost(history, view.messages, own)
          }
        },
      ),
      { numRuns: scaledRuns(40) },
    ))
})
