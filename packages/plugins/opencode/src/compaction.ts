// Compaction without a model call. opencode always asks a model for the summary: here it asks one that answers in this process.

/** The model of the agent `compaction`. */
export const compactionModel = 'oriel/checkpoint'

/** The provider of that model, for opencode's configuration. `fetch` answers its requests: nothing is sent anywhere. */
export function compactionProvider(fetch: unknown): Record<string, unknown> {
  const limit = { context: 10_000_000, output: 100_000 }
  return {
    oriel: {
      npm: '@ai-sdk/openai-compatible',
      name: 'Oriel',
      options: { baseURL: 'http://oriel.invalid/v1', apiKey: 'none', fetch },
      models: { checkpoint: { name: 'Checkpoint (compaction only)', tool_call: false, limit } },
    },
  }
}

/** Answers a chat request whose message begins with the id of a session: with the summary of that session, as a stream. */
export async function answerCompaction(
  body: string,
  summarize: (session: string) => Promise<string>,
): Promise<Response> {
  const session = /\bses_\w+/.exec(body)?.[0]
  if (session === undefined) {
    const message = 'This model only makes summaries of sessions. Choose another one for the chat.'
    return Response.json({ error: { message } }, { status: 400 })
  }
  try {
    const content = await summarize(session)
    const chunk = (delta: object, reason: string | null): string =>
      `data: ${JSON.stringify({
        id: 'oriel',
        object: 'chat.completion.chunk',
        created: 0,
        model: 'checkpoint',
        choices: [{ index: 0, delta, finish_reason: reason }],
      })}\n\n`
    const text = `${chunk({ role: 'assistant', content }, null)}${chunk({}, 'stop')}data: [DONE]\n\n`
    return new Response(text, { headers: { 'content-type': 'text/event-stream' } })
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    return Response.json({ error: { message } }, { status: 400 })
  }
}
