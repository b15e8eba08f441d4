import { providers } from 'oriel/providers'
import { describe, expect, it } from 'vitest'
import { createReader } from './answer-reader.ts'

const chat = providers['openai-chat']
const megabyte = 1024 * 1024

describe('an answer that is read while it passes by', () => {
  it('[GW57] is not kept where one event never ends', () => {
    const reader = createReader(chat, {
      headers: new Headers({ 'content-type': 'text/event-stream' }),
    })
    const take = (text: string): void => void reader.take(Buffer.from(text))
    const part = 'x'.repeat(megabyte)
    take('data: {"choices":[{"index":0,"delta":{"content":"')
    for (let count = 0; count < 33; count++) take(part)
    take('"}}]}\n\ndata: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n')
    reader.end()
    expect(reader.isComplete).toBe(false)
    expect(reader.problem).toBe('too-large')
    expect(reader.answer()).toBeUndefined()
  })
})
