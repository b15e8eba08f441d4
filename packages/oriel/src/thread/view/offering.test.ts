import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Json } from '../../core/log/json.ts'
import type { PolicyInput } from '../../policy/schema.ts'
import { project } from '../../project.ts'
import { validate } from '../../providers/registry.ts'
import { memoryStore } from '../../stores/memory/index.ts'
import { conversationOf, policyPartsArbitrary } from '../../testing/index.ts'
import { openThread, type Thread } from '../thread.ts'
import type { ViewOptions } from './view.ts'

const read = { name: 'read' }
const expandMessage = { name: 'expand_message' }
const frame = { tools: [read] }
const expand = { tool: 'expand_message', frame: { tools: [read, expandMessage] } }
const asked: ViewOptions = { format: 'openai-chat', frame, expand }

/** Words that a model would follow. */
const hint = /expand e[0-9a-z]{3,}|expansion if needed/

const exchange = (index: number, size = 40): readonly object[] => [
  {
    role: 'assistant',
    content: null,
    tool_calls: [
      {
        id: `call_${index}`,
        type: 'function',
        function: { name: 'read', arguments: `{"path":"part_${index}.ts"}` },
      },
    ],
  },
  {
    role: 'tool',
    tool_call_id: `call_${index}`,
    content: `Part ${index}.\n${'Some words of the file.\n'.repeat(size)}`,
  },
]

/** Hints of a view that name something of its own log: contents may say anything. */
async function ownHints(thread: Thread, messages: readonly Json[]): Promise<readonly string[]> {
  const said = [...JSON.stringify(messages).matchAll(/expand (e[0-9a-z]{3,})/g)]
  const found = await Promise.all(said.map(([, id = '']) => thread.hints(id)))
  return said.flatMap(([text], index) => (found[index]?.ok === true ? [text] : []))
}

const open = (policy: PolicyInput, store = memoryStore()): Promise<Thread> =>
  openThread({ id: 't', store, policy, now: () => 1000 })

async function say(thread: Thread, ...messages: readonly object[]): Promise<void> {
  await thread.append(messages, { format: 'openai-chat' })
}

/** One policy for each form that names an id. */
const forms: readonly (readonly [string, PolicyInput])[] = [
  ['placeholders', { toolResults: { strategy: 'keepRecent', max: 1, cutoff: 0 } }],
  ['output cut at birth', { toolOutput: { maxLines: 5 } }],
  ['output too large to show', { toolOutput: { largeOutputThreshold: 400 } }],
  ['compacted results', { expiry: { tools: { '*': { after: 1, mode: 'compact', length: 80 } } } }],
  ['removed results', { expiry: { tools: { '*': { after: 1, mode: 'remove' } } } }],
  ['a checkpoint', { compaction: { maxTokens: 600, keepRecentTokens: 100 } }],
]

describe('the expand tool', () => {
  test.each(forms)(
    '[X8] comes with the first request that has %s, and stays',
    async (_, policy) => {
      const store = memoryStore()
      const thread = await open({ schedule: 'immediate', ...(policy as object) }, store)
      await say(thread, { role: 'user', content: 'Read the files.' })
      const first = await thread.view(asked)
      expect(first.offersExpansion).toBe(false)
      expect(thread.expandTool).toBeUndefined()
      for (let index = 0; index < 6; index++) {
        await say(thread, ...exchange(index))
        const view = await thread.view(asked)
        expect(hint.test(JSON.stringify(view.messages))).toBe(view.offersExpansion)
      }
      expect((await thread.view(asked)).offersExpansion).toBe(true)
      expect(thread.expandTool).toBe('expand_message')
      const epochs = new Set(
        (await thread.log()).flatMap((one) => (one.type === 'edit' ? [one.epoch] : [])),
      )
      for (const epoch of [...epochs].reverse()) await thread.undo(epoch ?? '').catch(() => {})
      await thread.setPolicy({})
      const again = await openThread({ id: 't', store })
      expect(again.expandTool).toBe('expand_message')
      expect((await again.view(asked)).offersExpansion).toBe(true)
      const fork = await again.fork(3)
      expect(fork.expandTool).toBe('expand_message')
    },
  )

  test.each(forms)('[X8] a request without it has no words about it: %s', async (_, policy) => {
    const messages = [
      { role: 'user', content: 'Read the files.' },
      ...Array.from({ length: 6 }, (_one, index) => exchange(index)).flat(),
      { role: 'user', content: 'And now?' },
    ]
    const own = { schedule: 'immediate', ...(policy as object) } as PolicyInput
    const show = (tools?: readonly Json[]): string =>
      JSON.stringify(project(messages, own, tools && { frame: { tools } }).messages)
    expect(show([read])).not.toMatch(hint)
    expect(show([read, expandMessage])).toMatch(hint)
    // The ids stay, for people and for agents that reach them otherwise.
    expect(show([read])).toMatch(/\be[0-9a-z]{3,}\b/)
  })

  test('[X8] words of an original are never touched', async () => {
    const text =
      'Please [expand e7k2] and ; expand e7k2] it. Agent can request expansion if needed: e7k2'
    const { messages } = project(
      [{ role: 'user', content: text }],
      {},
      { frame: { tools: [read] } },
    )
    expect(messages).toEqual([{ role: 'user', content: text }])
  })

  test('[X8] is added in the step whose edits break the prefix, and never again changes it', async () => {
    const thread = await open({
      toolResults: { strategy: 'keepRecent', max: 1, cutoff: 0 },
      schedule: 'immediate',
    })
    await say(thread, { role: 'user', content: 'Read the files.' })
    await thread.view(asked)
    const offered: boolean[] = []
    const applied: number[] = []
    for (let index = 0; index < 5; index++) {
      await say(thread, ...exchange(index))
      const view = await thread.view(asked)
      offered.push(view.offersExpansion)
      applied.push(view.epoch.applied)
    }
    const at = offered.indexOf(true)
    expect(at).toBeGreaterThan(0)
    expect(offered.slice(at)).not.toContain(false)
    expect(applied[at]).toBeGreaterThan(0)
    expect(applied.slice(0, at)).toEqual(Array.from({ length: at }, () => 0))
    const frames = (await thread.log()).flatMap((one) =>
      one.type === 'request' ? [one.frameHash] : [],
    )
    expect(new Set(frames).size).toBe(2)
  })

  test('[X8] a budget that has no room for it goes without, and a dry run tells what would be sent', async () => {
    const thread = await open({ compaction: { maxTokens: 600, keepRecentTokens: 100 } })
    const files = [0, 1, 2, 3, 4].flatMap((index) => exchange(index))
    await say(thread, { role: 'user', content: 'Read.' }, ...files)
    const large = {
      ...expand,
      frame: { tools: [{ ...expandMessage, text: 'words '.repeat(3000) }] },
    }
    const tight = await thread.view({ ...asked, expand: large, budget: 500 })
    expect(tight.offersExpansion).toBe(false)
    const dry = await thread.view({ ...asked, dryRun: true })
    expect([dry.offersExpansion, thread.expandTool]).toEqual([true, undefined])
    expect((await thread.view(asked)).messages).toEqual(dry.messages)
  })

  test('[X8] reasoning that is signed for other tools is left out, but an open loop keeps its tools', async () => {
    const options = { ...asked, format: 'anthropic' } as const
    const thread = await open({
      toolResults: { strategy: 'keepRecent', max: 1, cutoff: 0, placeholder: 'informative' },
      schedule: 'immediate',
    })
    const step = (index: number): readonly object[] => [
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: `Thought ${index}.`, signature: `signed-${index}` },
          { type: 'tool_use', id: `c${index}`, name: 'read', input: { index } },
        ],
      },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: `c${index}`, content: 'words '.repeat(300) }],
      },
    ]
    await thread.append([{ role: 'user', content: 'Read.' }, ...step(0)], { format: 'anthropic' })
    const views = [await thread.view(options)]
    for (const index of [1, 2]) {
      await thread.append(step(index), { format: 'anthropic' })
      views.push(await thread.view(options))
    }
    expect(views.map(({ offersExpansion }) => offersExpansion)).toEqual([false, false, false])
    const end = [
      { role: 'assistant', content: 'Done.' },
      { role: 'user', content: 'More?' },
    ]
    await thread.append(end, { format: 'anthropic' })
    const next = await thread.view(options)
    expect(next.offersExpansion).toBe(true)
    expect(JSON.stringify(next.messages)).not.toContain('signed-')
    await thread.append(step(3), { format: 'anthropic' })
    const later = JSON.stringify((await thread.view(options)).messages)
    expect(later).toContain('signed-3')
    expect(later).not.toMatch(/signed-[012]/)
  })

  test.each([
    'openai-chat',
    'openai-responses',
    'anthropic',
    'gemini',
    'ai-sdk',
    'langchain',
  ] as const)('[X8] holds for every conversation in %s', async (format) => {
    await fc.assert(
      fc.asyncProperty(
        conversationOf(format),
        policyPartsArbitrary(),
        async (conversation, policy) => {
          const store = memoryStore()
          const thread = await open({ ...policy, schedule: 'immediate' }, store)
          let wasOffered = false
          for (const message of conversation as readonly object[]) {
            await thread.append([message], { format })
            const view = await thread.view({ ...asked, format }).catch(() => undefined)
            if (view === undefined) continue
            if (wasOffered) expect(view.offersExpansion).toBe(true)
            wasOffered = view.offersExpansion
            if (!wasOffered) expect(await ownHints(thread, view.messages)).toEqual([])
            const again = await (await openThread({ id: 't', store })).view({ ...asked, format })
            expect(again.messages).toEqual(view.messages)
            expect(validate(format, view.messages as Json[]).length).toBe(0)
          }
        },
      ),
      { numRuns: 15 },
    )
  })
})
