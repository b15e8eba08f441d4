// What six real coding agents and every SDK sent, recorded (docs/decisions/0002-what-clients-resend.md), sent again through the gateway.

import { readdirSync, readFileSync } from 'node:fs'
import type { JsonObject, WireFormat } from 'oriel'
import { providers } from 'oriel/providers'
import { afterEach, describe, expect, it } from 'vitest'
import { PrefixCache } from '../src/demo/prefix-cache.ts'
import { dialects } from './dialect.ts'
import { openGateway, type Target } from './target.ts'
import { breachesOf } from './upstream/laws.ts'

interface Recording {
  readonly format: WireFormat
  readonly requests: readonly {
    readonly headers: Readonly<Record<string, string>>
    readonly body: JsonObject
    readonly reply: { readonly status: number; readonly isCut?: boolean; readonly body: JsonObject }
  }[]
  readonly expected: readonly { readonly type: string; readonly of?: number }[]
}

const folder = new URL('../../oriel/test/fixtures/clients/', import.meta.url)
const recordings = readdirSync(folder)
  .filter((file) => file.endsWith('.json'))
  .map((file) => ({
    name: file.replace('.json', ''),
    recording: JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as Recording,
  }))

const noEdits = { applied_edits: [] }

let target: Target | undefined
afterEach(() => target?.close())

describe('recorded clients through the gateway', () => {
  it.each(recordings)('[GW58] $name', async ({ name, recording }) => {
    const { format, requests, expected } = recording
    let next = 0
    target = await openGateway({
      binding: 'none',
      isRefusing: false,
      answer() {
        const { status, body, isCut } = requests[next]?.reply ?? { status: 500, body: {} }
        if (isCut === true) return { type: 'drop' }
        const headers = { 'content-type': 'application/json' }
        return { type: 'raw', status, headers, body: JSON.stringify(body) }
      },
    })
    const { url, upstream } = target
    const threads: (string | undefined)[] = []
    for (const [index, { headers, body, reply }] of requests.entries()) {
      next = index
      const before = upstream.requests.length
      // Whole answers: the recorded ids must come back as they were.
      const asked: JsonObject = { ...body, stream: false }
      const response = await fetch(url + dialects[format].path, {
        method: 'POST',
        headers: { authorization: 'Bearer k', 'content-type': 'application/json', ...headers },
        body: JSON.stringify(asked),
      })
      const text = await response.text()
      if (reply.isCut !== true) {
        expect(response.status).toBe(reply.status)
        // Who asks for edits of the context is told that there were none.
        const told =
          asked.context_management === undefined || reply.status !== 200
            ? {}
            : { context_management: noEdits }
        expect(JSON.parse(text)).toEqual({ ...told, ...reply.body })
      }
      const [sent] = upstream.requests.slice(before)
      const where = `request ${index}`
      // What a client breaks by itself (system messages in between, a prefill) is its provider's to judge.
      const own = rulesOf(breachesOf(format, Buffer.from(JSON.stringify(asked)), asked))
      expect(
        rulesOf(sent?.breaches ?? []).filter((rule) => !own.includes(rule)),
        where,
      ).toEqual([])
      const weigh = (value: JsonObject): number => new PrefixCache().weigh(providers[format], value)
      // Some clients write the model's arguments anew, and shorter; the log has them as the model wrote them.
      // A client that names an earlier answer sends only what is new: the gateway sends the view of the whole.
      if (asked.previous_response_id === undefined)
        expect(weigh(sent?.body ?? {}), where).toBeLessThanOrEqual(weigh(asked) * 1.02 + 100)
      threads.push(response.headers.get('x-oriel-thread') ?? undefined)
    }
    expect(missedJoins(expected, threads).map((index) => `${name} #${index}`)).toEqual(
      known.filter((one) => one.startsWith(`${name} #`)),
    )
    expect(wrongJoins(expected, threads)).toEqual([])
  })
})

/**
 * What `sync` misjudges, as packages/oriel/test/clients.test.ts has it: the AI SDK's screens rewrite a failure that OpenAI formats do not
 * mark as one; a summary asked for in the conversation's own words.
 */
const known: readonly string[] = [
  'ai-sdk-compatible-ui #4',
  'ai-sdk-openai-chat-ui #4',
  'ai-sdk-responses-unstored-ui #4',
  'qwen-code-summary-dropped #3',
]

function rulesOf(breaches: readonly { readonly rule: string }[]): readonly string[] {
  return [...new Set(breaches.map(({ rule }) => rule))].sort()
}

type Threads = readonly (string | undefined)[]

/** Requests that continued in another thread than the one that they continue. */
function missedJoins(expected: Recording['expected'], threads: Threads): readonly number[] {
  return [...expected.entries()].flatMap(([index, { type, of }]) => {
    const [own, other] = [threads[index], of === undefined ? undefined : threads[of]]
    const isJoining = type === 'retry' || type === 'extends'
    return isJoining && own !== undefined && other !== undefined && own !== other ? [index] : []
  })
}

/** Requests that continued in the thread of a conversation that they are none of. */
function wrongJoins(expected: Recording['expected'], threads: Threads): readonly number[] {
  return [...expected.entries()].flatMap(([index, { type, of }]) => {
    const own = threads[index]
    if (own === undefined) return []
    if (type === 'fork') return of !== undefined && threads[of] === own ? [index] : []
    return type === 'new-thread' && threads.slice(0, index).includes(own) ? [index] : []
  })
}
