import type { Json } from 'oriel'
import { providers } from 'oriel/providers'
import { describe, expect, it } from 'vitest'
import { parseBody } from '../call/client-body.ts'
import { HeldResponses } from './stored-responses.ts'

const provider = providers['openai-responses']
const output = { type: 'function_call_output', call_id: 'call_1', output: 'The original.' }
const call = { type: 'function_call', call_id: 'call_1', name: 'expand_message', arguments: '{}' }

function restored(held: HeldResponses, text: string, tenant = 'a'): string {
  const body = parseBody(Buffer.from(text), { depth: 64, nodes: 1000 })
  return Buffer.from(held.restore(tenant, body, provider)).toString()
}

function holding(messages: readonly Json[], id = 'resp_2'): HeldResponses {
  const held = new HeldResponses()
  const seen = { messages: [], response: { id: 'resp_1' } }
  held.keep({ tenant: 'a', thread: 't', provider, seen, last: { messages, response: { id } } })
  return held
}

describe('a client that goes on from a response that the provider keeps', () => {
  const owed = JSON.stringify(output)

  it('[GX12] goes on from the last round, and every other byte is its own', () => {
    const text = '{ "previous_response_id" : "resp_1", "input":"Hi", "n": 1.0 }'
    expect(restored(holding([]), text)).toBe(text.replace('resp_1', 'resp_2'))
    expect(restored(holding([], 'resp_1'), text)).toBe(text)
  })

  it.each([
    ['a text', '"Hi"', `[${owed},{"role":"user","content":"Hi"}]`],
    [
      'a list',
      '[ {"role":"user", "content":"Hi"} ]',
      `[${owed}, {"role":"user", "content":"Hi"} ]`,
    ],
    ['an empty list', '[ ]', `[${owed}]`],
  ])('[GX12] brings what is owed in front of %s', (_, input, expected) => {
    const text = `{"input":${input},"previous_response_id":"resp_1"}`
    expect(restored(holding([call, output]), text)).toBe(
      `{"input":${expected},"previous_response_id":"resp_2"}`,
    )
  })

  it('[GX12] is another tenant’s business to nobody, and forgotten with its thread', () => {
    const text = '{"previous_response_id":"resp_1","input":"Hi"}'
    const held = holding([call, output])
    expect(restored(held, text, 'b')).toBe(text)
    held.forget('b', 't')
    expect(restored(held, text)).not.toBe(text)
    held.forget('a', 't')
    expect(restored(held, text)).toBe(text)
  })
})
