import { describe, expect, it } from 'vitest'
import type { Json } from '../../core/log/json.ts'
import type { PolicyInput } from '../../policy/schema.ts'
import { providers, type WireFormat } from '../../providers/registry.ts'
import { memoryStore } from '../../stores/memory/index.ts'
import { openThread } from '../thread.ts'
import { originsIn } from '../view/view.ts'
import { placesOf, resentIn } from './places.ts'

interface Talk {
  readonly format: WireFormat
  /** What was logged before, in the forms that it came in. */
  readonly logged: readonly (readonly Json[])[]
  /** What the client sends now. */
  readonly sent: readonly Json[]
  readonly policy?: PolicyInput
  /** The format of what was logged. @default the same */
  readonly loggedFormat?: WireFormat
}

/** The places of the view's messages: `2=` for the client's third message as it is, `2~` for another form of it, `-` for none. */
async function placed({ format, logged, sent, policy, loggedFormat = format }: Talk) {
  const thread = await openThread({
    ...{ id: 't', store: memoryStore(), now: () => 1000 },
    ...(policy === undefined ? {} : { policy }),
  })
  for (const messages of logged) await thread.append(messages, { format: loggedFormat })
  const asked = await thread.request(sent, { format })
  expect(asked.isForked).toBe(false)
  const { messages } = asked.view
  const origins = originsIn(asked.view)
  const places = placesOf({ messages, origins, sent, format: providers[format] }, resentIn(asked))
  return {
    ...{ messages, appended: asked.appended },
    places: places.map(
      ({ from, isSame }) => `${from ?? ''}${isSame ? '=' : from === undefined ? '-' : '~'}`,
    ),
  }
}

const user = (content: string): Json => ({ role: 'user', content })
const thinking = (signature: string) => ({ type: 'thinking', thinking: 'Hm.', signature })
const words = (text: string) => ({ type: 'text', text })

describe('the places of a view in what a client resends', () => {
  it('[GW7] are its own messages, however it writes them: fields added and dropped, system text in front', async () => {
    const answer = {
      ...{ role: 'assistant', content: 'Yes', refusal: null, annotations: [], x: 100 },
      reasoning_content: 'Hm.',
    }
    const sent = [
      { role: 'system', content: 'Be brief.' },
      user('Hi!'),
      { role: 'assistant', content: 'Yes' },
      user('And?'),
    ]
    const { places } = await placed({
      format: 'openai-chat',
      logged: [[user('Hi!'), answer]],
      sent,
    })
    expect(places).toEqual(['0=', '1=', '2=', '3='])
  })

  it('[GW7] are not of messages in which the client leaves out a note that the log has', async () => {
    const noted = {
      role: 'user',
      content: [words('Hi'), words('<system-reminder>Today is Monday.</system-reminder>')],
    }
    const sent = [user('Hi'), { role: 'assistant', content: 'Yes' }, user('And?')]
    const logged = [[noted, { role: 'assistant', content: 'Yes' }]]
    const { places, messages } = await placed({ format: 'anthropic', logged, sent })
    expect(places).toEqual(['0~', '1=', '2='])
    expect(messages[0]).toEqual(noted)
  })

  it('[GW7] are those of messages in another form, of which the client may have marked the end', async () => {
    const call = {
      ...{ role: 'assistant', content: null },
      tool_calls: [{ id: 'c', type: 'function', function: { name: 'read', arguments: '{ }' } }],
    }
    const result = { role: 'tool', tool_call_id: 'c', content: 'long '.repeat(2000) }
    const sent = [user('Hi'), call, result, { role: 'assistant', content: 'Yes' }, user('And?')]
    const policy: PolicyInput = { toolResults: { strategy: 'dropAll', cutoff: 0 } }
    const { places, messages } = await placed({ format: 'openai-chat', logged: [], sent, policy })
    expect(messages[2]).not.toEqual(result)
    expect(places).toEqual(['0=', '1=', '2~', '3=', '4='])
  })

  it('[GW7] are of one message that is two in the log, and of none where the client sent two that are one', async () => {
    const call = {
      role: 'assistant',
      content: [{ type: 'tool_use', id: 't', name: 'n', input: {} }],
    }
    const result = { type: 'tool_result', tool_use_id: 't', content: '7' }
    const sent = [
      ...[user('Hi'), user('There')],
      ...[call, { role: 'user', content: [result, words('And?')] }],
    ]
    const { places } = await placed({ format: 'anthropic', logged: [], sent })
    expect(places).toEqual(['1~', '2=', '3='])
  })

  it('[GW7] are of items whose reasoning the client does not resend, and whose arguments it writes anew', async () => {
    const call = { type: 'function_call', call_id: 'c', name: 'n' }
    const output = { type: 'function_call_output', call_id: 'c', output: '1' }
    const reasoning = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'x' }
    const made = [
      reasoning,
      { ...call, id: 'fc_1', status: 'completed', arguments: '{"a":1,"b":2}' },
    ]
    const sent = [user('Hi'), { ...call, arguments: '{ "b": 2, "a": 1 }' }, output]
    const { places } = await placed({
      ...{ format: 'openai-responses', logged: [[user('Hi'), ...made]], sent },
    })
    expect(places).toEqual(['0=', '-', '1=', '2='])
  })

  it('[GW7] compare arguments that are nested without end as text', async () => {
    const deep = `${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`
    const call = { type: 'function_call', call_id: 'c', name: 'look', arguments: deep }
    const output = { type: 'function_call_output', call_id: 'c', output: '1' }
    const logged = [[user('Hi'), { ...call, status: 'completed' }]]
    const { places } = await placed({
      ...{ format: 'openai-responses', logged, sent: [user('Hi'), call, output] },
    })
    expect(places).toEqual(['0=', '1=', '2='])
  })

  it('[GW7] are of thinking that client and view both leave out, and not where only the view does', async () => {
    const answer = { role: 'assistant', content: [thinking('a'), words('Yes.')] }
    const logged = [[user('Hi'), answer]]
    const format = 'anthropic'
    const without = [user('Hi'), { role: 'assistant', content: [words('Yes.')] }, user('And?')]
    expect((await placed({ format, logged, sent: without })).places).toEqual(['0=', '1=', '2='])
    const foreign = { role: 'assistant', content: [thinking('b'), words('Yes.')] }
    const other = [user('Hi'), foreign, user('And?')]
    expect((await placed({ format, logged, sent: other })).places).toEqual(['0=', '1~', '2='])
  })

  it('[GW7] are of messages that were logged in another format', async () => {
    const logged = [[user('Hi'), { role: 'assistant', content: 'Yes' }]]
    const said = { role: 'assistant', content: [words('Yes')] }
    const sent = [{ role: 'user', content: [words('Hi')] }, said, user('And?')]
    const { places } = await placed({
      ...{ format: 'anthropic', loggedFormat: 'openai-chat', logged, sent },
    })
    expect(places).toEqual(['0=', '1=', '2='])
  })

  it('[GX3] are of what a client saw of rounds that were hidden from it', async () => {
    const format = 'anthropic'
    const thread = await openThread({ id: 't', store: memoryStore(), now: () => 1000 })
    await thread.sync([user('Hi')], { format })
    const call = { type: 'tool_use', id: 'x', name: 'expand_message', input: {} }
    const result = { type: 'tool_result', tool_use_id: 'x', content: '7' }
    const round = [
      { role: 'assistant', content: [thinking('a'), call] },
      { role: 'user', content: [result] },
    ]
    await thread.append(round, { format, resentAs: [] })
    const seen = { role: 'assistant', content: [thinking('a'), thinking('b'), words('Yes.')] }
    const last = { role: 'assistant', content: [thinking('b'), words('Yes.')] }
    await thread.append([last], { format, resentAs: [seen] })
    const ask = async (own: Json): Promise<readonly unknown[]> => {
      const sent = [user('Hi'), own, user('And?')]
      const asked = await thread.request(sent, { format })
      const { messages } = asked.view
      expect(messages).toEqual([user('Hi'), ...round, last, user('And?')])
      const view = { messages, origins: originsIn(asked.view), sent, format: providers[format] }
      return placesOf(view, resentIn(asked))
    }
    const none = { isSame: false }
    const [first, end] = [
      { from: 0, isSame: true },
      { from: 2, isSame: true },
    ]
    expect(await ask(seen)).toEqual([first, none, none, { from: 1, isSame: false }, end])
    // Without its thinking, what the client has is all that the last round said.
    const bare = { role: 'assistant', content: [words('Yes.')] }
    expect(await ask(bare)).toEqual([first, none, none, { from: 1, isSame: true }, end])
  })
})
