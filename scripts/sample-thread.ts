// Sample conversation with the demo agent, sent through a running gateway.

export interface TalkOptions {
  /** URL of the gateway. */
  readonly url: string
  /** @default the agent's own: every rule of the demo's policy acts on them */
  readonly questions?: readonly string[]
  /** The session id. */
  readonly session: string
  /**
   * Query parameters that set the policy, for example `?agent=demo&historyLength=2`. @default
   * '?agent=demo'
   */
  readonly parameters?: string
  readonly onAnswer?: (count: number) => void
}

interface Message {
  readonly role: string
  readonly content: string | null
  readonly tool_call_id?: string
  readonly tool_calls?: readonly Call[]
}

interface Call {
  readonly id: string
  readonly function: { readonly name: string; readonly arguments: string }
}

interface Agent {
  readonly model: string
  readonly system: string
  readonly questions: readonly string[]
  readonly tools: readonly { readonly name: string }[]
}

const maxSteps = 12

/** Runs the conversation and returns the thread id. */
export async function talk(options: TalkOptions): Promise<string> {
  const { url, session, parameters = '?agent=demo' } = options
  const agent = (await ask(`${url}/api/agents/demo`)).value as Agent
  const { questions = agent.questions } = options
  const expand = { name: 'expand_message', parameters: { type: 'object' } }
  const tools = [...agent.tools, expand].map((tool) => ({ type: 'function', function: tool }))
  const messages: Message[] = [{ role: 'system', content: agent.system }]
  let thread = ''
  for (const [index, question] of questions.entries()) {
    messages.push({ role: 'user', content: question })
    for (let step = 0; step < maxSteps; step++) {
      const body = { model: agent.model, messages, tools }
      const headers = { 'x-session-id': session }
      const answer = await ask(`${url}/v1/chat/completions${parameters}`, body, headers)
      thread = answer.headers.get('x-oriel-thread') ?? thread
      const { choices } = answer.value as { choices: [{ message: Message }] }
      const [{ message }] = choices
      messages.push(message)
      const calls = message.tool_calls ?? []
      if (calls.length === 0) break
      for (const call of calls) messages.push(await result(url, thread, call))
    }
    options.onAnswer?.(index + 1)
  }
  return thread
}

async function result(url: string, thread: string, call: Call): Promise<Message> {
  const { name, arguments: given } = call.function
  const done = (content: string): Message => ({ role: 'tool', tool_call_id: call.id, content })
  if (name !== 'expand_message') {
    const { value } = await ask(`${url}/api/agents/demo/tools/${name}`, { arguments: given })
    return done((value as { text: string }).text)
  }
  const { value } = await ask(`${url}/api/threads/${thread}/expand`, JSON.parse(given))
  const expansion = value as { readonly text?: string; readonly reason?: string }
  return done(expansion.text ?? `Cannot show it: ${expansion.reason}`)
}

async function ask(
  url: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ readonly value: unknown; readonly headers: Headers }> {
  const response = await fetch(url, {
    ...(body === undefined
      ? {}
      : {
          method: 'POST',
          body: JSON.stringify(body),
          headers: { 'content-type': 'application/json', ...headers },
        }),
  })
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`)
  return { value: await response.json(), headers: response.headers }
}
