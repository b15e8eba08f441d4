import type { Content, Part } from '@google/genai'
import { describe, expect, it } from 'vitest'
import type { Block } from '../../core/log/block.ts'
import type { Json, JsonObject } from '../../core/log/json.ts'
import { project } from '../../project.ts'
import { memoryStore } from '../../stores/memory/index.ts'
import { openThread } from '../../thread/thread.ts'
import { decode } from '../registry.ts'

const user = (...parts: readonly Part[]): Content => ({ role: 'user', parts: [...parts] })
const model = (...parts: readonly Part[]): Content => ({ role: 'model', parts: [...parts] })
const go = user({ text: 'go' })
const next = user({ text: 'next' })
const signature = 'c2lnbmVk'

const sentTo = (to: 'gemini' | 'openai-chat' | 'anthropic', contents: readonly unknown[]) =>
  project<unknown>(contents, undefined, { format: 'gemini', to })

const blocksOf = (content: Content): readonly Block[] => {
  const [decoded] = decode('gemini', [content])
  return decoded?.draft.content as readonly Block[]
}

describe('decode then encode gives back', () => {
  const pair = (call: Part, response: Part) => [go, model(call), user(response)]
  const call = { functionCall: { id: 'a', name: 'f', args: { x: 1 } } }
  const answer = (response: Record<string, unknown>, more: object = {}): Part => ({
    functionResponse: { id: 'a', name: 'f', response, ...more },
  })

  it.each<[string, readonly object[]]>([
    ['a text', [go]],
    ['a content without a role', [{ parts: [{ text: 'hi' }] }]],
    ['several texts', [user({ text: 'a' }, { text: 'b' })]],
    [
      'thoughts, signed or not',
      [go, model({ text: 'hm', thought: true }, { text: 'so', thoughtSignature: signature }), next],
    ],
    [
      'a signature that came alone at the end',
      [go, model({ text: 'so' }, { text: '', thoughtSignature: signature }), next],
    ],
    [
      'a thought that is only a signature',
      [go, model({ thought: true, thoughtSignature: signature }, { text: 'so' }), next],
    ],
    ['a signed call', pair({ ...call, thoughtSignature: signature }, answer({ output: 'y' }))],
    ['a call without arguments', pair({ functionCall: { id: 'a', name: 'f' } }, answer({}))],
    ['a response in a field of its own', pair(call, answer({ result: 'y' }))],
    ['a response with several fields', pair(call, answer({ output: 'y', lines: [1, null] }))],
    ['an error', pair(call, answer({ error: 'no' }))],
    [
      'a response with a picture',
      pair(
        call,
        answer(
          { output: 'y' },
          { parts: [{ inlineData: { mimeType: 'image/png', data: 'AAAA' } }] },
        ),
      ),
    ],
    [
      'a response that is scheduled',
      pair(call, answer({ output: 'y' }, { scheduling: 'SILENT', willContinue: false })),
    ],
    ['words behind responses', [go, model(call), user(answer({ output: 'y' }), { text: 'and?' })]],
    [
      'code that the provider ran',
      [
        go,
        model(
          { executableCode: { code: '1', language: 'PYTHON' as never } },
          { codeExecutionResult: { outcome: 'OUTCOME_OK' as never, output: '1' } },
        ),
        next,
      ],
    ],
    [
      'files',
      [
        user(
          { fileData: { fileUri: 'https://youtu.be/x' }, videoMetadata: { fps: 2 } },
          { fileData: { fileUri: 'gs://a/b.png', mimeType: 'image/png' } },
          { inlineData: { data: 'AAAA', mimeType: 'application/pdf', displayName: 'a.pdf' } },
        ),
      ],
    ],
    ['parts of a later version', [user({ text: 'see' }, { futureData: [1] } as Part)]],
    ['fields of a later version', [{ ...user({ text: 'hi', x: 1 } as Part), y: { z: null } }]],
  ])('%s', (_name, contents) => {
    expect(sentTo('gemini', contents)).toMatchObject({ messages: contents, trace: [] })
  })
})

describe('what Gemini says, read', () => {
  it('has blocks that rules and other formats know', () => {
    const said = model(
      { text: 'hm', thought: true, thoughtSignature: signature },
      { text: 'so' },
      { functionCall: { id: 'a', name: 'f', args: { x: 1 } }, thoughtSignature: signature },
    )
    expect(blocksOf(said)).toEqual([
      { type: 'reasoning', text: 'hm', signature },
      { type: 'text', text: 'so' },
      {
        ...{ type: 'tool-call', callId: 'a', name: 'f', arguments: '{"x":1}' },
        extra: { thoughtSignature: signature },
      },
    ])
    const failed = { functionResponse: { id: 'a', name: 'f', response: { error: 'no' } } }
    expect(blocksOf(user(failed))).toEqual([
      { type: 'tool-result', callId: 'a', name: 'f', content: 'no', isError: true },
    ])
  })

  it('goes to other formats with ids that pair, also where there were none', () => {
    const contents = [
      go,
      model({ functionCall: { name: 'f' } }, { functionCall: { name: 'f' } }),
      user(
        { functionResponse: { name: 'f', response: { output: 'one' } } },
        { functionResponse: { name: 'f', response: { output: 'two' } } },
      ),
      model({ functionCall: { name: 'f' } }),
      user({ functionResponse: { name: 'f', response: { output: 'three' } } }),
    ]
    const messages = sentTo('openai-chat', contents).messages as readonly JsonObject[]
    const calls = messages.flatMap(({ tool_calls: list }) => (list ?? []) as readonly JsonObject[])
    const results = messages.filter(({ role }) => role === 'tool')
    expect(results.map(({ tool_call_id: id }) => id)).toEqual(calls.map(({ id }) => id))
    expect(results.map(({ content }) => content)).toEqual(['one', 'two', 'three'])
    expect(new Set(calls.map(({ id }) => id)).size).toBe(3)
  })

  it('keeps its signatures to itself', () => {
    const contents = [
      go,
      model(
        { text: 'hm', thought: true, thoughtSignature: signature },
        { functionCall: { id: 'a', name: 'f' }, thoughtSignature: signature },
      ),
      user({ functionResponse: { id: 'a', name: 'f', response: { output: 'y' } } }),
    ]
    const { messages } = sentTo('anthropic', contents)
    expect(JSON.stringify(messages)).not.toContain(signature)
  })
})

describe('what other formats say, written', () => {
  const chat: readonly Json[] = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'go' },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{"x":1}' } }],
    },
    { role: 'tool', tool_call_id: 'c1', content: '{"y":2}' },
  ]

  it('has the names of functions in their responses', () => {
    const options = { format: 'openai-chat', to: 'gemini' } as const
    const { messages, system } = project<unknown>(chat, undefined, options)
    expect(system).toEqual({ parts: [{ text: 'Be brief.' }] })
    expect(messages).toEqual([
      go,
      model({ functionCall: { id: 'c1', name: 'f', args: { x: 1 } } }),
      user({ functionResponse: { id: 'c1', name: 'f', response: { output: '{"y":2}' } } }),
    ])
  })
})

describe('a thread', () => {
  it('[GC10] pairs a response without an id that comes in a later append', async () => {
    const thread = await openThread({ id: 't', store: memoryStore(), now: () => 0 })
    const contents = [
      go,
      model({ functionCall: { id: 'a', name: 'f' } }),
      user({ functionResponse: { name: 'f', response: { output: 'y' } } }),
      model({ functionCall: { name: 'f' } }),
      user({ functionResponse: { id: 'made-up', name: 'f', response: { output: 'z' } } }),
    ]
    for (const content of contents) await thread.append([content])
    const { messages, trace } = await thread.view({ format: 'gemini' })
    expect({ messages, trace }).toEqual({ messages: contents, trace: [] })
  })
})
