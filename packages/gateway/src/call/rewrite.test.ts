import type { Json } from 'oriel'
import type { Place } from 'oriel/internal'
import { providers } from 'oriel/providers'
import { describe, expect, it } from 'vitest'
import { parseBody } from './client-body.ts'
import { rewriteBody, type WireView } from './rewrite.ts'

const { 'openai-chat': chat, 'openai-responses': responses, anthropic } = providers

function rewrite(provider: typeof chat, text: string, view: WireView): string {
  const body = parseBody(Buffer.from(text), { depth: 64, nodes: 1e6 })
  return Buffer.from(rewriteBody(body, provider, view)).toString()
}

/** A message that is shown as the client sent it, one in another form, and one that is not the client's. */
const same = (from: number): Place => ({ from, isSame: true })
const other = (from: number): Place => ({ from, isSame: false })
const added: Place = { isSame: false }

const marker = { cache_control: { type: 'ephemeral' } }

describe('rewriteBody', () => {
  it("[GW7] is the client's own text where the view says the same, however it is written", () => {
    const text =
      '{ "model":"m", "seed": 12345678901234567890,\n "messages": [ {"content":"Hi\\u0021","role":"user"},\n{"role":"assistant","content":"Yes","x":1e2} ] }'
    const messages = [
      { role: 'user', content: 'Hi!' },
      {
        role: 'assistant',
        x: 100,
        content: 'Yes',
        refusal: null,
        annotations: [],
        reasoning_content: 'Hm.',
      },
    ]
    expect(rewrite(chat, text, { messages, places: [same(0), same(1)] })).toBe(text)
  })

  it('[GW82] puts one more field in front of the others, whether messages change or not', () => {
    const [open, rest] = [' {', ' "messages": [{"role":"user","content":"Hi"}], "n": 1.0}']
    const say = (content: string, place: Place) => ({
      ...{ member: '"k":1,', messages: [{ role: 'user', content }], places: [place] },
    })
    expect(rewrite(chat, open + rest, say('Hi', same(0)))).toBe(`${open}"k":1,${rest}`)
    const changed = rewrite(chat, open + rest, say('Ho', other(0)))
    expect(changed).toBe(`${open}"k":1,${rest.replace('Hi', 'Ho')}`)
  })

  it('[GW7] keeps the bytes of every message that stays, and of everything around the messages', () => {
    const text =
      '{"messages":[{"role":"user","content":"Hi","n":1.0},{"role":"tool","tool_call_id":"c","content":"long"}],"x":{"y": 1.50}}'
    const messages = [
      { role: 'user', content: 'Hi', n: 1 },
      { role: 'tool', tool_call_id: 'c', content: '[Omitted]' },
    ]
    expect(rewrite(chat, text, { messages, places: [same(0), other(1)] })).toBe(
      '{"messages":[{"role":"user","content":"Hi","n":1.0},{"role":"tool","tool_call_id":"c","content":"[Omitted]"}],"x":{"y": 1.50}}',
    )
  })

  it('[GW7] never brings back reasoning that the view leaves out', () => {
    const thinking = { type: 'thinking', thinking: 'Hm.', signature: 's' }
    const call = { type: 'tool_use', id: 't', name: 'n', input: {} }
    const sent = [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: [thinking, call] },
    ]
    const shown: Json[] = [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: [call] },
    ]
    const body = JSON.parse(
      rewrite(anthropic, JSON.stringify({ messages: sent }), {
        ...{ messages: shown, places: [same(0), other(1)] },
      }),
    )
    expect(body.messages).toEqual(shown)
  })

  it('[GX3] takes no reasoning from a message that holds that of two', () => {
    const thought = (signature: string) => ({ type: 'thinking', thinking: 'Hm.', signature })
    const text = { type: 'text', text: 'Yes.' }
    const call = { type: 'tool_use', id: 't', name: 'expand_message', input: {} }
    const result = { type: 'tool_result', tool_use_id: 't', content: '7' }
    const sent = [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: [thought('a'), thought('b'), text] },
    ]
    const shown: Json[] = [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: [thought('a'), call] },
      { role: 'user', content: [result] },
      { role: 'assistant', content: [thought('b'), text] },
    ]
    const places = [same(0), added, added, other(1)]
    const view = { messages: shown, places }
    const written = rewrite(anthropic, JSON.stringify({ messages: sent }), view)
    expect(JSON.parse(written).messages).toEqual(shown)
  })

  it('[GX3] gives a tool loop back the thinking that the client dropped, where the gateway continued the loop', () => {
    const thinking = { type: 'thinking', thinking: 'Hm.', signature: 's' }
    const call = (id: string) => ({ type: 'tool_use', id, name: 'n', input: {} })
    const result = (id: string) => ({ type: 'tool_result', tool_use_id: id, content: 'r' })
    const question = { role: 'user', content: 'And?' }
    // The client saw an answer where the gateway had asked twice more, so it dropped the thinking of a finished turn.
    const sent = [
      { role: 'user', content: 'Go.' },
      { role: 'assistant', content: [call('a')] },
      { role: 'user', content: [result('a')] },
      { role: 'assistant', content: [{ type: 'text', text: 'Wait.' }] },
      question,
    ]
    const messages = [
      sent[0] as Json,
      { role: 'assistant', content: [thinking, call('a')] },
      sent[2] as Json,
      { role: 'assistant', content: [thinking, { type: 'text', text: 'Wait.' }, call('own')] },
      { role: 'user', content: [result('own'), { type: 'text', text: 'And?' }] },
    ]
    const places = [same(0), same(1), same(2), other(3), other(4)]
    const text = rewrite(anthropic, JSON.stringify({ messages: sent }), { messages, places })
    expect(JSON.parse(text)).toEqual({ messages })
  })

  it('[GW7] takes no item with its id where the view has left its reasoning out', () => {
    const said = {
      type: 'message',
      role: 'assistant',
      content: [{ type: 'output_text', text: 'A' }],
    }
    const sent = [
      { role: 'user', content: 'Hi' },
      { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'x' },
      { ...said, id: 'msg_1' },
    ]
    const shown: Json[] = [{ role: 'user', content: 'Hi' }, said]
    const view = { messages: shown, places: [same(0), added] }
    const written = rewrite(responses, JSON.stringify({ input: sent }), view)
    expect(JSON.parse(written).input).toEqual(shown)
  })

  it('[GW7] leaves out reasoning items that the client did not send', () => {
    const text =
      '{"input":[{"role":"user","content":"Hi"},{"type":"function_call","call_id":"c","name":"n","arguments":"{ }"},{"type":"function_call_output","call_id":"c","output":"1"}]}'
    const messages = [
      { role: 'user', content: 'Hi' },
      { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'x' },
      {
        type: 'function_call',
        id: 'fc_1',
        status: 'completed',
        call_id: 'c',
        name: 'n',
        arguments: '{}',
      },
      { type: 'function_call_output', call_id: 'c', output: '1' },
    ]
    const places = [same(0), added, same(1), same(2)]
    expect(rewrite(responses, text, { messages, places })).toBe(text)
  })

  it('[GX3] keeps reasoning of a step in which something is not from the client', () => {
    const call = (id: string, name: string) => ({
      ...{ type: 'function_call', call_id: id, name, arguments: '{}' },
    })
    const output = (id: string) => ({ type: 'function_call_output', call_id: id, output: '1' })
    const sent = [{ role: 'user', content: 'Hi' }, call('c', 'n'), output('c')]
    const messages: Json[] = [
      { role: 'user', content: 'Hi' },
      { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'x' },
      call('c', 'n'),
      { ...call('x', 'expand_message'), id: 'fc_1' },
      output('x'),
      output('c'),
    ]
    const places = [same(0), added, same(1), added, added, same(2)]
    const written = rewrite(responses, JSON.stringify({ input: sent }), { messages, places })
    expect(JSON.parse(written).input).toEqual(messages)
  })

  it('[GW8] puts cache markers where the client has them now, also on what is shown in another form', () => {
    const result = (content: string, more = {}) => ({
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: 't', content, ...more }],
    })
    const call = {
      role: 'assistant',
      content: [{ type: 'tool_use', id: 't', name: 'n', input: {} }],
    }
    const sent = [{ role: 'user', content: 'Hi' }, call, result('long', marker)]
    const shown: Json[] = [
      { role: 'user', content: [{ type: 'text', text: 'Hi', ...marker }] },
      call,
      result('[Omitted]'),
    ]
    const body = JSON.parse(
      rewrite(anthropic, JSON.stringify({ messages: sent }), {
        ...{ messages: shown, places: [same(0), same(1), other(2)] },
      }),
    )
    expect(body.messages).toEqual([
      { role: 'user', content: 'Hi' },
      call,
      result('[Omitted]', marker),
    ])
  })

  it('[GW8] sends markers of the view only where the operator asks for them and the client has none', () => {
    const text = '{"messages":[{"role":"user","content":"Hi"}]}'
    const messages: Json[] = [{ role: 'user', content: [{ type: 'text', text: 'Hi', ...marker }] }]
    const places = [same(0)]
    expect(rewrite(anthropic, text, { messages, places })).toBe(text)
    const marked = { messages, places, hasMarks: true }
    expect(JSON.parse(rewrite(anthropic, text, marked)).messages).toEqual(messages)
    const own =
      '{"system":[{"type":"text","text":"S","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":"Hi"}]}'
    expect(rewrite(anthropic, own, marked)).toBe(own)
  })

  it('[GW8] keeps system messages behind the message that they follow', () => {
    const note = (content: string) => ({ role: 'system', content })
    const call = {
      role: 'assistant',
      content: [{ type: 'tool_use', id: 't', name: 'n', input: {} }],
    }
    const result = (content: string) => ({
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: 't', content }],
    })
    const old = [
      { role: 'user', content: 'Old' },
      note('about the old'),
      { role: 'assistant', content: 'Yes' },
    ]
    const sent = [
      ...old,
      { role: 'user', content: 'Hi' },
      note('environment'),
      call,
      result('long'),
      note('tokens left'),
    ]
    const shown: Json[] = [{ role: 'user', content: 'Hi' }, call, result('[Omitted]')]
    const places = [same(3), same(5), other(6)]
    const view = { messages: shown, places, system: [{ type: 'text', text: 'environment' }] }
    const body = JSON.parse(
      rewrite(anthropic, JSON.stringify({ system: 'S', messages: sent }), view),
    )
    expect(body).toEqual({
      system: 'S',
      messages: [
        { role: 'user', content: 'Hi' },
        note('environment'),
        call,
        result('[Omitted]'),
        note('tokens left'),
      ],
    })
  })

  it("[GW7] puts system text of the log behind the client's own", () => {
    const shown = [{ role: 'user', content: 'Hi' }]
    const system = [{ type: 'text', text: 'More' }]
    const view = { messages: shown, places: [same(0)], system }
    const own = rewrite(
      anthropic,
      '{"messages":[{"role":"user","content":"Hi"}],"system":"Own"}',
      view,
    )
    expect(JSON.parse(own).system).toEqual([{ type: 'text', text: 'Own' }, ...system])
    const none = rewrite(anthropic, '{"messages":[{"role":"user","content":"Hi"}]}', view)
    expect(JSON.parse(none).system).toEqual(system)
  })

  it('[GW7] keeps what stands between messages that stay, and takes characters of any length for what they are', () => {
    const text =
      '{"messages" : [\n  {"role":"user","content":"漢字 😀"},\n  {"role":"user","content":"é"} ,\n  {"role":"tool","tool_call_id":"c","content":"lång"},{"role":"user","content":"ü"}\n], "x": "漢"}'
    const messages = [
      { role: 'user', content: '漢字 😀' },
      { role: 'user', content: 'é' },
      { role: 'tool', tool_call_id: 'c', content: '…' },
      { role: 'user', content: 'ü' },
    ]
    const places = [same(0), same(1), other(2), same(3)]
    const written = rewrite(chat, text, { messages, places })
    expect(written).toBe(
      '{"messages" : [{"role":"user","content":"漢字 😀"},\n  {"role":"user","content":"é"},{"role":"tool","tool_call_id":"c","content":"…"},{"role":"user","content":"ü"}\n], "x": "漢"}',
    )
  })

  it('[GW7] drops, adds and moves messages at both ends', () => {
    const message = (content: string): Json => ({ role: 'user', content })
    const text = JSON.stringify({ messages: ['a', 'b', 'c', 'd'].map(message), z: 1 })
    const placeOf = (content: string): Place =>
      'abcd'.includes(content) ? same('abcd'.indexOf(content)) : added
    const shown = (...contents: string[]): unknown => {
      const view = { messages: contents.map(message), places: contents.map(placeOf) }
      return JSON.parse(rewrite(chat, text, view))
    }
    for (const contents of [[], ['a'], ['d'], ['b', 'c'], ['new', 'a', 'd', 'newer'], ['c', 'a']]) {
      expect(shown(...contents)).toEqual({ messages: contents.map(message), z: 1 })
    }
  })

  it('[GW7] takes a body that begins with a byte order mark', () => {
    const text = '{"messages":[{"role":"user","content":"a"},{"role":"user","content":"b"}]}'
    const view = { messages: [{ role: 'user', content: 'b' }], places: [same(1)] }
    const written = rewrite(chat, `\ufeff${text}`, view)
    expect(JSON.parse(written)).toEqual({ messages: [{ role: 'user', content: 'b' }] })
  })
})
