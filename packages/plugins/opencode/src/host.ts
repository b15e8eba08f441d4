// The Node process beside opencode: keeps the threads and answers one request per line.

import { createInterface } from 'node:readline'
import { AgentThreads, agentCommandHelp, agentTools, checkpointText, warmUp } from 'oriel/agents'
import { fromAiSdk, type OpencodeMessage, toAiSdk } from './messages.ts'
import type { HostAnswer, HostCall, HostMethod, HostRequests } from './requests.ts'

type Handlers = {
  readonly [M in HostMethod]: (
    params: HostRequests[M]['takes'],
  ) => Promise<HostRequests[M]['answers']>
}

/** Names under which a session's log keeps what a restart must not forget. */
const kept = { system: 'opencode-system', summary: 'opencode-summary' } as const

/** What the process can do. */
function handlersFor(threads: AgentThreads): Handlers {
  return {
    async hello() {
      return {
        tools: agentTools as unknown as HostRequests['hello']['answers']['tools'],
        help: agentCommandHelp,
      }
    },
    async view({ session, messages }) {
      const system = await threads.remembered(session, kept.system)
      const view = await threads.request(session, messages.flatMap(toAiSdk), {
        format: 'ai-sdk',
        frame: { ...(system === undefined ? {} : { system }), tools: agentTools },
        model: modelOf(messages),
      })
      return fromAiSdk(view.messages, messages)
    },
    async system({ session, system }) {
      const text = system.join('\n')
      const known = await threads.remembered(session, kept.system)
      // Titles and other small calls have a system prompt of their own, which is shorter.
      if (typeof known !== 'string' || text.length > known.length) {
        await threads.remember(session, kept.system, text)
      }
      return null
    },
    async usage({ session, usage }) {
      await threads.usage(session, usage)
      return null
    },
    lookUp: ({ session, name, input }) => threads.lookUp(session, { name, input }),
    command: ({ session, words }) => threads.command(session, words),
    async checkpoint({ session, messages }) {
      const before = await threads.remembered(session, kept.summary)
      const previous = typeof before === 'string' ? before : undefined
      // What a model thought is no part of a summary, and while it is signed, nothing before it may change.
      const said = messages.map(({ info, parts }) => ({
        info,
        parts: parts.filter(({ type }) => type !== 'reasoning'),
      }))
      const summary = await checkpointText(said.flatMap(toAiSdk), { format: 'ai-sdk', previous })
      await threads.remember(session, kept.summary, summary)
      return summary
    },
  }
}

function modelOf(messages: readonly OpencodeMessage[]): string | undefined {
  return messages.findLast(({ info }) => info.role === 'user')?.info.model?.modelID
}

/** Answers lines until the input ends, in the order in which they came. */
export async function serve(
  input: NodeJS.ReadableStream,
  write: (line: string) => void,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const threads = new AgentThreads({ agent: 'opencode', env })
  const handlers = handlersFor(threads)
  for await (const line of createInterface({ input })) {
    const { id, method, params } = JSON.parse(line) as HostCall
    write(`${JSON.stringify(await answerTo(handlers, { id, method, params }))}\n`)
    // opencode is still starting: the first compaction finds compiled code.
    if (method === 'hello') warmUp().catch(() => undefined)
  }
  await threads.close()
}

async function answerTo(handlers: Handlers, { id, method, params }: HostCall): Promise<HostAnswer> {
  try {
    // The other side is this package: the parameters are those of the method.
    return { id, result: await handlers[method](params as never) }
  } catch (error) {
    return { id, error: error instanceof Error ? error.message : String(error) }
  }
}
