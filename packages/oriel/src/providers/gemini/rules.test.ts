import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../../core/log/json.ts'
import { project } from '../../project.ts'
import { validate } from '../registry.ts'

const user = (...parts: readonly JsonObject[]): JsonObject => ({ role: 'user', parts })
const model = (...parts: readonly JsonObject[]): JsonObject => ({ role: 'model', parts })
const text = (value: string): JsonObject => ({ text: value })
const call = (id?: string, more: JsonObject = {}): JsonObject => ({
  functionCall: { ...(id === undefined ? {} : { id }), name: 'search', args: {}, ...more },
})
const response = (id?: string, more: JsonObject = {}): JsonObject => ({
  functionResponse: {
    ...(id === undefined ? {} : { id }),
    ...{ name: 'search', response: { output: 'found' }, ...more },
  },
})
const go = user(text('go'))

const rulesOf = (body: unknown): readonly string[] =>
  validate('gemini', body).map(({ rule }) => rule)
const sent = (contents: readonly unknown[]): readonly unknown[] =>
  project<unknown>(contents, undefined, { format: 'gemini' }).messages

/** That the provider refuses these contents by these rules, and gets others instead. */
function expectRefused(
  contents: readonly Json[],
  rules: readonly string[],
  expected: readonly Json[],
): void {
  expect(rulesOf(contents)).toEqual(rules)
  expect(sent(contents)).toEqual(expected)
  expect(rulesOf(expected)).toEqual([])
}

describe('what Gemini refuses, and what is sent instead', () => {
  it('[GC1] a role that is neither user nor model', () => {
    expectRefused(
      [go, model(call('a')), { role: 'function', parts: [response('a')] }],
      ['GC1', 'GC6'],
      [go, model(call('a')), user(response('a'))],
    )
  })

  it('[GC2] a first content of the model', () => {
    expectRefused([model(text('hi')), go], ['GC2'], [go])
  })

  it('[GC3] two contents of one role in a row', () => {
    expectRefused([go, user(text('now'))], ['GC3'], [user(text('go'), text('now'))])
  })

  it('[GC4] a content without parts', () => {
    expectRefused([go, model(), user(text('on'))], ['GC4'], [user(text('go'), text('on'))])
  })

  it('[GC4] a blank text', () => {
    expectRefused([user(text('go'), text(' '))], ['GC4'], [go])
  })

  it('[GC4] a part that is nothing', () => {
    expectRefused([user(text('go'), {})], ['GC4'], [go])
  })

  it('[GC4] a part that is two things', () => {
    expectRefused(
      [user(text('go'), { text: 'a', inlineData: { mimeType: 'image/png', data: 'AAAA' } })],
      ['GC4'],
      [go],
    )
  })

  it('[GC5] a last content of the model', () => {
    expectRefused([go, model(text('hi'))], ['GC5'], [go])
  })

  it('[GC6] a call without a response', () => {
    expectRefused(
      [go, model(call('a')), user(text('well?'))],
      ['GC6'],
      [
        go,
        model(call('a')),
        user(
          response('a', { response: { error: '[No result was recorded for this call.]' } }),
          text('well?'),
        ),
      ],
    )
  })

  it('[GC7] a response to no call', () => {
    expectRefused([user(response('a')), model(text('hi')), go], ['GC7'], [go])
  })

  it('[GC7] a response in the name of another function', () => {
    expectRefused(
      [go, model(call('a')), user(response('a', { name: 'read' }))],
      ['GC7'],
      [go, model(call('a')), user(response('a'))],
    )
  })

  it('[GC8] a second response to a call', () => {
    expectRefused(
      [go, model(call('a')), user(response('a'), response('a'))],
      ['GC8'],
      [go, model(call('a')), user(response('a'))],
    )
  })

  it('[GC9] a response behind other parts', () => {
    expectRefused(
      [go, model(call('a')), user(text('here'), response('a'))],
      ['GC9'],
      [go, model(call('a')), user(response('a'), text('here'))],
    )
  })

  it('[GC11] a call among the parts of the user', () => {
    expectRefused([user(text('go'), call('a'))], ['GC11'], [go])
  })

  it('[GC11] arguments that are no object', () => {
    expectRefused(
      [go, model(call('a', { args: [1] })), user(response('a'))],
      ['GC11'],
      [go, model(call('a', { args: { _raw: '[1]' } })), user(response('a'))],
    )
  })

  it('[GC11] a name that a function cannot have', () => {
    expectRefused(
      [go, model(call('a', { name: '1 two' })), user(response('a', { name: '1 two' }))],
      ['GC11', 'GC11'],
      [go, model(call('a', { name: '_1_two' })), user(response('a', { name: '_1_two' }))],
    )
  })

  it('[GC11] a response that is no object', () => {
    expectRefused(
      [go, model(call('a')), user(response('a', { response: 'found' }))],
      ['GC11'],
      [go, model(call('a')), user(response('a', { response: { output: '' } }))],
    )
  })

  it('[GC12] a signature that is no text', () => {
    expectRefused(
      [go, model({ ...text('hi'), thoughtSignature: 7 }), go],
      ['GC12'],
      [user(text('go'), text('go'))],
    )
  })

  it('[GC13] half a character', () => {
    expectRefused([user(text('a \ud83d b'))], ['GC13'], [user(text('a \ufffd b'))])
  })

  it('[GC10] an id that is used twice, or too long', () => {
    const twice = [go, model(call('a')), user(response('a')), model(call('a')), user(response('a'))]
    const long = 'x'.repeat(65)
    expect(rulesOf(twice)).toEqual(['GC10'])
    expect(rulesOf([go, model(call(long)), user(response(long))])).toEqual(['GC10', 'GC10'])
    for (const contents of [twice, [go, model(call(long)), user(response(long))]]) {
      const messages = sent(contents)
      expect(rulesOf(messages)).toEqual([])
      expect(messages).toHaveLength(contents.length)
    }
  })

  it('[GC10] takes ids on both sides, on one, or on none: then names and order pair', () => {
    for (const [ofCall, ofResponse] of [['a', 'a'], ['a', undefined], [undefined, 'made-up'], []]) {
      const contents = [
        go,
        model(call(ofCall), call(ofCall && 'b', { name: 'read' })),
        user(response(ofResponse && ofCall && 'b', { name: 'read' }), response(ofResponse)),
      ]
      expect(rulesOf(contents)).toEqual([])
      expect(sent(contents)).toEqual(contents)
    }
    const unknown = [go, model(call('a')), user(response('b'))]
    expect(rulesOf(unknown)).toEqual(['GC6', 'GC7'])
  })

  it('[GC12] models since Gemini 3 demand a signature of the first call of each step in the current turn', () => {
    const sealed = { ...call('c'), thoughtSignature: 'c2ln' }
    const past = [go, model(call('a')), user(response('a')), model(text('so')), user(text('on'))]
    const loop = [model(sealed, call('d')), user(response('c'), response('d'))]
    const open = [model(call('e')), user(response('e'))]
    const ofModel = (name: string, contents: readonly Json[]) => rulesOf({ model: name, contents })
    expect(ofModel('gemini-3-pro-preview', [...past, ...loop])).toEqual([])
    expect(ofModel('models/gemini-3.5-flash', [...past, ...loop, ...open])).toEqual(['GC12'])
    expect(ofModel('gemini-2.5-pro', [...past, ...loop, ...open])).toEqual([])
    expect(ofModel('gemini-3-pro-image', [...past, ...loop, ...open])).toEqual([])
  })

  it('[GC4] [GC1] a system instruction is text', () => {
    const contents = [go]
    expect(rulesOf({ contents, systemInstruction: { parts: [text('Be brief.')] } })).toEqual([])
    expect(rulesOf({ contents, systemInstruction: { parts: [text('')] } })).toEqual(['GC4'])
    expect(rulesOf({ contents, systemInstruction: { parts: [call('a')] } })).toEqual(['GC11'])
    expect(rulesOf({ contents, systemInstruction: {} })).toEqual(['GC4'])
    const view = project([{ role: 'system', parts: [text('Be brief.')] }, go], undefined, {
      format: 'gemini',
    })
    expect(view.system).toEqual({ parts: [text('Be brief.')] })
    expect(view.messages).toEqual([go])
    expect(view.trace).toMatchObject([{ index: 0, reason: expect.stringMatching(/^GC1: /) }])
  })

  it('[GC4] [GC13] a body has contents', () => {
    expect(rulesOf({})).toEqual(['GC4'])
    expect(rulesOf({ generationConfig: {}, contents: [] })).toEqual(['GC4'])
    expect(rulesOf('text')).toEqual(['GC13'])
    expect(rulesOf([])).toEqual([])
  })
})
