import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { GoogleGenAI } from '@google/genai'
import { createParser } from 'eventsource-parser'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../core/log/json.ts'
import { decode } from '../registry.ts'
import { parseAnswer, parseEvent } from '../stream.ts'
import { gemini } from './index.ts'

const usageMetadata = { promptTokenCount: 10, candidatesTokenCount: 4, totalTokenCount: 14 }

const chunk = (parts: readonly JsonObject[], more: JsonObject = {}): JsonObject => ({
  candidates: [{ content: { role: 'model', parts }, index: 0, ...more }],
  ...{ usageMetadata, modelVersion: 'gemini-3-pro', responseId: 'r1' },
})
const end: JsonObject = { finishReason: 'STOP' }

function assemble(events: readonly unknown[]) {
  const stream = gemini.stream()
  for (const event of events) stream.take(event)
  return stream
}

const words = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
/** Parts as one answer has them: words and thoughts that touch are one part. */
const part = fc.oneof(
  words.map((text) => ({ text })),
  words.map((text) => ({ text, thought: true })),
  words.map((text) => ({ text, thoughtSignature: 'c2ln' })),
  fc.record({
    functionCall: fc.record({
      id: words,
      name: fc.constant('look'),
      args: fc.dictionary(words, fc.jsonValue()),
    }),
    thoughtSignature: fc.constantFrom('c2ln', undefined),
  }),
  fc.constant({ executableCode: { language: 'PYTHON', code: '1' } }),
)
const answer = fc.array(part, { minLength: 1, maxLength: 6 }).map((parts) => {
  const whole = JSON.parse(JSON.stringify(parts)) as JsonObject[]
  const isPlain = ({ text, thoughtSignature }: JsonObject) =>
    text !== undefined && thoughtSignature === undefined
  return whole.filter((one, index) => {
    const before = whole[index - 1]
    return !(before && isPlain(one) && isPlain(before) && one.thought === before.thought)
  })
})

/** A part in pieces of this many characters; what is no plain text comes whole. */
function cut(one: JsonObject, size: number): readonly JsonObject[] {
  if (typeof one.text !== 'string' || one.thoughtSignature !== undefined) return [one]
  const characters = [...one.text]
  const count = Math.ceil(characters.length / size)
  return Array.from({ length: count }, (_, at) => ({
    ...one,
    text: characters.slice(at * size, (at + 1) * size).join(''),
  }))
}

describe('a streamed answer', () => {
  it('[SA1] cut anywhere, is the whole answer', () => {
    fc.assert(
      fc.property(answer, fc.integer({ min: 1, max: 5 }), (parts, size) => {
        const pieces = parts.flatMap((one) => cut(one, size))
        const events = [...pieces.map((one) => chunk([one])), chunk([{ text: '' }], end)]
        const whole = chunk(parts, end)
        const expected = gemini.answer(whole)
        const stream = assemble(events)
        expect(stream.isOver).toBe(true)
        expect(stream.answer()).toEqual(expected)
        expect(assemble([events]).answer()).toEqual(expected)
        const body = parseAnswer(gemini, JSON.stringify(events))
        expect(body && gemini.answer(body)).toEqual(expected)
      }),
    )
  })

  it('[SA4] is whole with the reason to stop, and gives what came before', () => {
    const stream = assemble([chunk([{ text: 'Hel' }])])
    expect([stream.isComplete, stream.isOver]).toEqual([false, false])
    expect(stream.answer()?.messages).toEqual([{ role: 'model', parts: [{ text: 'Hel' }] }])
    stream.take(chunk([{ text: 'lo' }], { finishReason: 'MAX_TOKENS' }))
    expect([stream.isComplete, stream.isOver]).toEqual([true, true])
    expect(stream.answer()).toMatchObject({
      messages: [{ role: 'model', parts: [{ text: 'Hello' }] }],
      usage: usageMetadata,
      response: { id: 'r1', model: 'gemini-3-pro', finish: 'MAX_TOKENS' },
    })
  })

  it('[SA4] takes anything without throwing', () => {
    fc.assert(
      fc.property(fc.array(fc.anything(), { maxLength: 5 }), (events) => {
        assemble(events).answer()
      }),
    )
  })

  it('[SA5] with an error, a blocked prompt or several candidates is no answer; its usage counts', () => {
    const error = { code: 503, message: 'Overloaded', status: 'UNAVAILABLE' }
    const broken = assemble([chunk([{ text: 'Hel' }]), { error }])
    expect([broken.isComplete, broken.error]).toEqual([false, error])
    const blocked = assemble([{ promptFeedback: { blockReason: 'SAFETY' }, usageMetadata }])
    expect(blocked.answer()).toMatchObject({ messages: [], usage: usageMetadata })
    const other = { content: { role: 'model', parts: [{ text: 'b' }] }, index: 1 }
    const plural = chunk([{ text: 'a' }], end)
    const candidates = [...(plural.candidates as readonly JsonObject[]), other]
    expect(assemble([{ ...plural, candidates }]).answer()?.messages).toEqual([])
    expect(gemini.answer({ ...plural, candidates })?.messages).toEqual([])
  })
})

describe("Google's official client", () => {
  let server: Server
  let baseUrl: string
  let body = ''
  beforeAll(async () => {
    server = createServer((request, response) => {
      request.resume()
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end(body)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  afterAll(() => {
    server.closeAllConnections()
    server.close()
  })

  it('[SA2] keeps the same of a streamed answer in its chats', async () => {
    await fc.assert(
      fc.asyncProperty(answer, fc.integer({ min: 1, max: 5 }), async (parts, size) => {
        const pieces = parts.flatMap((one) => cut(one, size))
        const events = [...pieces.map((one) => chunk([one])), chunk([{ text: '' }], end)]
        body = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
        const stream = gemini.stream()
        const parser = createParser({ onEvent: ({ data }) => stream.take(parseEvent(data)) })
        parser.feed(body)
        const client = new GoogleGenAI({ apiKey: 'none', httpOptions: { baseUrl } })
        const chat = client.chats.create({ model: 'gemini-3-pro' })
        for await (const _ of await chat.sendMessageStream({ message: 'Hi' }));
        const [, ...theirs] = chat.getHistory()
        const blocksOf = (contents: readonly unknown[]) =>
          decode('gemini', JSON.parse(JSON.stringify(contents)) as readonly unknown[]).map(
            ({ draft: { native: _native, ...draft } }) => draft,
          )
        expect(blocksOf(stream.answer()?.messages ?? [])).toEqual(blocksOf(theirs))
      }),
      { numRuns: 60 },
    )
  })
})
