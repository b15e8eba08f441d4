import { describe, expect, it } from 'vitest'
import { detectFormat, isMessage } from './detect.ts'

const hello = { role: 'user', content: 'Hello.' }

describe('detectFormat', () => {
  it('is certain where only one format shows its signs', () => {
    const call = { role: 'assistant', content: null, tool_calls: [{ id: 'a' }] }
    const answer = { role: 'tool', tool_call_id: 'a', content: 'ok' }
    expect(detectFormat({}, [hello, call, answer])).toEqual({
      format: 'openai-chat',
      certainty: 'certain',
      evidence: ['tool_calls', 'role tool'],
    })
  })

  it.each([
    ['a system message', {}, [{ role: 'system', content: 'Be brief.' }, hello], 'openai-chat'],
    [
      'tools of chat',
      { tools: [{ type: 'function', function: { name: 'f' } }] },
      [hello],
      'openai-chat',
    ],
    ['a top-level system text', { system: 'Be brief.', messages: [] }, [hello], 'anthropic'],
    ['tools of Anthropic', { tools: [{ name: 'f', input_schema: {} }] }, [hello], 'anthropic'],
    ['a tool_use block', {}, [{ role: 'assistant', content: [{ type: 'tool_use' }] }], 'anthropic'],
    ['thinking', {}, [{ role: 'assistant', content: [{ type: 'thinking' }] }], 'anthropic'],
    ['contents', { contents: [] }, [], 'gemini'],
    ['tools of Gemini', { tools: [{ functionDeclarations: [] }] }, [hello], 'gemini'],
    ["Gemini's parts", {}, [{ role: 'user', parts: [{ text: 'Hello.' }] }], 'gemini'],
    ["Gemini's role", {}, [{ role: 'model', parts: [] }], 'gemini'],
    ['an input', { input: [] }, [hello], 'openai-responses'],
    ['a function_call item', {}, [{ type: 'function_call', call_id: 'a' }], 'openai-responses'],
    [
      'output_text',
      {},
      [{ role: 'assistant', content: [{ type: 'output_text' }] }],
      'openai-responses',
    ],
    [
      'a tool-call part beside a system message',
      {},
      [
        { role: 'system', content: 'Be brief.' },
        hello,
        { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'a' }] },
        { role: 'tool', content: [{ type: 'tool-result', toolCallId: 'a' }] },
      ],
      'ai-sdk',
    ],
    [
      'a serialized class',
      {},
      [
        {
          lc: 1,
          type: 'constructor',
          id: ['langchain_core', 'messages', 'HumanMessage'],
          kwargs: {},
        },
      ],
      'langchain',
    ],
    ['a stored message', {}, [{ type: 'human', data: { content: 'Hello.' } }], 'langchain'],
    [
      'parsed arguments',
      {},
      [
        hello,
        { role: 'assistant', content: '', tool_calls: [{ id: 'a', name: 'f', args: {} }] },
        { role: 'tool', tool_call_id: 'a', content: 'ok' },
      ],
      'langchain',
    ],
  ] as const)('knows the format by %s', (_sign, body, messages, format) => {
    expect(detectFormat(body, messages)).toMatchObject({ format, certainty: 'certain' })
  })

  it('takes the format with the most signs where there are several, and says that it is only likely', () => {
    const use = { role: 'assistant', content: [{ type: 'tool_use' }, { type: 'thinking' }] }
    const messages = [{ role: 'system', content: 'Be brief.' }, use]
    expect(detectFormat({}, messages)).toEqual({
      format: 'anthropic',
      certainty: 'likely',
      evidence: ['tool_use', 'thinking'],
    })
  })

  it('assumes the fallback where plain text tells nothing', () => {
    expect(detectFormat({}, [hello])).toMatchObject({ format: 'openai-chat', certainty: 'assumed' })
    expect(detectFormat({}, [hello], 'anthropic')).toMatchObject({ format: 'anthropic' })
  })
})

describe('isMessage', () => {
  it('accepts what has a role, and items of known types', () => {
    expect(isMessage(hello)).toBe(true)
    expect(isMessage({ type: 'function_call_output', call_id: 'a', output: '' })).toBe(true)
    for (const value of [null, 'user', ['role'], {}, { type: 'summary' }, { role: 1 }]) {
      expect(isMessage(value)).toBe(false)
    }
  })
})
