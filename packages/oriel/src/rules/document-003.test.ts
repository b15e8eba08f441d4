// Every row of the tables of document 003 (tool output, summaries, compaction) that is not shown elsewhere, in its own words.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { State } from '../core/state/state.ts'
import { resolveCounter } from '../counters.ts'
import { project } from '../project.ts'
import { memoryStore } from '../stores/memory/index.ts'
import type { ThreadEvent } from '../thread/events.ts'
import type { SummaryJob } from '../thread/summaries/answer.ts'
import { openThread } from '../thread/thread.ts'
import { planCheckpoint } from './compaction.ts'

const words = (count: number) => 'some words to fill it '.repeat(count)
const user = (text = 'go') => ({ role: 'user', content: text })
const call = (id: string, name = 'look') => ({
  role: 'assistant',
  content: null,
  tool_calls: [{ id, type: 'function', function: { name, arguments: '{}' } }],
})
const result = (id: string, content: unknown) => ({ role: 'tool', tool_call_id: id, content })
const shown = (content: string, toolOutput: object): string =>
  String(project([user(), call('c'), result('c', content)], { toolOutput }).messages[2]?.content)
const none = { maxLines: 0, maxBytes: 0, maxChars: 0, largeOutputThreshold: 0 }

describe('tool output, row by row', () => {
  it('[B1] two of three lines: the head stays', () => {
    expect(shown('line1\nline2\nline3', { ...none, maxLines: 2 })).toBe('line1\nline2…')
  })

  it('[B1] [DA3] lines of both ends with a sign between, where no notice fits', () => {
    expect(shown('l1\nl2\nl3\nl4\nl5\nl6', { ...none, maxLines: 4 })).toBe('l1\nl2\n…\nl5\nl6')
  })

  it.each([
    ['123456789', { maxBytes: 5 }, '12…'],
    ['123456789', { maxBytes: 8 }, '12345…'],
    ['a b c d e', { maxChars: 8 }, 'a b c d…'],
    ['total: 123456', { maxChars: 10 }, 'total: 12…'],
  ])('[B1] [DA3] a tight limit holds, the sign of the cut included: %s %j', (text, limit, cut) => {
    expect(shown(text, { ...none, ...limit })).toBe(cut)
  })

  it.each([
    ['Chinese', '漢字の出力。'.repeat(2845)],
    ['Cyrillic', 'строка вывода '.repeat(2000)],
  ])('[DA3] %s just above the limit of bytes ends with the notice', (_, text) => {
    const bytes = Buffer.byteLength(text)
    const cut = shown(text, { ...none, maxBytes: bytes - 1 })
    expect(cut).toMatch(/\[tool output truncated: showing .* bytes, .* chars; expand e\w+\]$/)
    expect(Buffer.byteLength(cut)).toBeLessThan(bytes)
  })

  it('[B1] [DA3] every cut is within its limits, shorter than the output, and has a sign', () => {
    const pieces = fc.array(fc.constantFrom('a', 'é', '漢', '🙂', '\n', 'word ', 'row\n'), {
      minLength: 2,
      maxLength: 200,
    })
    const limit = fc.integer({ min: 1, max: 300 })
    const limits = fc.record(
      { maxChars: limit, maxBytes: limit, maxLines: fc.integer({ min: 1, max: 20 }) },
      { requiredKeys: [] },
    )
    const mode = fc.constantFrom('head' as const, 'head_tail' as const)
    fc.assert(
      fc.property(pieces, limits, mode, (parts, own, truncateMode) => {
        const text = parts.join('')
        const cut = shown(text, { ...none, ...own, truncateMode })
        const { maxChars = Infinity, maxBytes = Infinity } = own
        const isOver = text.length > maxChars || Buffer.byteLength(text) > maxBytes
        if (!isOver && cut === text) return
        expect(cut.length).toBeLessThanOrEqual(Math.min(maxChars, text.length))
        expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(maxBytes)
        expect(cut).toMatch(/truncated|…|^.?~$/su)
      }),
    )
  })

  it('[B1] [DA3] what is beyond the cutoff never grows above the limits of its output', () => {
    const output = 'A line of output, number 7342.\n'.repeat(40)
    const history = ['a', 'b', 'c'].flatMap((id) => [call(id), result(id, output)])
    const messages = [user(), ...history, user('on')]
    const policy = { toolOutput: { maxChars: 300 }, toolResults: { cutoff: 1 } }
    const texts = project(messages, policy).messages.map(({ content }) => String(content))
    expect(texts.filter((text) => text.length > 300)).toEqual([])
  })

  it('[B2] at the threshold an output is shown, above it a notice; 0 is never', () => {
    const text = 'a'.repeat(300)
    expect(shown(text, { ...none, largeOutputThreshold: 300 })).toBe(text)
    expect(shown(text, { ...none, largeOutputThreshold: 299 })).toMatch(
      /^\[tool output too large: 300 chars\]\nSHA256: [0-9a-f]{64}\n/,
    )
    expect(shown(text, none)).toBe(text)
  })

  it('[B2] a notice that is no shorter than the output is not shown; the limits hold all the same', () => {
    const text = 'a'.repeat(64)
    expect(shown(text, { ...none, largeOutputThreshold: 32 })).toBe(text)
    expect(shown(text, { ...none, largeOutputThreshold: 32, maxChars: 40 })).toHaveLength(40)
  })

  it('[DA3] the notice never tells of more than there was', () => {
    for (const text of ['q'.repeat(5000), `${'q'.repeat(2500)}\n${'r'.repeat(2500)}`]) {
      for (const limits of [{ maxChars: 400 }, { maxBytes: 900 }, { maxLines: 1, maxChars: 900 }]) {
        const said = shown(text, limits)
        const pairs = [...said.matchAll(/(\d+)\/(\d+) (?:lines|bytes|chars)/g)]
        expect(pairs).toHaveLength(3)
        for (const [, some, all] of pairs) expect(Number(some)).toBeLessThanOrEqual(Number(all))
      }
    }
  })

  it('[B1] the tail survives the cut by bytes too', () => {
    const lines = Array.from({ length: 4000 }, (_, n) => `line ${n} ${'x'.repeat(40)}`)
    const text = shown(lines.join('\n'), {})
    expect(new TextEncoder().encode(text).length).toBeLessThanOrEqual(51_200)
    expect(text).toMatch(/^line 0 x/)
    expect(text).toMatch(/line 3999 x+\n\n\[tool output truncated: showing/)
  })

  it('[B1] an error is bounded like any other result', () => {
    const use = { type: 'tool_use', id: 'c', name: 'run', input: {} }
    const failed = {
      type: 'tool_result',
      tool_use_id: 'c',
      is_error: true,
      content: `Error: ${'x'.repeat(733_000)}`,
    }
    const { messages } = project(
      [user(), { role: 'assistant', content: [use] }, { role: 'user', content: [failed] }],
      { toolOutput: {} },
      { format: 'anthropic' },
    )
    const [block] = (messages[2] as unknown as { content: unknown }).content as {
      content: string
      is_error: boolean
    }[]
    expect(block?.is_error).toBe(true)
    expect(JSON.stringify(block).length).toBeLessThan(51_500)
  })
})

describe('summaries of results, row by row', () => {
  const open = async (summary: 'llm' | 'heuristic', summarize: () => Promise<string>) => {
    const policy = { toolResults: { strategy: 'keepAll', cutoff: 1, summary } } as const
    const thread = await openThread({ id: 't', store: memoryStore(), policy, summarize })
    const failed = {
      type: 'tool_result',
      tool_use_id: 'a',
      is_error: true,
      content: `boom ${words(60)}`,
    }
    const uses = ['a', 'b'].map((id) => ({
      role: 'assistant',
      content: [{ type: 'tool_use', id, name: id === 'a' ? 'bash' : 'read', input: {} }],
    }))
    const read = { type: 'tool_result', tool_use_id: 'b', content: `fine ${words(60)}` }
    await thread.append(
      [
        user(),
        uses[0] as object,
        { role: 'user', content: [failed] },
        uses[1] as object,
        { role: 'user', content: [read] },
      ],
      { format: 'anthropic' },
    )
    const { messages } = await thread.view({ format: 'openai-chat' })
    return messages.map((message) => String((message as { content?: unknown }).content))
  }

  it('[G3] a model that fails leaves the heuristic, with the status', async () => {
    const contents = await open('llm', () => Promise.reject(new Error('no key')))
    expect(contents[2]).toMatch(/^Tool "bash" finished with status error\. Output excerpt:\nboom/)
    expect(contents[4]).toMatch(/^fine/)
  })

  it('[G3] the heuristic never asks a model', async () => {
    let calls = 0
    const contents = await open('heuristic', async () => {
      calls += 1
      return 'never'
    })
    expect(contents[2]).toMatch(/finished with status error/)
    expect(calls).toBe(0)
  })

  it('[G3] people still see the original: the log and its visibility are as they were', async () => {
    const thread = await openThread({
      id: 't',
      store: memoryStore(),
      policy: { toolResults: { strategy: 'keepAll', cutoff: 1, summary: 'heuristic' } },
    })
    const hidden = { role: 'user', content: 'for people', audience: { now: false, later: false } }
    const messages = [user(), call('a'), result('a', words(80)), call('b'), result('b', words(80))]
    await thread.append(messages, { format: 'openai-chat' })
    await thread.append([{ ...hidden, kind: 'tool_summary' }])
    const before = (await thread.log()).filter(({ type }) => type === 'message')
    const view = await thread.view<{ content: unknown }>()
    expect(view.messages.map(({ content }) => content)).not.toContain('for people')
    expect((await thread.log()).filter(({ type }) => type === 'message')).toEqual(before)
    expect(before.at(-1)).toMatchObject({ kind: 'tool_summary', audience: hidden.audience })
  })

  it('[M4] a summarizer that never answers does not hold up a cache-aware view', async () => {
    const thread = await openThread({
      id: 't',
      store: memoryStore(),
      policy: {
        toolResults: { strategy: 'keepAll', cutoff: 1 },
        compaction: { maxTokens: 500 },
        schedule: 'cache-aware',
      },
      summarize: () => new Promise(() => undefined),
    })
    const rounds = Array.from({ length: 8 }, (_, n) => [call(`c${n}`), result(`c${n}`, words(60))])
    await thread.append([user(), ...rounds.flat()], { format: 'openai-chat' })
    const { messages } = await thread.view()
    expect(messages).toHaveLength(17)
  })
})

describe('compaction, row by row', () => {
  const stateOf = (contents: readonly string[]): State => {
    const state = new State({ counter: resolveCounter('estimate'), salt: 's' })
    contents.forEach((text, index) => {
      const role = index % 2 === 0 ? 'user' : 'assistant'
      state.apply({
        type: 'message',
        id: `e${index}` as never,
        seq: index + 1,
        at: 0,
        turn: 1,
        step: 1,
        role,
        origin: role,
        blocks: [{ type: 'text', text }],
      })
    })
    return state
  }
  const planOf = (state: State, settings: object, frameTokens = 0) =>
    planCheckpoint(state, settings, { frameTokens, planned: [] }).state

  it('[K1] messages count where no limit in tokens is known: 5 are not enough, 15 are', () => {
    const settings = { maxMessages: 10, maxTokens: 0, keepRecentTokens: 0, keepRecent: 2 }
    const texts = (count: number) => Array.from({ length: count }, (_, n) => `m${n} ${words(9)}`)
    expect(planOf(stateOf(texts(5)), settings)).toBe('idle')
    expect(planOf(stateOf(texts(15)), settings)).toBe('due')
    expect(planOf(stateOf(texts(15)), { ...settings, auto: false })).toBe('idle')
  })

  it('[K1] the frame counts: what stands around the messages is part of the request', () => {
    const state = stateOf(Array.from({ length: 12 }, () => words(40)))
    expect(planOf(state, { maxTokens: 4000 })).toBe('idle')
    expect(planOf(state, { maxTokens: 4000 }, 2000)).toBe('due')
    expect(planOf(state, { maxTokens: 4000 }, 4000)).toBe('hopeless')
  })

  it('[K2] the newest messages that fit stay, the others fold, the goal stays', () => {
    const contents = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((name) => `${name} ${words(20)}`)
    const messages = contents.map((content, index) => ({
      role: index % 2 === 0 ? 'user' : 'assistant',
      content,
    }))
    const { messages: sent } = project(messages, {
      compaction: { maxTokens: 0, maxMessages: 5, keepRecentTokens: 0, keepRecent: 2 },
    })
    expect(sent.map(({ content }) => content.split(' ')[0])).toEqual(['a', '[Previous', 'f', 'g'])
  })

  it('[K2] an exchange folds whole: no result stays without its call, no call without its result', () => {
    const rounds = Array.from({ length: 12 }, (_, n) => [call(`c${n}`), result(`c${n}`, words(40))])
    const { messages } = project([user(), ...rounds.flat(), user('and?')], {
      compaction: { maxTokens: 2000 },
    })
    const calls = messages.flatMap((message) =>
      'tool_calls' in message ? (message.tool_calls?.map(({ id }) => id) ?? []) : [],
    )
    const answered = messages.flatMap((message) =>
      'tool_call_id' in message ? [message.tool_call_id] : [],
    )
    expect(calls.length).toBeGreaterThan(0)
    expect(answered).toEqual(calls)
  })

  it('[K5] a refusal is answered once, without a model, with events; the next step is smaller too', async () => {
    const jobs: SummaryJob[] = []
    const events: ThreadEvent[] = []
    const thread = await openThread({
      id: 't',
      store: memoryStore(),
      policy: { compaction: { contextWindow: 200_000 } },
      on: (event) => events.push(event),
      summarize: async (job) => {
        jobs.push(job)
        return 'never'
      },
    })
    const turns = Array.from({ length: 40 }, (_, n) => [
      user(`question ${n} ${words(40)}`),
      { role: 'assistant', content: `answer ${n} ${words(40)}` },
    ])
    await thread.append([...turns.flat(), user('the newest')])
    const refused = await thread.view()
    const { after } = refused.tokens
    const error = { status: 400, message: `prompt is too long: ${after} tokens > 3000 maximum` }
    const view = await thread.recover<{ content: unknown }>(error)
    expect(view.tokens.after).toBeLessThan(3000)
    expect(view.messages.at(-1)?.content).toBe('the newest')
    expect(jobs).toEqual([])
    expect(events.filter(({ type }) => /compaction|recovery/.test(type))).toMatchObject([
      { type: 'compaction-started', trigger: 'recovery' },
      { type: 'compaction-ended', trigger: 'recovery', messages: { before: 81 } },
      { type: 'recovery', tokens: { before: after, after: view.tokens.after } },
    ])
    await expect(thread.recover(error)).rejects.toMatchObject({ code: 'cannot-project' })
    await thread.append([{ role: 'assistant', content: 'ok' }, user('next')])
    expect((await thread.view()).tokens.after).toBeLessThan(3000)
  })

  it('[K5] a refusal that nothing can cure says so', async () => {
    const thread = await openThread({ id: 't', store: memoryStore() })
    await thread.append([user(`all in one ${words(500)}`)])
    await thread.view()
    const error = { status: 400, code: 'context_length_exceeded' }
    await expect(thread.recover(error)).rejects.toMatchObject({ code: 'cannot-project' })
  })

  it('[P1] the preset compaction has the defaults of the document', () => {
    const long = Array.from({ length: 40 }, (_, n) => [
      user(`question ${n} ${words(50)}`),
      { role: 'assistant', content: `answer ${n} ${words(50)}` },
    ]).flat()
    const { messages, tokens } = project(long, 'compaction')
    expect(tokens.before).toBeGreaterThan(8000)
    // Half of the limit stays, and the first message and the summary come on top.
    expect(tokens.after).toBeLessThan(8000 * 0.7)
    expect(messages[1]?.content).toMatch(/^\[Previous conversation summary\]/)
    expect(project(long.slice(0, 20), 'compaction').messages).toHaveLength(20)
  })
})
