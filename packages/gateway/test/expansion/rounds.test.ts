// Calls of the gateway's own tool are answered within the client's request.

import { type WireFormat, wireFormats } from 'oriel'
import { afterEach, describe, expect, it } from 'vitest'
import { dialects } from '../dialect.ts'
import { sdkClient } from '../sdk/sdk-client.ts'
import { openGateway, type Target } from '../target.ts'
import type { Asked } from '../upstream/upstream.ts'
import {
  expandCall,
  listOf,
  opening,
  policy,
  readTool,
  script,
  secret,
  tellOpening,
} from './story.ts'

const targets: Target[] = []
afterEach(async () => {
  await Promise.all(targets.splice(0).map((target) => target.close()))
})

const thinking: Readonly<Record<WireFormat, Readonly<Record<string, unknown>>>> = {
  'openai-chat': {},
  'openai-responses': {},
  anthropic: { thinking: { type: 'enabled', budget_tokens: 1024 } },
}

const cases = wireFormats.flatMap((format) =>
  [false, true].map((isStream) => ({ format, isStream, mode: isStream ? 'streamed' : 'whole' })),
)

describe.each(cases)('$format $mode', ({ format, isStream }) => {
  it('[GX1] the client sees one answer, and the next request begins with what the last round saw', async () => {
    const target = await openGateway({
      gateway: { policy, expand: true },
      answer: script([
        ...opening,
        (asked) => ({ reasoning: 'I need it.', text: 'Looking.', calls: [expandCall(asked)] }),
        (asked) => ({
          reasoning: 'There.',
          text: JSON.stringify(asked.body).includes(secret) ? `It is ${secret}.` : 'Unknown.',
        }),
        () => ({ text: 'Gladly.' }),
      ]),
    })
    targets.push(target)
    const { upstream, url } = target
    const ask = sdkClient(format, { url })
    const extra = thinking[format]
    const before = await tellOpening(format, ask, { isStream, extra })
    const history = [...before, dialects[format].user('What is the seal of crate 60?')]
    const told = await ask(history, { isStream, extra, tools: [readTool] })
    expect(upstream.breaches).toEqual([])
    expect(told.calls).toEqual([])
    expect(told.text.replaceAll('\n', ' ')).toMatch(new RegExp(`^Looking. +It is ${secret}.$`))
    const thanks = [...history, ...told.messages, dialects[format].user('Thanks.')]
    await ask(thanks, { isStream, extra, tools: [readTool] })
    expect(upstream.breaches).toEqual([])
    const [, , , , second, third] = upstream.requests.map(textOf)
    expect(third?.startsWith(second?.slice(0, -1) ?? 'nothing')).toBe(true)
    for (const { body } of upstream.requests)
      expect(JSON.stringify(body.tools)).toContain('expand_message')
  })
})

/** The messages as they were sent; what the SDK's stream helper adds to an item is its own. */
function textOf(asked: Asked): string {
  return JSON.stringify(listOf(asked), (key, value) =>
    key.startsWith('parsed') ? undefined : value,
  )
}
