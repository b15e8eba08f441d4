// What the hooks module asks of the Node process: one request on standard input, the answer on standard output.

import { AgentThreads, agentCommandHelp, agentTools, checkpointText } from 'oriel/agents'

/** A message as Claude Code hands it to a hook. */
export interface ClaudeRow {
  readonly role: 'user' | 'assistant'
  readonly text: string
  readonly toolUses?: readonly {
    readonly tool_use_id: string
    readonly tool: string
    readonly input?: unknown
  }[]
  readonly toolResults?: readonly {
    readonly tool_use_id: string
    readonly text?: string
    readonly isError?: boolean
  }[]
}

export type ClaudeRequest = { readonly session: string } & (
  | { readonly method: 'hello' }
  | { readonly method: 'sync'; readonly messages: readonly unknown[] }
  | {
      readonly method: 'lookUp'
      readonly messages: readonly unknown[]
      readonly name: string
      readonly input: unknown
    }
  | { readonly method: 'command'; readonly messages: readonly unknown[]; readonly words: string }
  | {
      readonly method: 'compact'
      readonly messages: readonly unknown[]
      readonly folded: readonly ClaudeRow[]
    }
)

/** Answers a request. The thread shows everything: Claude Code decides what it sends. */
export async function answerTo(request: ClaudeRequest, env: NodeJS.ProcessEnv): Promise<string> {
  if (request.method === 'hello')
    return JSON.stringify({ tools: agentTools, help: agentCommandHelp })
  const threads = new AgentThreads({ agent: 'claude-code', env, policy: {} })
  const { session } = request
  try {
    if (request.method === 'lookUp') {
      const { name, input } = request
      // Before the history is taken in: after a compaction it continues in a branch, and the originals are in the trunk.
      const found = await threads.lookUp(session, { name, input })
      if (!/^Not (expanded|found)/.test(found)) return found
      await threads.sync(session, request.messages, 'anthropic')
      return await threads.lookUp(session, { name, input })
    }
    await threads.sync(session, request.messages, 'anthropic')
    if (request.method === 'command') return await threads.command(session, request.words)
    if (request.method === 'compact') {
      return await checkpointText(request.folded.flatMap(toAnthropic), { format: 'anthropic' })
    }
    return ''
  } finally {
    await threads.close()
  }
}

/** A row as a message of Anthropic's API; none for one without content. */
function toAnthropic({
  role,
  text,
  toolUses = [],
  toolResults = [],
}: ClaudeRow): readonly object[] {
  const content = [
    ...toolResults.map(({ tool_use_id, text: result = '', isError = false }) => ({
      type: 'tool_result',
      tool_use_id,
      content: result,
      is_error: isError,
    })),
    ...(text === '' ? [] : [{ type: 'text', text }]),
    ...toolUses.map(({ tool_use_id, tool, input = {} }) => ({
      type: 'tool_use',
      id: tool_use_id,
      name: tool,
      input,
    })),
  ]
  return content.length === 0 ? [] : [{ role, content }]
}
