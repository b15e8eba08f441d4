import { describe, expect, it } from 'vitest'
import { answers } from './stream.ts'
import { usage } from './usage.ts'

const reason = { type: 'messages_changed', cache_missed_input_tokens: 12 }
const miss = { cause: 'edit', word: 'messages_changed', tokens: 12 }

describe('usage', () => {
  it.each([
    ['at the beginning', { cache_miss_reason: reason }, undefined],
    ['at the end', { cache_miss_reason: null }, { cache_miss_reason: reason }],
  ])('[EC9] of a stream has the reason that comes %s', (_, early, late) => {
    const stream = answers.stream()
    const counts = { input_tokens: 5, cache_read_input_tokens: 0 }
    const message = { id: 'm', role: 'assistant', content: [], usage: counts, diagnostics: early }
    stream.take({ type: 'message_start', message })
    const end = { type: 'message_delta', delta: {}, usage: { output_tokens: 3 } }
    stream.take(late === undefined ? end : { ...end, diagnostics: late })
    stream.take({ type: 'message_stop' })
    expect(usage.read(stream.answer()?.usage ?? {})).toMatchObject({ uncached: 5, output: 3, miss })
  })

  it.each([
    [{ cache_miss_reason: { type: 'previous_message_not_found' } }],
    [{ cache_miss_reason: { type: 'unavailable' } }],
    [{ cache_miss_reason: null }],
    [null],
    ['odd'],
  ])('[EC9] of an answer with %j says nothing of a miss', (diagnostics) => {
    expect(usage.read({ input_tokens: 5, diagnostics })).not.toHaveProperty('miss')
  })
})
