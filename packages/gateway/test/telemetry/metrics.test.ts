// `/metrics` over real HTTP: what it counts, who may read it, and that nothing from outside can grow it.

import { afterEach, describe, expect, it } from 'vitest'
import {
  createGateway,
  type Gateway,
  type GatewayOptions,
  type GatewayServer,
  serveGateway,
} from '../../src/index.ts'
import { bodyOf, type Format, paths, wholeAnswer } from './answers.ts'
import { type MetricFamily, readExposition } from './exposition.ts'

const key = 'key-of-the-tests-0123456789'
let server: GatewayServer | undefined
let gateway: Gateway

afterEach(async () => {
  await server?.close()
  server = undefined
})

let status = 200
const seen: [string, string][][] = []

async function open(options: GatewayOptions = {}): Promise<void> {
  status = 200
  const fetch = async (request: Request): Promise<Response> => {
    seen.push([...request.headers])
    const format = (Object.keys(paths) as Format[]).find((one) => request.url.endsWith(paths[one]))
    return new Response(status === 200 ? wholeAnswer(format ?? 'openai-chat', 'Yes.') : '{}', {
      status,
      headers: { 'content-type': 'application/json' },
    })
  }
  gateway = createGateway({
    upstreams: [{ name: 'u', baseUrl: 'http://upstream.invalid', fetch }],
    ...options,
  })
  server = await serveGateway(gateway, { port: 0 })
}

async function call(path: string, init: RequestInit = {}): Promise<Response> {
  const response = await fetch(`${server?.url}${path}`, init)
  await response.clone().text()
  return response
}

const post = (body: string, headers: Record<string, string> = {}): RequestInit => ({
  method: 'POST',
  body,
  headers,
})

async function scrape(headers: Record<string, string> = {}): Promise<readonly MetricFamily[]> {
  await gateway.settled()
  const response = await call('/metrics', { headers })
  expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
  return readExposition(await response.text())
}

function metricOf(
  families: readonly MetricFamily[],
  name: string,
  labels: Record<string, string> = {},
): number {
  const samples = families.flatMap((family) => family.samples)
  const found = samples.filter(
    (sample) =>
      sample.name === name &&
      Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
  )
  return found.reduce((sum, { value }) => sum + value, 0)
}

describe('/metrics', () => {
  it('[GT6] is in the format of Prometheus from the first moment on, with the process and the store', async () => {
    await open()
    const first = await scrape()
    expect(metricOf(first, 'process_resident_memory_bytes')).toBeGreaterThan(1e7)
    expect(metricOf(first, 'oriel_store_info', { store: 'memory' })).toBe(1)
    expect(metricOf(first, 'process_start_time_seconds')).toBeGreaterThan(1e9)
    await new Promise((resolve) => setTimeout(resolve, 60))
    const second = await scrape()
    expect(metricOf(second, 'nodejs_eventloop_lag_max_seconds')).toBeGreaterThanOrEqual(0)
    expect(metricOf(second, 'nodejs_eventloop_lag_p50_seconds')).toBeLessThan(1)
    expect(metricOf(second, 'oriel_requests_total', { route: 'metrics', status: '2xx' })).toBe(1)
  })

  it('[GT7] counts calls, tokens, dollars, epochs and time', async () => {
    await open({ policy: { toolResults: { strategy: 'keepRecent', max: 1, cutoff: 0 } } })
    const messages: object[] = [{ role: 'user', content: 'Look.' }]
    for (let n = 0; n < 4; n++) {
      const one = { id: `c${n}`, type: 'function', function: { name: 'look', arguments: '{}' } }
      messages.push({ role: 'assistant', content: null, tool_calls: [one] })
      messages.push({ role: 'tool', tool_call_id: `c${n}`, content: 'much to see. '.repeat(300) })
    }
    const response = await call(
      paths['openai-chat'],
      post(JSON.stringify({ model: 'gpt-5', messages })),
    )
    const saved =
      Number(response.headers.get('x-oriel-tokens-before')) -
      Number(response.headers.get('x-oriel-tokens-after'))
    const all = await scrape()
    const model = 'gpt-5'
    expect(metricOf(all, 'oriel_tokens_saved_total', { model })).toBe(saved)
    // $1.25 for a million input tokens, a tenth of it from the cache.
    expect(metricOf(all, 'oriel_cost_saved_dollars_total', { model })).toBeCloseTo(
      (saved * 0.125) / 1e6,
      12,
    )
    expect(metricOf(all, 'oriel_epochs_total', { cause: 'policy' })).toBe(1)
    expect(metricOf(all, 'oriel_edits_total')).toBe(3)
    expect(metricOf(all, 'oriel_calls_active')).toBe(0)
    expect(metricOf(all, 'oriel_projection_duration_seconds_count')).toBe(1)
    expect(metricOf(all, 'oriel_overhead_duration_seconds_count', { route: 'openai-chat' })).toBe(1)
    expect(metricOf(all, 'gen_ai_client_token_usage_sum', { model, type: 'input' })).toBe(120)
    expect(metricOf(all, 'gen_ai_client_token_usage_sum', { model, type: 'output' })).toBe(30)
    expect(
      metricOf(all, 'gen_ai_client_operation_duration_seconds_count', { model, error: '' }),
    ).toBe(1)
    const id = 'x-oriel-thread'
    const thread = response.headers.get(id)
    const view = (await (await call(`/api/threads/${thread}/view`)).json()) as {
      trace: { id: string; form: string }[]
    }
    const omitted = view.trace.find(({ form }) => form === 'omitted')?.id
    await call(`/api/threads/${thread}/expand`, post(JSON.stringify({ id: omitted })))
    expect(metricOf(await scrape(), 'oriel_expansions_total')).toBe(1)
  })

  it('[GT7] counts no dollars for models whose price nobody knows', async () => {
    await open({ policy: { history: { length: 1 } } })
    const said = Array.from({ length: 9 }, (_, n) => ({
      role: n % 2 === 0 ? 'user' : 'assistant',
      content: `message ${n}`,
    }))
    await call(
      paths['openai-chat'],
      post(JSON.stringify({ model: 'my-own-model', messages: said })),
    )
    const all = await scrape()
    expect(metricOf(all, 'oriel_tokens_saved_total', { model: 'my-own-model' })).toBeGreaterThan(0)
    expect(metricOf(all, 'oriel_cost_saved_dollars_total')).toBe(0)
  })

  it('[GT7] counts errors of upstreams, refusals of its own, and calls that are turned away', async () => {
    await open({ limits: { concurrentCalls: 1, bodyBytes: 10_000 } })
    for (status of [400, 429, 500]) await call(paths.anthropic, post(bodyOf('anthropic', 'x')))
    status = 200
    await call(paths.anthropic, post('{'))
    await call(paths.anthropic, post(bodyOf('anthropic', 'x'.repeat(20_000))))
    await call('/nowhere')
    await call('/v1/models')
    const many = await Promise.all(
      [1, 2, 3].map(() =>
        gateway.fetch(
          new Request(`http://localhost${paths.anthropic}`, post(bodyOf('anthropic', 'x'))),
        ),
      ),
    )
    for (const one of many) await one.text()
    const all = await scrape()
    const requests = (route: string, group: string): number =>
      metricOf(all, 'oriel_requests_total', { route, status: group })
    expect([
      requests('anthropic', '2xx'),
      requests('anthropic', '4xx'),
      requests('anthropic', '5xx'),
    ]).toEqual([1, 6, 1])
    expect([requests('other', '4xx'), requests('pass', '2xx')]).toEqual([1, 1])
    expect(metricOf(all, 'oriel_calls_shed_total', { code: 'busy' })).toBe(2)
    expect(metricOf(all, 'gen_ai_client_operation_duration_seconds_count', { error: '4xx' })).toBe(
      4,
    )
    expect(metricOf(all, 'oriel_calls_active')).toBe(0)
  })

  it('[GT8] needs a key where keys are set, as a bearer token', async () => {
    await open({ keys: [{ name: 'prometheus', key }] })
    const refused = await call('/metrics')
    expect(refused.status).toBe(401)
    const all = await scrape({ authorization: `Bearer ${key}` })
    expect(metricOf(all, 'oriel_requests_total', { route: 'metrics', status: '4xx' })).toBe(1)
  })

  it('[GT8] tells names of models only to a key that sees every tenant, and the same sums to all', async () => {
    const ops = `${key}-of-operators`
    await open({
      keys: [
        { name: 'one', key },
        { name: 'ops', key: ops, isAdmin: true },
      ],
    })
    for (const model of ['gpt-5', 'secret-project', 'secret-project']) {
      const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'Hi.' }] })
      await call(paths['openai-chat'], post(body, { authorization: `Bearer ${ops}` }))
    }
    const name = 'gen_ai_client_operation_duration_seconds_count'
    const whole = await scrape({ authorization: `Bearer ${ops}` })
    expect(metricOf(whole, name, { model: 'secret-project' })).toBe(2)
    const shown = await scrape({ authorization: `Bearer ${key}` })
    expect(metricOf(shown, name, { model: 'all' })).toBe(3)
    expect(JSON.stringify(shown)).not.toMatch(/secret-project|gpt-5/)
  })

  it('[GT8] names of models that no upstream answered for take no place of others', async () => {
    await open()
    const ask = (model: string): Promise<Response> =>
      call(
        paths['openai-chat'],
        post(JSON.stringify({ model, messages: [{ role: 'user', content: model }] })),
      )
    status = 404
    for (let n = 0; n < 60; n++) await ask(`made-up-${n}`)
    status = 200
    await ask('gpt-5')
    const all = await scrape()
    const calls = (model: string): number =>
      metricOf(all, 'gen_ai_client_operation_duration_seconds_count', { model })
    expect([calls('gpt-5'), calls('other')]).toEqual([1, 60])
    expect(JSON.stringify(all)).not.toContain('made-up')
  })

  it('[GT8] does not grow with what comes from outside', async () => {
    await open()
    const sizes: number[] = []
    for (let round = 0; round < 3; round++) {
      for (let n = 0; n < 120; n++) {
        const name = `model-${round}-${n}`
        const body = JSON.stringify({ model: name, messages: [{ role: 'user', content: name }] })
        await gateway
          .fetch(new Request(`http://localhost${paths['openai-chat']}`, post(body)))
          .then((response) => response.text())
        await gateway
          .fetch(new Request(`http://localhost/v1/${name}?${name}`, { method: `M${n}` }))
          .then((response) => response.text())
      }
      const families = await scrape()
      for (const { samples } of families) {
        for (const label of ['model', 'route', 'status']) {
          const values = new Set(samples.map(({ labels }) => labels[label]))
          expect(values.size).toBeLessThanOrEqual(52)
        }
      }
      sizes.push(families.reduce((sum, { samples }) => sum + samples.length, 0))
    }
    expect(sizes[2]).toBe(sizes[1])
    expect(sizes[0]).toBeLessThan(5000)
  }, 60_000)
})

describe('without OpenTelemetry', () => {
  it('[GT4] headers of a trace pass as they came, and none are added', async () => {
    await open()
    const trace = { traceparent: 'not even one', tracestate: 'a=1', baggage: 'b=2' }
    for (const headers of [trace, {}] as Record<string, string>[]) {
      seen.length = 0
      await call(paths.anthropic, post(bodyOf('anthropic', 'x'), headers))
      const passed = (seen[0] ?? []).filter(([name]) => name in trace)
      expect(Object.fromEntries(passed)).toEqual(headers)
    }
  })
})
