// What holds of every provider, and of paths that name a model.

import { describe, expect, it } from 'vitest'
import type { Block } from '../core/log/block.ts'
import type { Draft, EntryId } from '../core/log/entry.ts'
import type { ViewMessage } from '../core/view/view.ts'
import { fillPath, matchPath, modelOf, type Provider } from './provider.ts'
import {
  apiRoots,
  encode,
  formatNamed,
  formatNames,
  providerAt,
  providerOfBody,
  providers,
  speakerAt,
} from './registry.ts'

const all: readonly Provider[] = Object.values(providers)
const generate = '/v1beta/models/{model}:generateContent'
const byPath: Provider = {
  ...providers['openai-chat'],
  request: { ...providers['openai-chat'].request, paths: [generate] },
}

describe.each(all)('the provider $name', (provider) => {
  const { name, request, fields } = provider
  const [path = ''] = request.paths

  it('[PV1] is found by its name, its path and a body that it wrote', () => {
    expect(formatNamed(name)).toBe(provider)
    expect(providerAt(path)).toBe(provider)
    expect(speakerAt(`${path}/more`)).toBe(provider)
    expect(apiRoots.some((root) => path.startsWith(root))).toBe(true)
    const call = { type: 'tool-call', callId: 'call_1', name: 'read', arguments: '{}' } as const
    const { messages } = provider.encode([
      { role: 'user', origin: 'user', blocks: [{ type: 'text', text: 'Read it.' }] },
      { role: 'assistant', origin: 'assistant', blocks: [call] },
      {
        role: 'tool',
        origin: 'tool',
        blocks: [{ type: 'tool-result', callId: 'call_1', content: 'Here.' }],
      },
    ])
    const body = request.write({ model: 'm', [fields.messages]: [] }, { messages })
    expect(request.list(body)).toEqual(messages)
    expect(request.history(body)).toEqual(messages)
    expect(providerOfBody(body)).toBe(provider)
  })

  it('[PV2] has a frame of what the model is asked, without the messages and whoever asks', () => {
    const asked = { [fields.messages]: [], tools: [{ name: 'read' }], temperature: 0.5 }
    const who = { model: 'm', user: 'u', metadata: { a: 'b' }, stream: true, store: false }
    const frame = { tools: asked.tools, params: { temperature: 0.5 } }
    expect(request.frame({ ...asked, ...who })).toEqual(frame)
    expect(request.frame(asked)).toEqual(frame)
  })

  it('[PV1] reads the answer and the usage that it writes, whole and as a stream', () => {
    const reply = [
      { type: 'text', text: 'Let me look.' },
      { type: 'call', name: 'read', arguments: '{"path":"a"}' },
    ] as const
    const { body, events } = provider.writeAnswer(reply, {
      request: { model: 'm', stream_options: { include_usage: true } },
      measured: { input: 100, cached: 40, written: 20, output: 7, reasoning: 0 },
      makeId: (prefix) => `${prefix}_1`,
      seal: (text) => text,
    })
    const stream = provider.stream()
    for (const { data } of events) stream.take(data)
    const whole = provider.answer(body)
    const contentOf = (messages: readonly unknown[] = []): readonly unknown[] =>
      provider.decode(messages, 'answer').map(({ draft }) => draft.content)
    expect(contentOf(stream.answer()?.messages)).toEqual(contentOf(whole?.messages))
    expect(contentOf(whole?.messages)).not.toEqual([])
    const usage = provider.usage.read(whole?.usage ?? {})
    expect(usage).toMatchObject({ cacheRead: 40, output: 7 })
    expect((usage?.uncached ?? 0) + (usage?.cacheWrite ?? 0)).toBe(60)
    expect(provider.tools.sort(whole?.messages ?? [], ['read']).own).toHaveLength(1)
  })
})

describe.each(formatNames)('messages of %s', (name) => {
  const format = formatNamed(name)
  const texts = ['Is it?', 'It is.', 'Why?']
  const roles = ['user', 'assistant', 'user'] as const
  const drafts = texts.map((content, at) => ({ role: roles[at] ?? 'user', content }))

  it('[PV4] name the entries that they show, and whether they are as they came', () => {
    const { messages } = encode(name, drafts)
    const view = format.decode(messages, 'messages').map(({ draft }, at) => shown(draft, at + 1))
    const whole = format.encode(view)
    expect(whole.messages).toEqual(messages)
    expect(whole.origins.map(({ entries, isWhole }) => ({ entries, isWhole }))).toEqual(
      view.map(({ entry }) => ({ entries: [entry?.seq], isWhole: true })),
    )
    const reduced = view.with(0, { ...(view[0] as ViewMessage), blocks: [text('Short.')] })
    const digest: ViewMessage = { role: 'user', origin: 'host', blocks: [text('Before.')] }
    const { origins } = format.encode([...reduced.slice(0, 2), digest])
    expect(origins.map(({ entries, shown: at, isWhole }) => ({ entries, at, isWhole }))).toEqual([
      { entries: [1], at: [0], isWhole: false },
      { entries: [2], at: [1], isWhole: true },
      { entries: [], at: [2], isWhole: false },
    ])
  })
})

function text(value: string): Block {
  return { type: 'text', text: value }
}

function shown(
  { role, origin = role, content, source, extra, native }: Draft,
  seq: number,
): ViewMessage {
  const blocks = typeof content === 'string' ? [text(content)] : content
  const place = { type: 'message', id: `e${seq}` as EntryId, seq, at: 0, turn: 1, step: 1 } as const
  const more = {
    ...(source && { source }),
    ...(extra && { extra }),
    ...(native && { native }),
  }
  return { role, origin, blocks, entry: { ...place, role, origin, blocks, ...more } }
}

describe('a path that names the model', () => {
  it('[PV3] is known by its pattern, and filled in again', () => {
    const path = '/v1beta/models/gem-1:generateContent'
    expect(matchPath(generate, path)).toEqual({ model: 'gem-1' })
    expect(matchPath(generate, '/v1beta/models/gem-1:countTokens')).toBeUndefined()
    expect(matchPath(generate, '/v1beta/models/a/b:generateContent')).toBeUndefined()
    expect(matchPath('/v1/messages', '/v1/messages')).toEqual({})
    expect(fillPath(generate, { model: 'gem-1' })).toBe(path)
    expect(modelOf(byPath, { model: 'other' }, path)).toBe('gem-1')
    expect(modelOf(byPath, {}, '/v1/elsewhere')).toBeUndefined()
  })
})
