import { describe, expect, test } from 'vitest'
import { withCacheMarks } from './cache-marks.ts'

const ask = { role: 'user', content: 'go' }
const call = {
  role: 'assistant',
  content: [{ type: 'tool_use', id: 'a', name: 'read', input: {} }],
}
const result = {
  role: 'user',
  content: [{ type: 'tool_result', tool_use_id: 'a', content: 'text' }],
}
const mark = { cache_control: { type: 'ephemeral' } }

describe('cache marks', () => {
  test('[EC4] the end of the request is marked, and the end of what was sent before', () => {
    expect(withCacheMarks([ask, call, result], undefined)).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'go', ...mark }] },
      call,
      { role: 'user', content: [{ ...result.content[0], ...mark }] },
    ])
  })

  test('[EC4] a caller who marks anything is left alone', () => {
    const own = { role: 'user', content: [{ type: 'text', text: 'go', ...mark }] }
    expect(withCacheMarks([own, call, result], undefined)).toEqual([own, call, result])
    const frame = { tools: [{ name: 'read', ...mark }] }
    expect(withCacheMarks([ask], frame)).toEqual([ask])
  })

  test('[EC4] a mark is found however late it stands', () => {
    const own = { role: 'user', content: [{ type: 'text', text: 'go on', ...mark }] }
    const long = [ask, call, result, call, result, call, result, call, result, call, own]
    expect(withCacheMarks(long, undefined)).toEqual(long)
  })

  test('[EC4] thinking takes no mark, and other formats none at all', () => {
    const thought = {
      role: 'assistant',
      content: [
        { type: 'text', text: 'so' },
        { type: 'thinking', thinking: 'x', signature: 's' },
      ],
    }
    expect(withCacheMarks([ask, thought], undefined).at(-1)).toEqual({
      role: 'assistant',
      content: [{ type: 'text', text: 'so', ...mark }, thought.content[1]],
    })
  })
})
