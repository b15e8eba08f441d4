import { readFileSync } from 'node:fs'
import {
  expandTool,
  memoryStore,
  openThread,
  resolvePolicy,
  type WireFormat,
  wireFormats,
} from 'oriel'
import { describe, expect, it } from 'vitest'
import { dialects } from '../../test/dialect.ts'
import { createDemoUpstream, type DemoUpstreamOptions } from './demo-upstream.ts'
import { demoTools, runDemoTool } from './tools.ts'

const template: unknown = JSON.parse(
  readFileSync(new URL('../../agents/demo.json', import.meta.url), 'utf8'),
)

const questions = [
  'Why does the dispatch log have errors?',
  'Show me the shipments table.',
  'Which files does billing have?',
  'Search the wiki for tariffs.',
  'Check tracking.',
  'Are there failures in customs?',
  'What was in the first log again?',
]

/** Those whose bodies say whether they want a stream; Gemini has a suite of its own. */
const spoken = wireFormats.filter((format) => format !== 'gemini')

describe.each(spoken)('the demo upstream speaks %s', (format) => {
  it('gives the same answer to the same request, whole and streamed', async () => {
    const request = dialects[format].body([dialects[format].user('Check tracking.')], demoTools)
    const whole = await ask(format, request)
    expect(await ask(format, request)).toEqual(whole)
    const streamed = await post(format, { ...request, stream: true })
    expect(streamed.headers.get('content-type')).toContain('text/event-stream')
    const text = await streamed.text()
    const { calls } = dialects[format].read(whole)
    expect(calls.map(({ name }) => name)).toEqual(['run_check'])
    for (const { id } of calls) expect(text).toContain(id)
    expect(text.endsWith('\n\n')).toBe(true)
  })

  it('goes on where a summary stands for the question before and for what it did first', async () => {
    const dialect = dialects[format]
    const first = dialect.read(
      await ask(format, dialect.body([dialect.user('Check tracking.')], demoTools)),
    )
    expect(first.calls.map(({ name }) => name)).toEqual(['run_check'])
    const asked = [dialect.user('Check tracking.'), ...first.messages]
    const results = dialect.results(first.calls.map((call) => ({ call, text: 'ok' })))
    const second = dialect.read(await ask(format, dialect.body([...asked, ...results], demoTools)))
    expect(second.calls.map(({ name }) => name)).toEqual(['read_log'])
    const folded = [
      ...opening(format),
      ...second.messages,
      ...dialect.results(second.calls.map((call) => ({ call, text: 'lines' }))),
    ]
    const third = dialect.read(await ask(format, dialect.body(folded, demoTools)))
    expect(third.calls).toEqual([])
    expect(third.text).toContain('Check tracking.')
  })

  it('talks at length to a client that has no tools', async () => {
    const dialect = dialects[format]
    const history: unknown[] = []
    for (const question of questions) {
      history.push(dialect.user(question))
      const told = dialect.read(await ask(format, dialect.body(history, [])))
      expect(told.calls).toEqual([])
      expect(told.text.length).toBeGreaterThan(20)
      history.push(...told.messages)
    }
    expect(JSON.stringify(history).length).toBeGreaterThan(20_000)
  })

  it('lets placeholders, expiry and an expansion happen within the dozen questions of its template', async () => {
    const { rules, expanded, answers } = await converse(format)
    expect([...rules].sort()).toEqual(
      expect.arrayContaining(['expiry', 'toolOutput', 'toolResults']),
    )
    expect(expanded.some((text) => text.length > 1000)).toBe(true)
    expect(answers).toHaveLength(12)
  })

  it('refuses in the words of the provider what breaks a rule or is too long', async () => {
    const dialect = dialects[format]
    const broken = dialect.body(dialect.results([{ call: lost, text: 'x' }]), demoTools)
    const refused = await post(format, broken)
    expect(refused.status).toBe(400)
    expect(JSON.stringify(await refused.json())).toContain('invalid_request_error')
    const long = await post(format, dialect.body([dialect.user('word '.repeat(500))], []), {
      window: 100,
    })
    expect(long.status).toBe(400)
    expect(JSON.stringify(await long.json())).toMatch(/context_length_exceeded|prompt is too long/)
  })

  it('reports what the cache held', async () => {
    const dialect = dialects[format]
    const upstream = createDemoUpstream()
    const history: unknown[] = [dialect.user(questions[0] ?? '')]
    const usages: string[] = []
    for (let step = 0; step < 2; step++) {
      const answer = await upstream.fetch(requestOf(format, dialect.body(history, [])))
      const body = (await answer.json()) as Record<string, unknown>
      usages.push(JSON.stringify(body.usage))
      history.push(...dialect.read(body).messages, dialect.user('And now?'))
    }
    expect(usages[0]).toMatch(/"cache(?:d_tokens|_read_input_tokens)":0/)
    expect(usages[1]).toMatch(/"cache(?:d_tokens|_read_input_tokens)":[1-9]/)
  })
})

describe('the demo upstream beside the model calls', () => {
  it('lists its models, counts tokens, and knows no other address', async () => {
    const upstream = createDemoUpstream()
    const models = await upstream.fetch(new Request('http://demo/v1/models'))
    expect(((await models.json()) as { data: unknown[] }).data.length).toBeGreaterThan(0)
    const body = JSON.stringify({
      model: 'm',
      messages: [{ role: 'user', content: 'hello there' }],
    })
    const counted = await upstream.fetch(
      new Request('http://demo/v1/messages/count_tokens', { method: 'POST', body }),
    )
    expect(((await counted.json()) as { input_tokens: number }).input_tokens).toBeGreaterThan(3)
    expect((await upstream.fetch(new Request('http://demo/v1/else'))).status).toBe(404)
  })

  it.each(spoken)('shows its thinking in %s when asked', async (format) => {
    const dialect = dialects[format]
    const asked =
      format === 'anthropic'
        ? { thinking: { type: 'enabled', budget_tokens: 1024 } }
        : { reasoning: {} }
    const answer = await ask(format, {
      ...dialect.body([dialect.user('Check billing.')], demoTools),
      ...asked,
    })
    expect(JSON.stringify(answer)).toMatch(/"signature"|encrypted_content|reasoning_content/)
  })

  it('answers a wrong call of a tool with words for the model', () => {
    expect(runDemoTool('nothing', '{}')).toMatch(/^Error: no tool/)
    expect(runDemoTool('read_log', 'not json')).toMatch(/^Error: the arguments/)
    expect(runDemoTool('read_log', '{"service":"billing"}')).toBe(
      runDemoTool('read_log', '{ "service": "billing" }'),
    )
  })
})

const lost = { id: 'call_lost', name: 'read_log', arguments: '{}' }

function requestOf(format: WireFormat, body: unknown): Request {
  const url = `http://demo${dialects[format].path}`
  return new Request(url, { method: 'POST', body: JSON.stringify(body) })
}

function post(format: WireFormat, body: unknown, options?: DemoUpstreamOptions): Promise<Response> {
  return createDemoUpstream(options).fetch(requestOf(format, body))
}

async function ask(format: WireFormat, body: unknown): Promise<Record<string, unknown>> {
  const response = await post(format, body)
  const answer = (await response.json()) as Record<string, unknown>
  expect(response.status, JSON.stringify(answer)).toBe(200)
  return answer
}

/** A question and the summary behind it, as each format carries two neighbours of one role. */
function opening(format: WireFormat): readonly unknown[] {
  const dialect = dialects[format]
  const summary = '[Previous conversation summary]\n\n[2 earlier messages left out]'
  if (format !== 'anthropic') return [dialect.user('Check tracking.'), dialect.user(summary)]
  const text = (one: string): object => ({ type: 'text', text: one })
  return [{ role: 'user', content: [text('Check tracking.'), text(summary)] }]
}

/** The demo agent in a thread of its own, with the template's policy and questions. */
async function converse(format: WireFormat) {
  const dialect = dialects[format]
  const upstream = createDemoUpstream()
  const thread = await openThread({
    store: memoryStore(),
    policy: resolvePolicy({ agent: template as object }).policy,
  })
  const { definition, handle } = expandTool(thread)
  const tools = [...demoTools, definition]
  const rules = new Set<string>()
  const expanded: string[] = []
  const answers: string[] = []
  for (const question of (template as { questions: readonly string[] }).questions) {
    await thread.append([dialect.user(question)], { format })
    for (let step = 0; step < 6; step++) {
      const { messages, trace } = await thread.view({ format })
      for (const { rule } of trace) rules.add(rule)
      const response = await upstream.fetch(requestOf(format, dialect.body(messages, tools)))
      const body = (await response.json()) as Record<string, unknown>
      expect(response.status, JSON.stringify(body)).toBe(200)
      const told = dialect.read(body)
      await thread.append(told.messages, { format })
      if (told.calls.length === 0) {
        answers.push(told.text)
        break
      }
      const results = await Promise.all(
        told.calls.map(async (call) => {
          if (call.name !== 'expand_message')
            return { call, text: runDemoTool(call.name, call.arguments) }
          const text = await handle(call.arguments)
          expanded.push(text)
          return { call, text }
        }),
      )
      await thread.append(dialect.results(results), { format })
    }
  }
  return { rules, expanded, answers }
}
