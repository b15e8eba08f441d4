// What a checkpoint says of the work that it covers, with and without a model.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { EditEntry } from '../../core/log/entry.ts'
import { checkpointText, modelNotesIn, notesIn } from '../../core/text/checkpoint.ts'
import { resolveCounter } from '../../counters.ts'
import { memoryStore } from '../../stores/memory/index.ts'
import type { Summarize } from '../summaries/answer.ts'
import { openThread, type Thread } from '../thread.ts'

const titles = [
  'Goal',
  'Constraints & Preferences',
  'Progress',
  'Key Decisions',
  'Next Steps',
  'Critical Context',
]
const filler = 'plain words about nothing '.repeat(30)
const policy = { compaction: { maxTokens: 6000 }, memory: {} } as const

const open = (summarize?: Summarize, own: object = policy): Promise<Thread> =>
  openThread({
    id: 't',
    store: memoryStore(),
    policy: own,
    ...(summarize === undefined ? {} : { summarize }),
  })

let calls = 0
const act = async (
  thread: Thread,
  [tool, input, output, says = '']: readonly [string, object, string, string?],
  isError = false,
): Promise<void> => {
  const callId = `c${calls++}`
  await thread.append([
    {
      role: 'assistant',
      content: [
        ...(says === '' ? [] : [{ type: 'text', text: says } as const]),
        { type: 'tool-call', callId, name: tool, arguments: JSON.stringify(input) },
      ],
    },
    { role: 'tool', content: [{ type: 'tool-result', callId, content: output, isError }] },
  ])
}

const checkpoints = async (thread: Thread): Promise<readonly EditEntry[]> =>
  (await thread.log()).filter(
    (entry): entry is EditEntry => entry.type === 'edit' && entry.rule === 'compaction',
  )
const notesOf = async (thread: Thread): Promise<string> =>
  (await checkpoints(thread)).at(-1)?.text ?? ''
const headings = (text: string): readonly string[] =>
  [...text.matchAll(/^## (.+)$/gm)].map(([, title = '']) => title)
const section = (text: string, title: string): readonly string[] =>
  (text.split(`## ${title}\n`)[1] ?? '').split('\n\n', 1)[0]?.split('\n') ?? []

/** A piece of work as coding agents do it, and enough after it to fold it. */
const work = async (thread: Thread): Promise<void> => {
  await thread.append([{ role: 'user', content: 'Make the tests pass.' }])
  await act(thread, ['read', { path: 'src/core/deep/folder/of/the/project/parser.ts' }, filler])
  await act(thread, [
    'bash',
    { command: 'npm test' },
    '<returncode>1</returncode>\n2 failed, 5 passed',
  ])
  await act(thread, [
    'edit',
    { path: 'src/parser.ts', old: 'a', new: 'b' },
    'ok',
    'The root cause is that `parse` drops the last token. Let me fix it.',
  ])
  await act(thread, ['bash', { command: 'cd /repo && npm test 2>&1 | tail -20' }, '7 passed'])
  await act(thread, ['bash', { command: "cat > notes.md <<'EOF'\nsecret body\nEOF" }, ''])
  await act(thread, ['fetch', { url: 'https://example.com/api' }, 'connection refused'], true)
  await act(thread, [
    'bash',
    { command: 'python check.py' },
    'Traceback\nValueError: bad row\nexit code: 2',
  ])
  await act(thread, [
    'todo_write',
    {
      todos: [
        { content: 'Fix the parser', status: 'completed' },
        { content: 'Write the changelog', status: 'pending' },
      ],
    },
    'ok',
  ])
  await thread.append([{ role: 'assistant', content: filler }])
  await thread.append([{ role: 'user', content: 'Go on.' }])
  await thread.append([{ role: 'assistant', content: filler.repeat(9) }])
}

const written = (word: string): string => titles.map((title) => `## ${title}\n${word}.`).join('\n')

describe('the notes of a checkpoint', () => {
  it('[CN1] have headed sections in a fixed order, an empty one is left out, and a model fills the same ones', async () => {
    const without = await open()
    await work(without)
    await without.compact()
    const plain = await notesOf(without)
    expect(plain.startsWith('[Previous conversation summary]\n\n## ')).toBe(true)
    expect(headings(plain)).toEqual(titles.filter((title) => !/Goal|Constraints/.test(title)))
    const asked = await open(async () => written('Said by the model'))
    await work(asked)
    await asked.compact()
    const text = await notesOf(asked)
    expect(headings(text)).toEqual(titles)
    expect(section(text, 'Progress')).toEqual(['Said by the model.', ...section(plain, 'Progress')])
    expect(section(text, 'Critical Context').slice(1)).toEqual(section(plain, 'Critical Context'))
  })

  it('[CN2] name each action by what it was about, with its outcome', async () => {
    const thread = await open()
    await work(thread)
    await thread.compact()
    const text = await notesOf(thread)
    expect(section(text, 'Progress')).toEqual([
      `- read …/core/deep/folder/of/the/project/parser.ts: ${filler.trim().length} characters`,
      '- edit src/parser.ts: ok',
      '- npm test x2: 7 passed',
      '- cat > notes.md: ok',
      '- fetch https://example.com/api: failed: connection refused',
      '- python check.py: failed: ValueError: bad row',
      expect.stringMatching(/^- todo_write/),
    ])
    expect(text).not.toContain('secret body\n- ')
  })

  it('[CN3] say what was decided and what is open', async () => {
    const thread = await open()
    await work(thread)
    await thread.compact()
    const text = await notesOf(thread)
    expect(section(text, 'Key Decisions')).toEqual([
      '- The root cause is that `parse` drops the last token.',
    ])
    expect(section(text, 'Next Steps')).toEqual([
      '- Write the changelog',
      '- Failed when last run: python check.py',
    ])
  })

  it('[CN3] quote folded requests without the standing instructions in them', async () => {
    const thread = await open(undefined, { compaction: { maxTokens: 6000 } })
    await work(thread)
    await thread.append([
      { role: 'user', content: 'Now rename the module. From now on never touch the tests.' },
      { role: 'assistant', content: filler.repeat(9) },
      { role: 'user', content: 'Thanks.' },
      { role: 'assistant', content: filler.repeat(20) },
    ])
    await thread.compact()
    const text = await notesOf(thread)
    expect(section(text, 'Goal')).toContain('- Asked: "Now rename the module."')
    expect(section(text, 'Constraints & Preferences')[1]).toMatch(
      /^- From now on never touch the tests\. \(e\w+\)$/,
    )
  })

  it('[CN2] grow slowly: after ten folds the older actions are counted, and the newest are named', async () => {
    const counter = await resolveCounter('estimate')
    const thread = await open()
    await thread.append([{ role: 'user', content: 'Make the tests pass.' }])
    const sizes: number[] = []
    for (let round = 0; round < 10; round++) {
      for (let n = 0; n < 12; n++) {
        await act(thread, ['bash', { command: `make part-${round}-${n}` }, filler])
      }
      await thread.compact()
      sizes.push(counter.count(section(await notesOf(thread), 'Progress').join('\n')))
    }
    expect(await checkpoints(thread)).toHaveLength(10)
    expect(Math.max(...sizes)).toBeLessThanOrEqual(6000 * 0.07)
    const progress = section(await notesOf(thread), 'Progress')
    const [, counted = ''] = /^Besides: make x(\d+)/.exec(progress.at(-1) ?? '') ?? []
    const listed = progress.slice(0, -1)
    expect(listed.at(-1)).toMatch(/^- make part-9-\d+: ok$/)
    const folded = Number(/\[(\d+) earlier messages/.exec(await notesOf(thread))?.[1]) / 2
    expect(listed.length + Number(counted)).toBe(folded)
  })

  it('[CN4] offer to expand only where the request has the tool, and name no line by a bare id', async () => {
    const thread = await open()
    await work(thread)
    await thread.compact()
    const shown = async (frame: object): Promise<string> =>
      JSON.stringify((await thread.view({ frame })).messages)
    expect(await shown({})).not.toMatch(/expand e\w/)
    const tool = { type: 'function', function: { name: 'expand_message', parameters: {} } }
    expect(await shown({ tools: [tool] })).toMatch(/expand e\w+ to e\w+\]/)
    expect(await notesOf(thread)).not.toMatch(/^e\w+:$/m)
  })

  it('[CN1] are the text of the data that is stored with them, whatever was folded', async () => {
    const word = fc.constantFrom('npm test', 'git commit -m "x"', 'cat a/b.ts', 'rm -rf out')
    const action = fc.tuple(word, fc.string({ maxLength: 60 }), fc.string({ maxLength: 200 }))
    await fc.assert(
      fc.asyncProperty(
        fc.array(action, { minLength: 6, maxLength: 14 }),
        fc.boolean(),
        async (actions, hasModel) => {
          const thread = await open(hasModel ? async () => written('Done') : undefined)
          await thread.append([{ role: 'user', content: 'Begin.' }])
          for (const [command, output, says] of actions) {
            await act(thread, ['bash', { command }, `${output}\n${filler}`, says])
            await thread.append([{ role: 'user', content: `${says} ${filler}` }])
          }
          await thread.compact()
          const edit = (await checkpoints(thread)).at(-1)
          if (edit === undefined) return
          const model = modelNotesIn(edit.digest)
          const again = checkpointText(
            notesIn(edit.digest, () => false),
            model,
          )
          const lines = new Set(again.split('\n'))
          for (const line of (edit.text ?? '').split('\n')) expect(lines).toContain(line)
          if (model === undefined) expect(again).toBe(edit.text)
        },
      ),
      { numRuns: 25 },
    )
  })

  it('[CN4] hold nothing of a message that was excluded later', async () => {
    const thread = await open()
    await work(thread)
    const entries = (await thread.log()).filter(({ type }) => type === 'message')
    await thread.compact()
    for (const { id } of entries.slice(1, -3)) await thread.exclude(id)
    const { messages } = await thread.view<{ content?: unknown }>()
    const text = messages.map(({ content }) => String(content)).join('\n')
    expect(text).not.toMatch(/npm test|parser\.ts|root cause|changelog|check\.py|notes\.md/)
  })

  it('[CN5] of a model stay until a third of the limit is new, and then it is asked again, once', async () => {
    let asked = 0
    const thread = await open(
      async () => {
        asked += 1
        return written(`Round ${asked}`)
      },
      { compaction: { maxTokens: 6000, keepRecentTokens: 5000 } },
    )
    await thread.append([{ role: 'user', content: `Make the tests pass. ${filler.repeat(14)}` }])
    const pinned = await thread.append([
      { role: 'user', content: filler.repeat(16) },
      { role: 'assistant', content: 'Yes.' },
    ])
    for (const { id } of pinned) await thread.pin(id)
    for (let n = 0; n < 40; n++) {
      await act(thread, ['bash', { command: `make ${n}` }, filler.repeat(3)])
      await thread.view()
    }
    const folds = (await checkpoints(thread)).length
    expect(folds).toBeGreaterThan(3)
    expect(asked).toBeGreaterThan(1)
    expect(asked).toBeLessThan(folds)
    expect(await notesOf(thread)).toContain(`Round ${asked}.`)
  })
})
