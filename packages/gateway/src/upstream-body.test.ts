import { describe, expect, it } from 'vitest'
import { parseBody } from './client-body.ts'
import type { RequestSettings } from './settings.ts'
import { forUpstream } from './upstream-body.ts'

const limits = { depth: 64, nodes: 1000 }
const noAgent = {} as RequestSettings

describe('forUpstream', () => {
  it('[GW14] leaves out what is only for the gateway, however often it comes', () => {
    const text = '{"oriel":{"a":1}, "model":"m", "oriel":{}, "messages":[ ] ,"oriel":null}'
    const body = forUpstream(parseBody(Buffer.from(text), limits), noAgent)
    expect(body.text).toBe('{ "model":"m",  "messages":[ ] }')
    expect(body.value).toEqual({ model: 'm', messages: [] })
  })
})
