// Oriel in Claude Code's own slots. Claude Code runs this module without Node: what keeps the log is a Node process per request.
// Claude Code reads from this file which calls a module makes, so `$` is handed whole to functions of this file, and calls are spelled out.

interface Row {
  readonly role: 'user' | 'assistant'
  readonly text: string
  readonly toolUses: readonly unknown[]
  readonly toolResults?: readonly { readonly text?: string }[]
  readonly handle?: string
}

/** What is used of Claude Code's interface for hooks modules. */
interface Host {
  readonly plugin: { readonly root: string }
  readonly process: {
    run(
      argv: readonly string[],
      init: { stdin: string; timeoutMs: number },
    ): Promise<{ exitCode: number; stdout: string; stderr: string }>
  }
  readonly session: { id(): Promise<string>; messages(args: { as: 'api' }): Promise<unknown> }
  readonly tool: { register(spec: object): Promise<unknown> }
  readonly command: { register(spec: object): Promise<unknown> }
  readonly env: { get(name: string): Promise<string | undefined> }
  readonly ui: { log(text: string): void }
}

type Next = (e: unknown) => Promise<unknown>
type Hook<E> = ($: Host, e: E, next: Next) => Promise<unknown>
interface On {
  <E>(event: string, hook: Hook<E>): void
  <E>(event: string, matcher: object, hook: Hook<E>): void
}

interface Tool {
  readonly name: string
  readonly description: string
  readonly parameters: object
}

/** The newest messages that stay word for word, in characters. */
const keptChars = 20_000

/** Asks the Node process. Rejects with its words where it fails. */
async function ask($: Host, request: object): Promise<string> {
  const node = (await $.env.get('ORIEL_NODE')) ?? 'node'
  const session = await $.session.id()
  const { exitCode, stdout, stderr } = await $.process.run(
    [node, `${$.plugin.root}/dist/main.js`],
    {
      stdin: JSON.stringify({ session, ...request }),
      timeoutMs: 20_000,
    },
  )
  if (exitCode !== 0) throw new Error(stderr.trim().slice(-500) || `Node ended with ${exitCode}.`)
  return stdout
}

/** The conversation as it is sent to the model. */
async function conversation($: Host): Promise<readonly unknown[]> {
  const messages = await $.session.messages({ as: 'api' })
  return Array.isArray(messages) ? messages : []
}

/** The index from which on messages stay: an answer with its results, or what a person said. */
function keptFrom(rows: readonly Row[]): number {
  let chars = 0
  let from = rows.length
  for (let index = rows.length - 1; index >= 0; index--) {
    const { text, toolResults = [] } = rows[index] as Row
    chars += text.length + toolResults.reduce((sum, { text: one = '' }) => sum + one.length, 0)
    if (chars > keptChars) break
    if (toolResults.length === 0) from = index
  }
  return from
}

async function compacted($: Host, rows: readonly Row[]): Promise<object> {
  const from = keptFrom(rows)
  const text = await ask($, {
    method: 'compact',
    messages: await conversation($),
    folded: rows.slice(0, from),
  })
  // Without their handles: a message with one keeps its place in the transcript, and a resumed session reads on from there to the beginning.
  const kept = rows.slice(from).map(({ handle: _handle, ...row }) => row)
  return { messages: [{ role: 'user', text, toolUses: [] }, ...kept] }
}

async function start($: Host): Promise<void> {
  const { tools, help } = JSON.parse(await ask($, { method: 'hello' })) as {
    tools: readonly Tool[]
    help: string
  }
  for (const { name, description, parameters } of tools) {
    await $.tool.register({ name, description, inputSchema: parameters, isDeferred: false })
  }
  await $.command.register({ name: 'oriel', description: `Oriel: ${help}`, immediate: true })
}

async function lookUp($: Host, name: string, e: object): Promise<object> {
  const { tool: _tool, tool_use_id: _id, agentId: _agent, ...input } = e as Record<string, unknown>
  const messages = await conversation($)
  return { result: await ask($, { method: 'lookUp', messages, name, input }) }
}

function say($: Host, error: unknown, instead: string): void {
  const reason = error instanceof Error ? error.message : String(error)
  $.ui.log(`Oriel: ${reason} ${instead}`)
}

export const register = (on: On): void => {
  on('session.start', async ($, e, next) => {
    try {
      await start($)
    } catch (error) {
      say($, error, 'Claude Code works as without it.')
    }
    return next(e)
  })

  on('tool.call', { tool: 'mcp__oriel__expand_message' }, ($, e: object) =>
    lookUp($, 'expand_message', e),
  )
  on('tool.call', { tool: 'mcp__oriel__search_conversation' }, ($, e: object) =>
    lookUp($, 'search_conversation', e),
  )

  on('command.run', { command: 'oriel' }, async ($, e: { args?: string }) => {
    try {
      const messages = await conversation($)
      return { text: await ask($, { method: 'command', messages, words: e.args ?? '' }) }
    } catch (error) {
      return { text: error instanceof Error ? error.message : String(error) }
    }
  })

  // A turn is in the log when it has ended.
  on('turn.complete', async ($, e, next) => {
    const result = await next(e)
    try {
      await ask($, { method: 'sync', messages: await conversation($) })
    } catch (error) {
      say($, error, 'This turn is not in the log yet.')
    }
    return result
  })

  on(
    'session.compact',
    async ($, e: { trigger: string; agentId?: string; messages: readonly Row[] }, next) => {
      if (e.agentId !== undefined) return next(e)
      // A summary in advance would be a model call for nothing.
      if (e.trigger === 'precompute') return { skip: 'Oriel needs no summary in advance.' }
      try {
        return await compacted($, e.messages)
      } catch (error) {
        say($, error, "Claude Code's own compaction runs instead.")
        return next(e)
      }
    },
  )
}
