// Tool output that is bounded, placeholders that say what is gone, and the way back to the original.
import { expandTool, openThread, project, type Store, type Summarize } from 'oriel'

export async function boundedOutput(store: Store, output: string): Promise<readonly string[]> {
  const thread = await openThread({
    store,
    policy: {
      toolOutput: { maxLines: 100, maxBytes: 8000 },
      toolResults: { strategy: 'keepRecent', max: 1, cutoff: 0 },
    },
  })
  await thread.append([{ role: 'user', content: 'Why does the build fail?' }])
  for (const callId of ['build-1', 'build-2']) {
    await thread.append([
      {
        role: 'assistant',
        content: [{ type: 'tool-call', callId, name: 'build', arguments: '{}' }],
      },
      { role: 'tool', content: [{ type: 'tool-result', callId, content: output }] },
    ])
  }

  const view = await thread.view<{ role: string; content: string }>()
  const results = view.messages.filter(({ role }) => role === 'tool')
  // The older result is a placeholder, the newer one is clipped: head, marker, tail and a notice.
  const [omitted = '', clipped = ''] = results.map(({ content }) => content)

  const [id = ''] = view.trace.filter(({ form }) => form === 'omitted').map((change) => change.id)
  const line = await thread.expand(id, { query: 'error TS2345' })
  const found = line.ok ? line.text : line.reason

  // The same for a model: a tool that it can call, and what it answers.
  const { definition, handle } = expandTool(thread)
  const answer = await handle({ id, lines: [0, 1], reason: 'the first error' })

  return [omitted, clipped, found, definition.name, answer]
}

export async function summaries(
  store: Store,
  outputs: readonly string[],
  summarize: Summarize,
): Promise<readonly string[]> {
  const thread = await openThread({
    store,
    policy: { toolResults: { strategy: 'keepAll', cutoff: 2, summary: 'llm' } },
    summarize,
    on: ({ type, reason }) => {
      if (type === 'job-failed') console.warn(reason)
    },
  })
  await thread.append([{ role: 'user', content: 'Compare the reports.' }])
  for (const [n, content] of outputs.entries()) {
    const callId = `report-${n}`
    await thread.append([
      {
        role: 'assistant',
        content: [{ type: 'tool-call', callId, name: 'fetch', arguments: '{}' }],
      },
      { role: 'tool', content: [{ type: 'tool-result', callId, content }] },
    ])
  }
  const { messages } = await thread.view<{ role: string; content: string }>()
  return messages.filter(({ role }) => role === 'tool').map(({ content }) => content)
}

/** Without a thread, for people who keep the history themselves. */
export function placeholders<M>(messages: readonly M[]): readonly M[] {
  return project(messages, 'placeholders').messages
}
