// Searches of the model are answered within the client's request, in every format.

import { memoryStore, openThread } from 'oriel'
import { afterEach, describe, expect, it } from 'vitest'
import { spokenFormats } from '../dialect.ts'
import type { Target } from '../target.ts'
import { expandCall, openScene, policy, type Say, secret } from './story.ts'

const targets: Target[] = []
afterEach(async () => {
  for (const target of targets.splice(0).reverse()) await target.close()
})

const search = ['search_conversation', '{"query":"Which seal has crate 60?"}'] as const
const answered: Say = ({ body }) => ({
  reasoning: 'There.',
  text: JSON.stringify(body).includes(secret) ? `It is ${secret}.` : 'Unknown.',
})

const cases = spokenFormats.flatMap((format) =>
  ['gateway', 'adapter'].flatMap((where) =>
    [false, true].map((isStream) => ({ format, where, isStream })),
  ),
)

describe.each(cases)('$format by the $where, streamed: $isStream', (one) => {
  const { format, isStream, where } = one

  it('[GX15] the model finds what was left out, and the client sees one answer', async () => {
    const says: readonly Say[] = [
      () => ({ reasoning: 'Where?', text: 'Looking.', calls: [search] }),
      answered,
    ]
    const thread =
      where === 'gateway' ? undefined : await openThread({ store: memoryStore(), policy })
    const scene = await openScene({ format, isStream, says, ...(thread && { thread }) })
    targets.push(scene.target)
    const told = await scene.ask(scene.history, scene.options)
    expect(told.calls).toEqual([])
    expect(told.text.replaceAll(/\s+/g, ' ')).toBe(`Looking. It is ${secret}.`)
    expect(JSON.stringify(told.whole)).not.toContain('search_conversation')
    expect(scene.target.upstream.breaches).toEqual([])
  })
})

describe('both tools in one answer', () => {
  it('[GX15] are answered each by its own, under its own name', async () => {
    const says: readonly Say[] = [
      (asked) => ({ reasoning: 'Both.', calls: [expandCall(asked), search] }),
      answered,
    ]
    const scene = await openScene({ format: 'gemini', says })
    targets.push(scene.target)
    expect((await scene.ask(scene.history, scene.options)).text).toBe(`It is ${secret}.`)
    const sent = JSON.stringify(scene.target.upstream.requests.at(-1)?.body)
    expect(sent).toMatch(/"functionResponse":\{[^{}]*"name":"search_conversation"/)
    expect(sent).toMatch(/"functionResponse":\{[^{}]*"name":"expand_message"/)
  })
})
