import { type Provider, providers } from 'oriel/providers'
import { describe, expect, it } from 'vitest'
import { parseBody } from '../call/client-body.ts'
import type { RequestSettings } from '../settings/resolve.ts'
import { forUpstream, pathForUpstream } from './upstream-body.ts'

const limits = { depth: 64, nodes: 1000 }
const noAgent = {} as RequestSettings
const helper = { agent: { name: 'helper', template: { model: 'm-1' } } } as RequestSettings

describe('forUpstream', () => {
  it('[GW14] leaves out what is only for the gateway, however often it comes', () => {
    const text = '{"oriel":{"a":1}, "model":"m", "oriel":{}, "messages":[ ] ,"oriel":null}'
    const body = forUpstream(parseBody(Buffer.from(text), limits), noAgent)
    expect(body.text).toBe('{ "model":"m",  "messages":[ ] }')
    expect(body.value).toEqual({ model: 'm', messages: [] })
  })

  it.each([
    ['{}', '{"model":"m-1"}'],
    ['{ }', '{"model":"m-1" }'],
    ['{"oriel":{}}', '{"model":"m-1"}'],
    ['{"stream":true}', '{"model":"m-1","stream":true}'],
    ['{"a":{"model":1}}', '{"model":"m-1","a":{"model":1}}'],
  ])('[GW14] puts the model of the agent into %s', (text, expected) => {
    const body = forUpstream(parseBody(Buffer.from(text), limits), helper)
    expect(body.text).toBe(expected)
    expect(body.value).toEqual(JSON.parse(expected))
  })

  it('[GW14] names the model of the agent wherever one is named', () => {
    const text = '{"model" : "other","a":[1], "m\\u006fdel": null,"model":"helper" }'
    const body = forUpstream(parseBody(Buffer.from(text), limits), helper)
    expect(body.text).toBe('{"model" : "m-1","a":[1], "m\\u006fdel": "m-1","model":"m-1" }')
    expect(body.value).toEqual({ model: 'm-1', a: [1] })
  })
})

describe('pathForUpstream', () => {
  const chat: Provider = providers['openai-chat']
  const request = { ...chat.request, paths: ['/v1beta/models/{model}:generateContent'] }
  const byPath: Provider = { ...chat, request }

  it('[PV3] names the model of the agent that was named as one, where paths name it', () => {
    const path = (model: string): string => `/v1beta/models/${model}:generateContent`
    expect(pathForUpstream(byPath, path('helper'), helper)).toBe(path('m-1'))
    expect(pathForUpstream(byPath, path('other'), helper)).toBe(path('other'))
    expect(pathForUpstream(chat, '/v1/chat/completions', helper)).toBeUndefined()
    const body = parseBody(Buffer.from('{"oriel":{},"a":1}'), limits)
    expect(forUpstream(body, helper, { hasModel: false }).text).toBe('{"a":1}')
  })
})
