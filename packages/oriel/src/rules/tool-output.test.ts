import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { project } from '../project.ts'
import { boundText } from './tool-output.ts'

const off = { maxLines: 0, maxBytes: 0, maxChars: 0, truncateMode: 'head_tail' } as const
const bytes = (text: string) => new TextEncoder().encode(text).length

const shown = (content: unknown, toolOutput: object) => {
  const messages = [
    { role: 'user', content: 'go' },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'c', type: 'function', function: { name: 'run', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'c', content },
  ]
  return project(messages, { toolOutput })
}

describe('what a model asked to see again', () => {
  it.each(['expand_message', 'oriel_expand_message'])(
    '[GX9] the result of %s is not cut',
    (name) => {
      const text = 'a line\n'.repeat(5000)
      const asked = (tool: string) => [
        { role: 'user', content: 'go' },
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'c', type: 'function', function: { name: tool, arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'c', content: text },
      ]
      const shownOf = (tool: string) =>
        project(asked(tool), { toolOutput: {} }).messages.at(-1) as { readonly content: string }
      expect(shownOf(name).content).toBe(text)
      expect(shownOf('run').content.length).toBeLessThan(text.length)
    },
  )
})

describe('bounded at birth (document 003)', () => {
  const numbered = (count: number) =>
    Array.from({ length: count }, (_, n) => `l${n + 1} ${'x'.repeat(90)}`).join('\n')

  it('[B1] head and tail of the lines stay, with a marker between and a notice', () => {
    const text = boundText(numbered(6), { ...off, maxLines: 4 }, 'e1')
    const lines = text.split('\n')
    expect(lines.slice(0, 5).map((line) => line.slice(0, 27).trim())).toEqual([
      expect.stringMatching(/^l1 x/),
      expect.stringMatching(/^l2 x/),
      '... [truncated 2 lines] ...',
      expect.stringMatching(/^l5 x/),
      expect.stringMatching(/^l6 x/),
    ])
    expect(text).toMatch(/\[tool output truncated: showing 5\/6 lines, .* expand e1\]$/)
  })

  it('[B1] head alone, where asked for or where there is no room for both', () => {
    expect(boundText(numbered(5), { ...off, maxLines: 2 }, 'e1')).toMatch(
      /^l1 x+\nl2 x+\n\n\[tool output/,
    )
    expect(boundText(numbered(9), { ...off, maxLines: 4, truncateMode: 'head' }, 'e1')).toMatch(
      /^l1 x+\nl2 x+\nl3 x+\nl4 x+\n\n\[tool output truncated: showing 4\/9 lines/,
    )
  })

  it('[B1] marker and notice are inside the budget, and no character is split', () => {
    const pieces = fc.array(fc.constantFrom('a', 'é', '漢', '🙂', '\n', 'word '), {
      minLength: 600,
      maxLength: 2000,
    })
    fc.assert(
      fc.property(
        pieces,
        fc.integer({ min: 400, max: 900 }),
        fc.boolean(),
        (parts, limit, isBytes) => {
          const text = parts.join('')
          const limits = { ...off, ...(isBytes ? { maxBytes: limit } : { maxChars: limit }) }
          if ((isBytes ? bytes(text) : text.length) <= limit) return
          const cut = boundText(text, limits, 'e1')
          expect(isBytes ? bytes(cut) : cut.length).toBeLessThanOrEqual(limit)
          expect(cut.isWellFormed()).toBe(true)
          expect(cut.startsWith(parts[0] as string)).toBe(true)
          expect(cut).toContain('... [truncated] ...')
        },
      ),
    )
  })

  it('[B1] an output within its limits comes back as it is; 0 switches a limit off', () => {
    expect(shown('short', {}).trace).toEqual([])
    expect(shown('x'.repeat(60_000), { maxBytes: 0 }).trace).toEqual([])
    expect(shown('x'.repeat(60_000), {}).trace).toMatchObject([
      { form: 'clipped', rule: 'toolOutput' },
    ])
  })

  it('[B2] a very large output becomes a notice with size, hash and handle', () => {
    const { messages } = shown('a'.repeat(300_000), {})
    expect(messages[2]?.content).toMatch(
      /^\[tool output too large: 300000 chars\]\nSHA256: [0-9a-f]{64}\nexpand e\w+, by lines or by query$/,
    )
  })

  it('[B3] pictures beside the text are kept', () => {
    const messages = [
      { role: 'user', content: 'go' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'run', input: {} }] },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'c',
            content: [
              { type: 'text', text: 'x'.repeat(60_000) },
              { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
            ],
          },
        ],
      },
    ]
    const { messages: sent } = project(messages, { toolOutput: {} }, { format: 'anthropic' })
    const content = sent[2]?.content as { content: { type: string; text?: string }[] }[] | undefined
    const block = content?.[0]
    expect(block?.content.map(({ type }) => type)).toEqual(['text', 'image'])
    expect(block?.content[0]?.text?.length).toBeLessThanOrEqual(51_200)
  })
})
