// Telemetry that comes late, is not sampled, or stands around the gateway.

import { context, SpanKind, trace } from '@opentelemetry/api'
import { afterAll, describe, expect, it } from 'vitest'
import { createGateway } from '../../src/index.ts'
import { bodyOf, paths, wholeAnswer } from './answers.ts'
import { type Recorder, registerOpenTelemetry } from './open-telemetry.ts'

const seen: Headers[] = []
const gateway = createGateway({
  upstreams: [
    {
      name: 'u',
      baseUrl: 'http://upstream.invalid',
      fetch: async ({ headers }) => {
        seen.push(headers)
        return new Response(wholeAnswer('openai-chat', 'Yes.'), {
          headers: { 'content-type': 'application/json' },
        })
      },
    },
  ],
})
let recorder: Recorder | undefined

afterAll(async () => {
  await gateway.close()
  await recorder?.close()
})

async function ask(headers: Record<string, string> = {}): Promise<void> {
  const body = bodyOf('openai-chat', 'Hello?')
  const request = new Request(`http://localhost${paths['openai-chat']}`, {
    method: 'POST',
    body,
    headers,
  })
  await (await gateway.fetch(request)).text()
  await gateway.settled()
}

describe('OpenTelemetry', () => {
  it('[GT5] may be registered after the gateway was made, and is used from then on', async () => {
    await ask()
    expect(seen[0]?.has('traceparent')).toBe(false)
    recorder = registerOpenTelemetry()
    await ask()
    await expect.poll(() => recorder?.spans().length).toBe(1)
    expect(seen[1]?.has('traceparent')).toBe(true)
    const metrics = await recorder.metrics()
    const requests = metrics.find(({ descriptor }) => descriptor.name === 'oriel.requests')
    expect(requests?.dataPoints.map(({ value }) => value)).toEqual([1])
    const own = await (await gateway.fetch(new Request('http://localhost/metrics'))).text()
    expect(own).toContain('oriel_requests_total{route="openai-chat",status="2xx"} 2')
  })

  it('[GT4] a span that is active already is the parent, not the one that a header names', async () => {
    recorder?.reset()
    const parent = trace.getTracer('tests').startSpan('POST /v1', { kind: SpanKind.SERVER })
    const headers = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' }
    await context.with(trace.setSpan(context.active(), parent), () => ask(headers))
    parent.end()
    await expect.poll(() => recorder?.spans().length).toBe(2)
    const [own] = recorder?.spans() ?? []
    expect(own?.parentSpanContext?.spanId).toBe(parent.spanContext().spanId)
  })

  it('[GT4] a trace that is not sampled is passed on as such, and leaves no span', async () => {
    recorder?.reset()
    const id = '4bf92f3577b34da6a3ce929d0e0e4736'
    await ask({ traceparent: `00-${id}-00f067aa0ba902b7-00` })
    expect(seen.at(-1)?.get('traceparent')).toMatch(new RegExp(`^00-${id}-[0-9a-f]{16}-00$`))
    await ask()
    await expect.poll(() => recorder?.spans().length).toBe(1)
  })
})
