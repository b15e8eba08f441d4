import { describe, expect, it, vi } from 'vitest'
import { LineIndex } from '../core/text/repeats.ts'
import { project } from '../project.ts'
import { memoryStore } from '../stores/memory/index.ts'
import { openThread } from '../thread/thread.ts'

const file = Array.from(
  { length: 20 },
  (_, n) => `    statement ${'abcdefghijklmnopqrst'[n]} of main.ts`,
)
const whole = file.join('\n')
const changed = [...file.slice(0, 9), '    one new statement', ...file.slice(10)].join('\n')
const policy = { deduplication: {} }

let calls = 0
const call = (command: string) => {
  const id = `c${++calls}`
  const make = { name: 'run', arguments: JSON.stringify({ command }) }
  return {
    id,
    message: {
      role: 'assistant',
      content: null,
      tool_calls: [{ id, type: 'function', function: make }],
    },
  }
}
const ran = (command: string, content: unknown) => {
  const { id, message } = call(command)
  return [message, { role: 'tool', tool_call_id: id, content }]
}
const user = (content: string) => ({ role: 'user', content })
const contents = (messages: readonly unknown[]) =>
  messages.map((message) => (message as { readonly content: unknown }).content)

describe('a result that repeats what the view shows', () => {
  it('[DD1] [DD3] shows what is new, and names where the rest is', () => {
    const history = [user('go'), ...ran('cat main.ts', whole), ...ran('cat -A main.ts', changed)]
    const { messages, trace, tokens } = project(history, policy)
    const shown = String(contents(messages).at(-1))
    expect(shown.replaceAll(/id e\w+/g, 'id ID').split('\n')).toEqual([
      '[9 lines as in `cat main.ts` above; id ID]',
      '    one new statement',
      '[10 lines as in `cat main.ts` above]',
    ])
    expect(contents(messages)[2]).toBe(whole)
    expect(trace).toMatchObject([
      {
        rule: 'deduplication',
        form: 'clipped',
        canExpand: true,
        reason: '19 of 20 lines are shown further up',
      },
    ])
    expect(tokens.after).toBeLessThan(tokens.before)
  })

  it('[DD1] refers to what the user pasted, and to what the model wrote', () => {
    const pasted = project([user(whole), ...ran('cat main.ts', whole)], policy)
    expect(contents(pasted.messages).at(-1)).toMatch(
      /^\[20 lines as in the user's message; id e\w+\]$/,
    )
    const written = [user('go'), ...ran(`cat > main.ts <<EOF\n${whole}\nEOF`, 'ok')]
    const { messages } = project([...written, ...ran('cat main.ts', whole)], policy)
    expect(contents(messages).at(-1)).toMatch(/^\[20 lines as in your message above; id e\w+\]$/)
  })

  it('[DD2] shows a line once, with a count', () => {
    const waiting = [
      'start',
      ...Array.from({ length: 30 }, () => 'waiting for the server'),
      'ready',
    ]
    const { messages } = project([user('go'), ...ran('wait', waiting.join('\n'))], {
      deduplication: { countLines: true },
    })
    expect(
      String(contents(messages).at(-1))
        .replace(/id e\w+/, 'id ID')
        .split('\n'),
    ).toEqual(['start', 'waiting for the server', '[the line above 29 more times; id ID]', 'ready'])
  })

  it('[DD8] leaves out colours and what a progress bar wrote over', () => {
    const bar = Array.from({ length: 40 }, (_, n) => `\r${n * 2.5} % of the packages`).join('')
    const output = `\x1b[1m\x1b[32mInstalling\x1b[0m\n${bar}\r\nadded 412 packages\x1b]0;npm\x07`
    const { messages, trace } = project([user('go'), ...ran('npm install', output)], policy)
    expect(
      String(contents(messages).at(-1))
        .replace(/id e\w+/, 'id ID')
        .split('\n'),
    ).toEqual([
      'Installing',
      '97.5 % of the packages\r',
      'added 412 packages',
      '[without terminal codes; id ID]',
    ])
    expect(trace[0]?.reason).toMatch(/^\d+ characters are terminal codes or were overwritten$/)
    const few = project([user('go'), ...ran('ls', '\x1b[1mbin\x1b[0m')], policy)
    expect(few.trace).toEqual([])
  })

  it('[DD6] leaves pictures, pinned results and what was asked for as they are', async () => {
    const picture = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }
    const seen = [{ type: 'text', text: whole }, picture]
    const history = [user('go'), ...ran('cat main.ts', whole), ...ran('see', seen)]
    expect(project(history, policy).trace.map(({ rule }) => rule)).toEqual(['repair'])
    const thread = await openThread({ id: 't', store: memoryStore(), policy })
    const entries = await thread.append(
      [user('go'), ...ran('cat main.ts', whole), ...ran('cat main.ts', whole)],
      { format: 'openai-chat' },
    )
    await thread.pin(entries.at(-1)?.id as string)
    expect(contents((await thread.view()).messages).at(-1)).toBe(whole)
  })

  it('[DD6] leaves to `toolOutput` what it bounds', () => {
    const bounded = { toolOutput: { maxLines: 6 }, deduplication: {} }
    const history = [user('go'), ...ran('cat main.ts', whole), ...ran('cat main.ts', whole)]
    expect(project(history, bounded).trace.map(({ rule }) => rule)).toEqual([
      'toolOutput',
      'toolOutput',
    ])
  })
})

describe('a reference whose source leaves the view', () => {
  const windowed = { ...policy, history: { policy: 'lastN', length: 1 } } as const

  it('[DD4] gives way to the lines', () => {
    const history = [
      user('one'),
      ...ran('cat main.ts', whole),
      { role: 'assistant', content: 'done' },
      user('two'),
      ...ran('cat main.ts', changed),
      ...ran('cat main.ts', changed),
    ]
    const { messages } = project(history, windowed)
    expect(contents(messages)).toEqual([
      'two',
      null,
      changed,
      null,
      expect.stringMatching(/^\[20 lines/),
    ])
  })

  it('[DD4] comes back with it', async () => {
    const thread = await openThread({ id: 't', store: memoryStore(), policy })
    const entries = await thread.append(
      [user('go'), ...ran('cat main.ts', whole), ...ran('cat main.ts', changed)],
      { format: 'openai-chat' },
    )
    const first = await thread.view()
    const source = entries[2]?.id as string
    await thread.exclude(source)
    const { messages, trace } = await thread.view()
    expect(JSON.stringify(messages)).toContain(JSON.stringify(changed).slice(1, -1))
    expect(trace.some(({ rule }) => rule === 'deduplication')).toBe(false)
    await thread.exclude(source, { excluded: false })
    expect((await thread.view()).messages).toEqual(first.messages)
  })

  it('[DD4] [DD5] is written again by the fold that takes its source, and breaks nothing in between', async () => {
    const thread = await openThread({ id: 't', store: memoryStore(), policy: 'recommended' })
    const page = (n: number) =>
      Array.from({ length: 90 }, (_, m) => `page ${n}, entry ${m}: value_${n}_${m}`)
    await thread.append([user('go')])
    let before: readonly unknown[] = []
    let folds = 0
    for (let n = 0; n < 40; n++) {
      const text = [...page(n), ...page(n - 1).slice(30)].join('\n')
      await thread.append(ran(`read ${n}`, text), { format: 'openai-chat' })
      const { messages, trace, epoch } = await thread.view()
      const isFold = epoch.cause === 'limit'
      if (isFold) folds += 1
      else expect(messages.slice(0, before.length)).toEqual(before)
      before = messages
      const isShown = JSON.stringify(messages.slice(0, -1)).includes(`page ${n - 1}, entry 60`)
      if (!isShown) {
        expect(n === 0 || isFold).toBe(true)
        expect(contents(messages).at(-1)).toBe(text)
        continue
      }
      expect(trace.some(({ rule }) => rule === 'deduplication')).toBe(true)
      // The newest result refers to the page before, which is in the view.
      expect(String(contents(messages).at(-1))).toMatch(/60 lines as in `read \d+` above/)
      expect(JSON.stringify(messages.slice(0, -1))).toContain(`value_${n - 1}_89`)
    }
    expect(folds).toBeGreaterThan(0)
  })

  it('[DD6] stays away once it was undone', async () => {
    const thread = await openThread({ id: 't', store: memoryStore(), policy })
    await thread.append(
      [user('go'), ...ran('cat main.ts', whole), ...ran('cat main.ts', changed)],
      {
        format: 'openai-chat',
      },
    )
    const { trace } = await thread.view()
    await thread.undo(trace[0]?.id as string)
    expect(contents((await thread.view()).messages).at(-1)).toBe(changed)
    expect(contents((await thread.view()).messages).at(-1)).toBe(changed)
  })
})

describe('work per step', () => {
  it('[DD7] reads each message once', async () => {
    const add = vi.spyOn(LineIndex.prototype, 'add')
    const thread = await openThread({ id: 't', store: memoryStore(), policy })
    await thread.append([user('go')])
    for (let n = 0; n < 60; n++) {
      const text = Array.from({ length: 9 }, (_, m) => `page ${n}, entry ${m}: value_${n}_${m}`)
      await thread.append(ran(`read ${n}`, text.join('\n')), { format: 'openai-chat' })
      await thread.view()
    }
    expect(add).toHaveBeenCalledTimes(60)
    add.mockRestore()
  })
})
