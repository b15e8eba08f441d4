import { expect, test } from 'vitest'
import type { Block } from '../core/log/block.ts'
import type { ViewMessage } from '../core/view/view.ts'
import { project } from '../project.ts'
import { createLosses, noteInside, replaced } from './losses.ts'
import { formatNames } from './registry.ts'

const image = { type: 'image', mediaType: 'image/png', data: 'AAAA' } as const
const text = { type: 'text', text: 'a' } as const
const message: ViewMessage = { role: 'user', origin: 'user', blocks: [text, image] }

test('losses are listed by message and block, the worst of each block', () => {
  const losses = createLosses()
  expect(losses.found()).toEqual({})
  losses.noteFor(message, 3)(image, 'omitted', 'second')
  losses.noteFor(message, 3)(undefined, 'full', 'first')
  losses.noteFor(message, 2)(text, 'full', 'mild')
  losses.noteFor(message, 2)(text, 'dropped', 'worst')
  losses.noteFor(message, 2)(text, 'omitted', 'late')
  losses.noteFor(message, 2)({ ...image }, 'omitted', 'not a block of it')
  expect(losses.found().losses).toEqual([
    { message: 2, block: 0, form: 'dropped', reason: 'worst' },
    { message: 3, block: 0, form: 'full', reason: 'first' },
    { message: 3, block: 1, form: 'omitted', reason: 'second' },
  ])
})

test('a result is gone only if nothing inside it is left', () => {
  const told = (content: readonly Block[], lost: readonly Block[]) => {
    const result = { type: 'tool-result', callId: 'a', content } as const
    const notes: unknown[] = []
    const inside = noteInside(result, (block, form) => notes.push(block === result, form))
    for (const block of lost) inside.note(block, 'omitted', 'why')
    inside.tell()
    return notes
  }
  expect(told([image], [])).toEqual([])
  expect(told([image, { ...text, text: '' }], [image])).toEqual([true, 'omitted'])
  expect(told([image, text], [image])).toEqual([true, 'full'])
})

test('a picture is not gone if its stand-in has its address', () => {
  const forms: string[] = []
  const note = (_: unknown, form: string) => forms.push(form)
  expect(replaced(image, note, { reason: 'why' })).toBe('[image image/png]')
  expect(replaced({ type: 'image', url: 'https://a.test' }, note, { reason: 'why' })).toBe(
    '[image https://a.test]',
  )
  expect(forms).toEqual(['omitted', 'full'])
})

test.each(formatNames)(
  '[I14] in %s, half a character that is replaced is in the trace',
  (format) => {
    const [half, replacement] = ['a \ud83d b', 'a \ufffd b']
    const said = (role: string, text: string): object =>
      format === 'gemini'
        ? { role: role === 'user' ? role : 'model', parts: [{ text }] }
        : { role, content: text }
    const messages = [said('user', half), said('assistant', 'Yes?'), said('user', 'whole')]
    const view = project<object>(messages, undefined, { format })
    expect(view.messages).toMatchObject([said('user', replacement), {}, said('user', 'whole')])
    expect(view.trace).toMatchObject([
      {
        index: 0,
        form: 'full',
        rule: 'repair',
        reason: expect.stringContaining('half a character was replaced'),
      },
    ])
  },
)
