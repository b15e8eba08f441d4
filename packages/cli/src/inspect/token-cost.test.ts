import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { type FormatName, project, resolveCounter } from 'oriel'
import { describe, expect, it } from 'vitest'
import { readValue, toConversation } from '../transcript/conversation.ts'
import { dissect } from './anatomy.ts'
import { memoizedCounter } from './token-cost.ts'

const estimate = resolveCounter('estimate')

/** The sum of our weights, and the library's own count, of one conversation. */
function bothCounts(body: object, format?: FormatName): readonly [number, number] {
  const reading = readValue(body)
  if (reading.type !== 'conversations') throw new Error('expected a conversation')
  const [first] = reading.bodies
  if (first === undefined) throw new Error('expected a conversation')
  const conversation = toConversation(first, { number: 1, file: 'test', format })
  const { messages, frame, detection } = conversation
  const projection = project(messages, undefined, { format: detection.format, frame })
  return [dissect(conversation, estimate).tokens, projection.tokens.before]
}

describe('weights', () => {
  it('add up to what the library counts, for the sample', () => {
    const sample = new URL('../../samples/coding-agent.json', import.meta.url)
    const [ours, theirs] = bothCounts(JSON.parse(readFileSync(sample, 'utf8')) as object)
    expect(ours).toBe(theirs)
  })

  it('add up to what the library counts, for every kind of block', () => {
    const data = Buffer.from('a long text '.repeat(2000)).toString('base64')
    const source = { type: 'base64', media_type: 'image/png', data: 'aGk=' }
    const text = { type: 'text', media_type: 'text/plain', data: 'words '.repeat(4000) }
    const messages = [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look.' },
          { type: 'image', source },
          { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data } },
          { type: 'document', source: text },
          { type: 'novelty', value: [1, 2, 3] },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'Hmm.', signature: 'c2ln' },
          { type: 'tool_use', id: 'a', name: 'look', input: { at: 'it' } },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'a', content: [{ type: 'image', source }] },
          { type: 'text', text: 'And?' },
        ],
      },
    ]
    const system = [{ type: 'text', text: 'Be brief.' }]
    const [ours, theirs] = bothCounts({
      system,
      tools: [{ name: 'look', input_schema: {} }],
      messages,
    })
    expect(ours).toBe(theirs)
  })

  it('add up to what the library counts, for any texts', () => {
    const role = fc.constantFrom('system', 'user', 'assistant')
    const message = fc.record({ role, content: fc.string({ unit: 'binary' }) })
    fc.assert(
      fc.property(fc.array(message, { minLength: 1, maxLength: 6 }), (messages) => {
        const [ours, theirs] = bothCounts({ messages }, 'openai-chat')
        expect(ours).toBe(theirs)
      }),
    )
  })
})

describe('memoizedCounter', () => {
  it('counts each text once', () => {
    const seen: string[] = []
    const count = (text: string): number => seen.push(text) * 0 + text.length
    const counter = memoizedCounter({ name: 'letters', count })
    expect([counter.count('one'), counter.count('three'), counter.count('one')]).toEqual([3, 5, 3])
    expect(seen).toEqual(['one', 'three'])
    expect(counter.name).toBe('letters')
  })
})
