import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../../core/log/json.ts'
import { answers as aiSdk } from './stream.ts'

type Part = Readonly<Record<string, unknown>>

function assembled(parts: readonly unknown[]) {
  const stream = aiSdk.stream()
  for (const part of parts) stream.take(part)
  return stream
}

const finish = {
  type: 'finish',
  finishReason: { unified: 'tool-calls', raw: 'tool_use' },
  usage: { inputTokens: { total: 5 }, outputTokens: { total: 2 } },
}

/** The stream of a whole answer. */
function partsOf(content: readonly Part[], cut: (text: string) => readonly string[]) {
  return content.flatMap((part, at): readonly Part[] => {
    const { type, text, providerMetadata } = part
    if (type !== 'text' && type !== 'reasoning') return [part]
    const deltas = cut(String(text)).map((delta) => ({ type: `${type}-delta`, id: `${at}`, delta }))
    const end = {
      type: `${type}-end`,
      id: `${at}`,
      ...(providerMetadata ? { providerMetadata } : {}),
    }
    return [{ type: `${type}-start`, id: `${at}` }, ...deltas, end]
  })
}

describe('a streamed answer of a language model', () => {
  it('[SA3] is the message that the SDK makes of it', () => {
    const metadata = { anthropic: { signature: 'c2ln' } }
    const parts = [
      { type: 'stream-start', warnings: [] },
      { type: 'response-metadata', id: 'r1', modelId: 'claude' },
      { type: 'reasoning-start', id: '0' },
      { type: 'text-start', id: '0' },
      { type: 'reasoning-delta', id: '0', delta: 'Let me ' },
      { type: 'text-delta', id: '0', delta: 'Loo' },
      { type: 'reasoning-delta', id: '0', delta: 'look.' },
      { type: 'reasoning-end', id: '0', providerMetadata: metadata },
      { type: 'text-delta', id: '0', delta: 'king.' },
      { type: 'text-end', id: '0' },
      { type: 'tool-input-start', id: 'a', toolName: 'look' },
      { type: 'tool-input-delta', id: 'a', delta: '{"x":1}' },
      { type: 'tool-call', toolCallId: 'a', toolName: 'look', input: '{"x":1}' },
      { type: 'tool-call', toolCallId: 'b', toolName: 'patch', input: '*** Begin' },
      { type: 'file', mediaType: 'image/png', data: new Uint8Array([1, 2, 3]) },
      { type: 'tool-result', toolCallId: 's', toolName: 'search', result: 1, preliminary: true },
      { type: 'tool-result', toolCallId: 's', toolName: 'search', result: { hits: 2 } },
      { type: 'source', url: 'https://a.test' },
    ]
    const stream = assembled(parts)
    expect([stream.isComplete, stream.isOver]).toEqual([false, false])
    stream.take(finish)
    expect([stream.isComplete, stream.isOver]).toEqual([true, true])
    expect(stream.answer()).toEqual({
      messages: [
        {
          role: 'assistant',
          content: [
            { type: 'reasoning', text: 'Let me look.', providerOptions: metadata },
            { type: 'text', text: 'Looking.' },
            { type: 'tool-call', toolCallId: 'a', toolName: 'look', input: { x: 1 } },
            { type: 'tool-call', toolCallId: 'b', toolName: 'patch', input: '*** Begin' },
            { type: 'file', mediaType: 'image/png', data: 'AQID' },
            {
              ...{ type: 'tool-result', toolCallId: 's', toolName: 'search' },
              output: { type: 'json', value: { hits: 2 } },
            },
          ],
        },
      ],
      usage: finish.usage,
      response: { id: 'r1', model: 'claude', finish: 'tool_use' },
    })
  })

  it('[SA4] that breaks off is what came, and an empty one has no message', () => {
    const stream = assembled([
      { type: 'text-start', id: '0' },
      { type: 'text-delta', id: '0', delta: 'Ha' },
    ])
    expect(stream.answer()?.messages).toEqual([
      { role: 'assistant', content: [{ type: 'text', text: 'Ha' }] },
    ])
    expect(assembled([]).answer()).toBeUndefined()
    expect(assembled([finish]).answer()).toMatchObject({ messages: [], usage: finish.usage })
  })

  it('[SA4] says what went wrong', () => {
    expect(assembled([{ type: 'error', error: new Error('gone') }]).error).toEqual({
      message: 'gone',
    })
  })

  it('[SA4] a part that is no JSON is left out', () => {
    const cyclic: Record<string, unknown> = {}
    cyclic.self = cyclic
    const parts = [
      { type: 'tool-result', toolCallId: 'a', toolName: 'x', result: cyclic },
      { type: 'text', text: 'Hi' },
    ]
    const result = { content: parts, usage: undefined } as unknown as JsonObject
    expect(aiSdk.answer(result)?.messages).toEqual([
      { role: 'assistant', content: [{ type: 'text', text: 'Hi' }] },
    ])
  })

  it('[SA1] cut into pieces and assembled is whole again', () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 12 })
    const part = fc.oneof(
      fc.record({ type: fc.constant('text'), text }),
      fc.record({
        ...{ type: fc.constant('reasoning'), text },
        providerMetadata: fc.constant({ a: { signature: 's' } }),
      }),
      fc.record({
        ...{ type: fc.constant('tool-call'), toolCallId: fc.constant('c') },
        ...{ toolName: fc.constant('look'), input: fc.json({ maxDepth: 2 }) },
      }),
    )
    fc.assert(
      fc.property(fc.array(part), fc.infiniteStream(fc.nat(5)), (content, random) => {
        const cut = (whole: string): readonly string[] => {
          const list: string[] = []
          for (let at = 0; at < whole.length; ) {
            const size = random.next().value as number
            list.push(whole.slice(at, at + size))
            at += size
          }
          return list
        }
        const { usage, finishReason } = finish
        const whole = aiSdk.answer({ content, usage, finishReason } as unknown as JsonObject)
        expect(assembled([...partsOf(content, cut), finish]).answer()).toEqual(whole)
      }),
    )
  })

  it('[SA4] never throws, whatever comes', () => {
    const anything = fc.anything({ withBigInt: true, withDate: true, withTypedArray: true })
    const type = fc.constantFrom(
      ...['text-start', 'text-delta', 'text-end', 'reasoning-delta', 'tool-call', 'tool-result'],
      ...['file', 'custom', 'finish', 'error', 'response-metadata'],
    )
    const part = fc.record(
      {
        ...{ type, id: fc.oneof(fc.constant('0'), anything), delta: anything, text: anything },
        ...{ input: anything, result: anything, data: anything, usage: anything, error: anything },
        ...{ providerMetadata: anything, finishReason: anything },
      },
      { requiredKeys: ['type'] },
    )
    fc.assert(
      fc.property(fc.array(fc.oneof(part, anything)), (parts) => {
        const stream = assembled(parts)
        const all: readonly (Json | undefined | object)[] = [stream.answer(), stream.error]
        expect(all).toHaveLength(2)
      }),
    )
  })
})
