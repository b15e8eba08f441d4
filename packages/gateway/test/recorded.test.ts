// What six real coding agents and every SDK sent, recorded (docs/decisions/0002-what-clients-resend.md), sent again through the gateway.

import { readdirSync, readFileSync } from 'node:fs'
import { type JsonObject, resolveCounter, type WireFormat } from 'oriel'
import { afterEach, describe, expect, it } from 'vitest'
import { dialects } from './dialect.ts'
import { openGateway, type Target } from './target.ts'

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

let target: Target | undefined
afterEach(() => target?.close())

describe('recorded clients through the gateway', () => {
  it.each(recordings)('[GW58] $name', async ({ recording: { format, requests, expected } }) => {
    let next = 0
    target = await openGateway({
      binding: 'none',
      answer() {
        const { status, body, isCut } = requests[next]?.reply ?? { status: 500, body: {} }
        if (isCut === true) return { type: 'drop' }
        const headers = { 'content-type': 'application/json', 'x-should-retry': 'false' }
        return { type: 'raw', status, headers, body: JSON.stringify(body) }
      },
    })
    const { url, upstream } = target
    const threads: (string | undefined)[] = []
    for (const [index, { headers, body, reply }] of requests.entries()) {
      next = index
      const before = upstream.requests.length
      const response = await fetch(url + dialects[format].path, {
        method: 'POST',
        headers: { authorization: 'Bearer k', 'content-type': 'application/json', ...headers },
        // Whole answers: the recorded ids must come back as they were.
        body: JSON.stringify({ ...body, stream: false }),
      })
      const text = await response.text()
      if (reply.isCut !== true) {
        expect(response.status).toBe(reply.status)
        expect(JSON.parse(text)).toEqual(reply.body)
      }
      const [sent] = upstream.requests.slice(before)
      expect(sent?.breaches, `request ${index}`).toEqual([])
      const counter = resolveCounter('estimate')
      const asked = counter.count(JSON.stringify({ ...body, stream: false }))
      expect(counter.count(JSON.stringify(sent?.body))).toBeLessThanOrEqual(asked * 1.02 + 50)
      threads.push(response.headers.get('x-oriel-thread') ?? undefined)
    }
    for (const [index, { type, of }] of expected.entries()) {
      const [own, other] = [threads[index], of === undefined ? undefined : threads[of]]
      if (own === undefined || other === undefined) continue
      if (type === 'retry' || type === 'extends') expect(own, `${index} ${type} ${of}`).toBe(other)
      if (type === 'fork') expect(own, `${index} forks ${of}`).not.toBe(other)
    }
  })
})
