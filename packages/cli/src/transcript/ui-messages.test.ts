import { convertToModelMessages, type UIMessage } from 'ai'
import { validate } from 'oriel'
import { expect, it } from 'vitest'
import { detectFormat } from './detect.ts'
import { fromUiMessages } from './ui-messages.ts'

const page: UIMessage[] = [
  { id: '1', role: 'system', parts: [{ type: 'text', text: 'Be brief.' }] },
  { id: '2', role: 'user', parts: [{ type: 'text', text: 'Weather?' }] },
  {
    id: '3',
    role: 'assistant',
    parts: [
      { type: 'step-start' },
      { type: 'reasoning', text: 'I look it up.' },
      {
        type: 'tool-weather',
        toolCallId: 'a',
        state: 'output-available',
        input: { city: 'Oslo' },
        output: { sky: 'clear' },
      },
      {
        type: 'dynamic-tool',
        toolName: 'news',
        toolCallId: 'b',
        state: 'output-error',
        input: {},
        errorText: 'closed',
      },
      { type: 'step-start' },
      { type: 'text', text: 'It is clear.' },
    ],
  },
]

it('messages of a page become what the SDK itself makes of them', async () => {
  const messages = fromUiMessages(page)
  expect(validate('ai-sdk', messages)).toEqual([])
  const theirs = await convertToModelMessages(page)
  expect(messages.map((message) => (message as { role: string }).role)).toEqual(
    theirs.map(({ role }) => role),
  )
  expect(messages[3]).toEqual(theirs[3])
})

it('they are known by their parts; other messages stay as they are', () => {
  expect(detectFormat({}, page)).toMatchObject({ format: 'ai-sdk', certainty: 'certain' })
  const other = [{ role: 'user', content: 'Hello.' }]
  expect(fromUiMessages(other)).toEqual(other)
})
