// Many sessions at once: what one says never appears in another.

import type { WireFormat } from 'oriel'
import { afterEach, describe, expect, it } from 'vitest'
import { spokenFormats } from './dialect.ts'
import { sdkClient } from './sdk/sdk-client.ts'
import { talk } from './sdk/talk.ts'
import { openGateway, type Target } from './target.ts'
import { type Action, reply } from './upstream/action.ts'
import type { Asked } from './upstream/upstream.ts'

let target: Target | undefined
afterEach(() => target?.close())

const tool = {
  name: 'look',
  description: 'Looks.',
  parameters: { type: 'object', properties: {} },
}
const sessions = 20
const turns = 4

interface Session {
  readonly canary: string
  readonly format: WireFormat
  readonly key: string
  readonly headers: Readonly<Record<string, string>>
}

/** All begin with the same words; the canary comes only with the tool's result and the second question. */
function sessionsOf(kind: string): readonly Session[] {
  return Array.from({ length: sessions }, (_, index) => ({
    canary: `canary-${kind}-${index}-x`,
    format: spokenFormats[index % spokenFormats.length] as WireFormat,
    key: kind === 'keys' || index % 2 === 0 ? `key-${index}` : 'key-shared',
    headers: {
      ...(kind === 'header' ? { 'x-session-id': `session-${index}` } : {}),
      ...(kind === 'same header' ? { 'x-session-id': 'session' } : {}),
    },
  }))
}

describe.each(['keys', 'prefix', 'header', 'same header'])('%s', (kind) => {
  it('[GW56] twenty sessions in parallel see only themselves', async () => {
    target = await openGateway({ answer: scripted, gateway: { policy: 'recommended' } })
    const { url, upstream } = target
    const all = sessionsOf(kind)
    const talks = await Promise.all(
      all.map(({ canary, format, key, headers }, index) =>
        talk({
          ...{ format, tools: [tool], isStream: index % 3 === 0 },
          ask: sdkClient(format, { url, key, headers }),
          questions: Array.from({ length: turns }, (_, turn) =>
            turn === 0 ? 'Hello, what is the word?' : `Again, turn ${turn} of ${canary}?`,
          ),
          runTool: () => `The word is ${canary}.\n`.repeat(30),
        }),
      ),
    )
    expect(upstream.breaches).toEqual([])
    for (const [index, { answers, history }] of talks.entries()) {
      const { canary } = all[index] as Session
      expect(answers).toEqual(Array.from({ length: turns }, () => `It is ${canary}.`))
      expect(canariesIn(JSON.stringify(history))).toEqual([canary])
    }
    for (const { raw, headers } of upstream.requests) {
      const found = canariesIn(raw.toString())
      expect(found.length).toBeLessThanOrEqual(1)
      const own = all.filter(({ key }) => headers.authorization === `Bearer ${key}`)
      for (const canary of found) expect(own.map((session) => session.canary)).toContain(canary)
    }
    expect(upstream.requests).toHaveLength(sessions * turns * 2)
  })
})

/** Looks once in each turn, then says the only word it saw. */
function scripted({ format, body }: Asked): Action {
  const list = (format === 'openai-responses' ? body.input : body.messages) as readonly unknown[]
  const last = JSON.stringify(list.at(-1))
  if (!/"tool_result"|"role":"tool"|function_call_output/.test(last))
    return reply({ calls: [['look', '{}']] })
  return reply({ text: `It is ${canariesIn(last).join(' and ')}.` })
}

function canariesIn(text: string): readonly string[] {
  return [...new Set(text.match(/canary-[a-z ]+-\d+-x/g))]
}
