// Clients that ask their provider to edit the context get it from an upstream that has never heard of it.

import Anthropic from '@anthropic-ai/sdk'
import { createGateway, serveGateway } from '@oriel/gateway'
import { afterEach, describe, expect, it } from 'vitest'
import { readTool } from './expansion/story.ts'
import { logOf, newestThread } from './faults/raw-client.ts'
import { openGateway, type Target, type TargetOptions } from './target.ts'
import { reply } from './upstream/action.ts'
import type { Recorded } from './upstream/upstream.ts'

let target: Target | undefined
afterEach(async () => target?.close())

const beta = 'context-management-2025-06-27'
const tools = [{ name: 'read', description: 'Reads.', input_schema: readTool.parameters }]
type Params = Anthropic.Beta.MessageCreateParamsNonStreaming

/** A loop in which the model reads five documents, and asks for edits all the while. */
async function readFive(
  isStream: boolean,
  edits: readonly object[],
  options: Partial<TargetOptions> = {},
): Promise<{ readonly answers: readonly Anthropic.Beta.BetaMessage[]; readonly last: Recorded }> {
  target = await openGateway({
    answer: ({ index }) =>
      index < 5 ? reply({ calls: [['read', `{"id":"d${index}"}`]] }) : reply({ text: 'All read.' }),
    ...options,
  })
  const client = new Anthropic({ baseURL: target.url, apiKey: 'fault-key', maxRetries: 0 })
  const messages: Anthropic.Beta.BetaMessageParam[] = [{ role: 'user', content: 'Read five.' }]
  const answers: Anthropic.Beta.BetaMessage[] = []
  for (let step = 0; step < 6; step++) {
    const params = {
      ...{ model: 'claude-demo', max_tokens: 100, messages, tools },
      ...{ betas: [beta, 'another-beta'], context_management: { edits } },
    } as unknown as Params
    const answer = isStream
      ? await client.beta.messages.stream(params).finalMessage()
      : await client.beta.messages.create(params)
    answers.push(answer)
    messages.push({ role: 'assistant', content: answer.content })
    const results = answer.content.flatMap((block) =>
      block.type === 'tool_use'
        ? [
            {
              type: 'tool_result' as const,
              ...{ tool_use_id: block.id, content: `Document ${step}: ${'words '.repeat(50)}` },
            },
          ]
        : [],
    )
    if (results.length > 0) messages.push({ role: 'user', content: results })
  }
  return { answers, last: target.upstream.requests.at(-1) as Recorded }
}

function resultsIn({ body }: Recorded): readonly string[] {
  const messages = body.messages as { content: { type: string; content?: unknown }[] }[]
  return messages
    .flatMap(({ content }) => (Array.isArray(content) ? content : []))
    .filter(({ type }) => type === 'tool_result')
    .map(({ content }) => String(content).slice(0, 10))
}

const clearing = {
  type: 'clear_tool_uses_20250919',
  trigger: { type: 'tool_uses', value: 3 },
  keep: { type: 'tool_uses', value: 2 },
}

describe.each([false, true])('context_management, streamed: %s', (isStream) => {
  it('[CE1] the upstream gets edited messages, the client what was done', async () => {
    const { answers, last } = await readFive(isStream, [clearing])
    expect(target?.upstream.breaches).toEqual([])
    expect(last.body).not.toHaveProperty('context_management')
    expect(last.headers['anthropic-beta']).toBe('another-beta')
    expect(resultsIn(last)).toEqual([
      ...['[Tool resu', '[Tool resu', '[Tool resu', 'Document 3', 'Document 4'],
    ])
    const applied = answers.map((one) => one.context_management?.applied_edits)
    expect(applied.slice(0, 4)).toEqual([[], [], [], []])
    expect(applied.at(-1)).toEqual([
      {
        type: 'clear_tool_uses_20250919',
        ...{ cleared_tool_uses: 3, cleared_input_tokens: expect.any(Number) },
      },
    ])
  })

  it('[CE2] the log keeps the originals and says what was edited', async () => {
    await readFive(isStream, [clearing])
    const url = target?.url ?? ''
    const log = await logOf(url, await newestThread(url))
    const messages = log.flatMap((entry) => (entry.type === 'message' ? [entry] : []))
    expect(JSON.stringify(messages)).toContain('Document 0')
    const notes = messages.filter(({ kind }) => kind === 'context-edited')
    expect(notes).toHaveLength(2)
    expect(JSON.stringify(notes.at(-1)?.blocks)).toContain('cleared_tool_uses')
  })

  it.each([
    ['exclude_tools', { exclude_tools: ['read'] }, 0],
    ['clear_at_least', { clear_at_least: { type: 'input_tokens', value: 100_000 } }, 0],
    ['a trigger in tokens', { trigger: { type: 'input_tokens', value: 100_000 } }, 0],
    ['a low trigger in tokens', { trigger: { type: 'input_tokens', value: 10 } }, 3],
    ['keep', { keep: { type: 'tool_uses', value: 4 } }, 1],
  ])('[CE1] %s is obeyed', async (_, parameters, cleared) => {
    const { last } = await readFive(isStream, [{ ...clearing, ...parameters }])
    expect(resultsIn(last).filter((text) => text.startsWith('[Tool'))).toHaveLength(cleared)
  })

  it('[CE1] inputs are cleared where that is asked for', async () => {
    const { last } = await readFive(isStream, [{ ...clearing, clear_tool_inputs: true }])
    const calls = JSON.stringify(last.body.messages)
    expect(calls.match(/"input":\{\}/g)).toHaveLength(3)
    expect(calls).toContain('"input":{"id":"d4"}')
  })
})

describe('the upstream', () => {
  it.each([
    ['delegate', { edits: [{ type: 'clear_tool_uses_20250919' }] }, beta],
    ['own', undefined, undefined],
  ] as const)('[CE3] may be told to be in charge: %s', async (contextManagement, field, flag) => {
    target = await openGateway({ answer: () => reply({ text: 'Ok.' }), isRefusing: false })
    const gateway = createGateway({
      upstreams: [{ name: 'test', baseUrl: target.upstream.url, contextManagement }],
    })
    const server = await serveGateway(gateway, { port: 0 })
    const client = new Anthropic({ baseURL: server.url, apiKey: 'k', maxRetries: 0 })
    const answer = await client.beta.messages.create({
      ...{ model: 'claude-demo', max_tokens: 9, messages: [{ role: 'user', content: 'Hello' }] },
      ...{ betas: [beta], context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] } },
    } as Params)
    await server.close()
    await gateway.close()
    const [asked] = target.upstream.requests
    expect(asked?.body.context_management).toEqual(field)
    expect(asked?.headers['anthropic-beta']).toBe(flag)
    if (field === undefined) expect(answer.context_management).toEqual({ applied_edits: [] })
  })

  it('[CE2] that edits by itself: the log says what it did', async () => {
    const edits = [
      { type: 'clear_tool_uses_20250919', cleared_tool_uses: 2, cleared_input_tokens: 9 },
    ]
    target = await openGateway({
      contextManagement: 'delegate',
      compacts: true,
      answer: () => ({
        type: 'reply',
        reply: [{ type: 'text', text: 'Ok.' }],
        alter: (body) => ({ ...body, context_management: { applied_edits: edits } }),
      }),
    })
    const client = new Anthropic({ baseURL: target.url, apiKey: 'fault-key', maxRetries: 0 })
    await client.beta.messages.create({
      ...{ model: 'claude-demo', max_tokens: 9, messages: [{ role: 'user', content: 'Hello' }] },
      ...{ betas: [beta], context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] } },
    } as Params)
    const log = await logOf(target.url, await newestThread(target.url))
    const notes = log.filter((one) => one.type === 'message' && one.kind === 'context-edited')
    expect(JSON.stringify(notes)).toContain('cleared_tool_uses')
  })

  it('[CE3] is asked for what the gateway cannot do, and says that it does not know it', async () => {
    target = await openGateway({ answer: () => reply({ text: 'Ok.' }) })
    const client = new Anthropic({ baseURL: target.url, apiKey: 'k', maxRetries: 0 })
    const asked = client.beta.messages.create({
      ...{ model: 'claude-demo', max_tokens: 9, messages: [{ role: 'user', content: 'Hello' }] },
      ...{ betas: [beta] },
      context_management: { edits: [{ type: 'forget_everything_20990101' }] },
    } as unknown as Params)
    await expect(asked).rejects.toThrow('Extra inputs are not permitted')
  })
})
