import { describe, expect, it } from 'vitest'
import { validate } from '../../providers/registry.ts'
import { memoryStore } from '../../stores/memory/index.ts'
import type { ThreadEvent } from '../events.ts'
import type { ThreadOptions } from '../options.ts'
import { openThread } from '../thread.ts'
import type { Contribution, Plugin } from './plugin.ts'

const screen: Plugin = {
  name: 'browser',
  message: (message): Contribution[] => [
    {
      displayOnCurrentMessage: true,
      saveToChatHistory: false,
      content: `labelled ${message.content.length}`,
    },
    { displayOnCurrentMessage: false, saveToChatHistory: 2, content: 'plain picture' },
    { displayOnCurrentMessage: false, saveToChatHistory: true, content: 'page text' },
  ],
}
const open = (options: Partial<ThreadOptions> = {}) =>
  openThread({
    id: 't',
    store: memoryStore(),
    policy: { retention: {} },
    plugins: [screen],
    now: () => 1,
    ...options,
  })
const user = (n: number) => ({ role: 'user', content: `question ${n}` })
const answer = { role: 'assistant', content: 'answer' }
const call = (...ids: string[]) => ({
  role: 'assistant',
  content: ids.map((callId) => ({ type: 'tool-call', callId, name: 'look', arguments: '{}' })),
})
const result = (callId: string, isError = false) => ({
  role: 'tool',
  content: [{ type: 'tool-result', callId, content: `seen ${callId}`, isError }],
})
type Shown = { role: string; content: string | null | { text: string }[] }
const texts = (messages: readonly Shown[]) =>
  messages.map(({ role, content }) => {
    const text =
      typeof content === 'string' ? content : content?.map((part) => part.text.trim()).join('|')
    return `${role}: ${text}`
  })

describe('plugins of a thread', () => {
  it('[J2] the signal of a plugin that answered is not aborted; of one that failed it is', async () => {
    const signals: Record<string, AbortSignal> = {}
    const plugin = (name: string, rest: Partial<Plugin> = {}): Plugin => ({
      name,
      message: (_, { signal }) => {
        signals[name] = signal
        return name === 'late' ? new Promise(() => undefined) : []
      },
      system: ({ signal }) => {
        signals[`${name} system`] = signal
        if (name === 'broken') throw new Error('no')
        return 'here'
      },
      ...rest,
    })
    const late = plugin('late', { timeoutMs: 5 })
    const thread = await open({ plugins: [plugin('good'), plugin('broken'), late] })
    await thread.append(user(1))
    await thread.view()
    const aborted = Object.keys(signals).filter((name) => signals[name]?.aborted)
    expect(Object.keys(signals)).toHaveLength(6)
    expect(aborted).toEqual(['late', 'broken system'])
  })

  it('[L3] what is shown only now stands at the tail, and leaves without an edit', async () => {
    const thread = await open()
    await thread.append(user(1))
    const first = await thread.view<Shown>()
    expect(texts(first.messages)).toEqual([
      'user: question 1',
      'user: ### PLUGIN browser CONTEXT ###|labelled 1|',
    ])
    await thread.append([answer, user(2)])
    const second = await thread.view<Shown>()
    expect(texts(second.messages)).toEqual([
      'user: question 1|### PLUGIN browser CONTEXT ###|plain picture||page text|',
      'assistant: answer',
      'user: question 2',
      'user: ### PLUGIN browser CONTEXT ###|labelled 1|',
    ])
    expect(second.epoch.applied).toBe(0)
    const unshown = second.trace.filter(({ rule }) => rule === 'audience')
    expect(unshown.map(({ index }) => index)).toEqual([0, 0, 0, 2, 2, 2, 2, 2])
    expect((await thread.log()).some(({ type }) => type === 'edit')).toBe(false)
  })

  it('[DB15] what was shown for a call that was broken off does not come again with the next question', async () => {
    const thread = await open()
    await thread.append(user(1))
    const first = await thread.view<Shown>()
    expect((await thread.view()).messages).toEqual(first.messages)
    await thread.append(user(2))
    const second = await thread.view<Shown>()
    expect(JSON.stringify(second.messages).split('labelled')).toHaveLength(2)
    // Two questions at once, of which no request told the model: both are shown.
    const other = await open()
    await other.append([user(1), user(2)])
    const both = await other.view<Shown>()
    expect(JSON.stringify(both.messages).split('labelled')).toHaveLength(3)
  })

  it('[L3] what was shown is recorded: every request can be rebuilt', async () => {
    const thread = await open()
    const sent: unknown[] = []
    for (let n = 1; n <= 4; n++) {
      await thread.append(user(n))
      sent.push((await thread.view()).messages)
      await thread.append(answer)
    }
    for (let step = 1; step <= 4; step++) {
      const { body, exact } = await thread.requestAt(step)
      expect(exact).toBe(true)
      expect(body.messages).toEqual(sent[step - 1])
    }
  })

  it('[L3] what is shown only now costs tokens now, and none later', async () => {
    const long = 'many words of a page '.repeat(500)
    const page: Plugin = {
      name: 'p',
      message: () => [{ displayOnCurrentMessage: true, saveToChatHistory: false, content: long }],
    }
    const thread = await open({ plugins: [page] })
    await thread.append(user(1))
    const now = await thread.view()
    expect(now.tokens.after).toBeGreaterThan(2000)
    expect(now.tokens.before).toBe(now.tokens.after)
    await thread.append([answer])
    expect((await thread.view()).tokens.after).toBeLessThan(50)
    expect(thread.estimate()).toBeLessThan(50)
  })

  it('[L4] saved parts fade by their own lifetimes; the user speaks on', async () => {
    const thread = await open()
    for (let n = 1; n <= 4; n++) {
      await thread.append(user(n))
      await thread.append(answer)
    }
    await thread.append(user(5))
    const view = await thread.view<Shown>()
    const shown = texts(view.messages).filter((line) => line.includes('question'))
    expect(shown.map((line) => line.includes('plain picture'))).toEqual([
      false,
      false,
      true,
      true,
      false,
    ])
    expect(shown.every((line) => line.startsWith('user: question'))).toBe(true)
    expect(shown.slice(0, 4).every((line) => line.includes('page text'))).toBe(true)
  })

  it('[L4] in a long tool loop, what a plugin added to the newest user message fades too', async () => {
    const thread = await open()
    await thread.append(user(1))
    for (const id of ['a', 'b', 'c', 'd']) {
      await thread.append(call(id))
      await thread.append(result(id))
    }
    const [first] = texts((await thread.view<Shown>()).messages)
    expect(first).toBe('user: question 1|### PLUGIN browser CONTEXT ###|page text|')
  })

  it('[L5] tool results are enriched too, failed ones included, and no pair is broken', async () => {
    for (const format of ['openai-chat', 'anthropic', 'openai-responses'] as const) {
      const thread = await open()
      await thread.append(user(1))
      await thread.append(call('a', 'b'))
      await thread.append(result('a', true))
      // The exchange waits for its other result; what the plugin added does not end it.
      const waiting = await thread.view({ format })
      expect(JSON.stringify(waiting.messages)).not.toContain('No result was recorded')
      await thread.append(result('b'))
      const view = await thread.view({ format })
      const key = format === 'openai-responses' ? 'input' : 'messages'
      expect(validate(format, { [key]: view.messages })).toEqual([])
      expect(JSON.stringify(view.messages)).toContain('labelled')
      expect(view.trace.filter(({ reason }) => /moved|waits/.test(reason))).toEqual([])
      await thread.append([answer, user(2)])
      const later = await thread.view({ format })
      expect(validate(format, { [key]: later.messages })).toEqual([])
      // Once with the question, and once with the results of the step.
      expect(JSON.stringify(later.messages).split('page text')).toHaveLength(3)
    }
  })

  it('[DB15] plugins are asked once for the results of a step, so that parallel results do not age it', async () => {
    const asked: number[] = []
    const counting: Plugin = {
      ...screen,
      message: (message, context) => {
        asked.push(message.content.length)
        return screen.message?.(message, context)
      },
    }
    const thread = await open({ plugins: [counting] })
    await thread.append(user(1))
    await thread.append(call('a', 'b', 'c'))
    await thread.append([result('a'), result('b')])
    await thread.append(result('c'))
    await thread.append([call('d', 'e')])
    await thread.append([result('d'), result('e')])
    expect(asked).toEqual([1, 1, 2])
    // Saved for 2: the context of the question stands beside that of the first step.
    const shown = texts((await thread.view<Shown>()).messages)
    expect(shown.filter((line) => line.includes('plain picture'))).toHaveLength(2)
  })

  it('[DB15] a conversation that was had before is appended without asking for what was answered', async () => {
    const asked: string[] = []
    const counting: Plugin = {
      name: 'counting',
      message: ({ content }) => {
        asked.push(...content.flatMap((block) => (block.type === 'text' ? [block.text] : [])))
        return []
      },
    }
    const thread = await open({ plugins: [counting] })
    await thread.append([user(1), call('a'), result('a'), answer, user(2)])
    expect(asked).toEqual(['question 2'])
  })

  it('[L5] a resent history finds itself again, and asks plugins only for what is new', async () => {
    const asked: string[] = []
    const counting: Plugin = {
      ...screen,
      message: (message, context) => {
        asked.push(...message.content.map((block) => (block.type === 'text' ? block.text : '')))
        return screen.message?.(message, context)
      },
    }
    const thread = await open({ plugins: [counting] })
    const history = [user(1), answer, user(2)]
    expect(await thread.sync(history)).toMatchObject({ appended: 3, isForked: false })
    expect(await thread.sync(history)).toMatchObject({ appended: 0, matched: 3, isForked: false })
    const longer = [...history, answer, user(3)]
    expect(await thread.sync(longer)).toMatchObject({ appended: 2, matched: 3, isForked: false })
    expect(asked).toEqual(['question 2', 'question 3'])
    // A message whose id is there is not asked for again.
    await thread.append({ id: 'm', ...user(4) })
    await thread.append({ id: 'm', ...user(4) })
    expect(asked).toHaveLength(3)
  })

  it('[L6] a plugin that fails is an event, and the turn goes on', async () => {
    const events: ThreadEvent[] = []
    const bad: Plugin = {
      name: 'bad',
      timeoutMs: 5,
      message: () => new Promise(() => {}),
      system: () => {
        throw new Error('no')
      },
    }
    const thread = await open({ plugins: [bad, screen], on: (event) => events.push(event) })
    await thread.append(user(1))
    expect(JSON.stringify((await thread.view()).messages)).toContain('labelled')
    expect(events.filter(({ type }) => type === 'plugin-failed')).toMatchObject([
      { id: 'bad', thread: 't', reason: 'took longer than 5 ms' },
      { id: 'bad', reason: 'threw Error' },
    ])
  })

  it('[L7] system contributions stand behind the system text, each under its header', async () => {
    const plugins: Plugin[] = [
      { name: 'a', label: 'Maps', system: () => 'You can see maps.', tools: ['find_place'] },
      { name: 'b', description: 'Keeps notes.' },
      { name: 'c', system: () => '   ' },
    ]
    const thread = await open({ plugins })
    await thread.append([{ role: 'system', content: 'Be brief.' }, user(1)])
    const { messages } = await thread.view<Shown>()
    expect(messages.map(({ role }) => role)).toEqual(['system', 'system', 'user'])
    const parts = messages[1]?.content as { text: string }[] | undefined
    expect(parts?.map(({ text }) => text)).toEqual([
      'Plugins add context and tools to this conversation:',
      '\n\n### PLUGIN: Maps ###\n\n',
      'You can see maps.',
      '\nThe plugin provides and manages the following tools/functions:\n- find_place',
      '\n\n### PLUGIN: b ###\n\nKeeps notes.',
    ])
    const claude = await thread.view({ format: 'anthropic' })
    expect(JSON.stringify(claude.system)).toContain('You can see maps.')
    expect(validate('anthropic', { messages: claude.messages, system: claude.system })).toEqual([])
  })

  it('[L7] what plugins say in the system prompt is recorded when it changes, and asked once for a log', async () => {
    let asked = 0
    const clock: Plugin = { name: 'clock', system: () => `asked ${++asked} times` }
    const store = memoryStore()
    const thread = await open({ plugins: [clock], store })
    await thread.append(user(1))
    const first = await thread.view()
    expect((await thread.view()).messages).toEqual(first.messages)
    expect(asked).toBe(1)
    await thread.append([answer, user(2)])
    const second = await thread.view()
    expect(JSON.stringify(second.messages)).toContain('asked 2 times')
    expect(await thread.requestAt(1)).toMatchObject({ exact: true })
    const without = await openThread({ id: 't', store, now: () => 1 })
    expect(JSON.stringify((await without.view()).messages)).not.toContain('asked')
    expect((await without.requestAt(2)).exact).toBe(true)
  })

  it('[L7] system text counts in the budget', async () => {
    const loud: Plugin = { name: 'loud', system: () => 'words and more words '.repeat(200) }
    const thread = await open({ plugins: [loud] })
    await thread.append(user(1))
    await expect(thread.view({ budget: 100 })).rejects.toMatchObject({ code: 'cannot-project' })
    expect((await thread.view()).tokens.after).toBeGreaterThan(500)
  })
})
