// The most important rules of Messages, written a second time and without the library.

import type { Breach } from './laws.ts'

export interface WireBlock {
  readonly type?: unknown
  readonly text?: unknown
  readonly id?: unknown
  readonly tool_use_id?: unknown
  readonly thinking?: unknown
  readonly signature?: unknown
  readonly data?: unknown
}

export interface WireMessage {
  readonly role: unknown
  readonly blocks: readonly WireBlock[]
}

type Body = Readonly<Record<string, unknown>>

/** Messages with their content as blocks, whichever way they were written. */
export function wireMessages(body: Body): readonly WireMessage[] {
  const list = Array.isArray(body.messages) ? (body.messages as readonly Body[]) : []
  return list.map(({ role, content }) => ({
    role,
    blocks: (typeof content === 'string'
      ? [{ type: 'text', text: content }]
      : (content ?? [])) as readonly WireBlock[],
  }))
}

export function isThinking({ type }: WireBlock): boolean {
  return type === 'thinking' || type === 'redacted_thinking'
}

/** `knows`: whether it is a server that edits and compacts the context. */
export function anthropicBreaches(
  body: Body,
  { knows = false }: { readonly knows?: boolean } = {},
): readonly Breach[] {
  const messages = wireMessages(body)
  return [
    ...roleBreaches(messages, (body.compaction ?? null) !== null),
    ...contentBreaches(messages),
    ...pairBreaches(messages),
    ...requestBreaches(body, messages),
    ...choiceBreaches(body),
    ...(knows ? [] : editingBreaches(body, messages)),
  ]
}

/** A server that does not know context editing. */
function editingBreaches(body: Body, messages: readonly WireMessage[]): readonly Breach[] {
  const fields = ['context_management', 'compaction'].filter((key) => (body[key] ?? null) !== null)
  const isCompacted = messages.some(({ blocks }) =>
    blocks.some(({ type }) => type === 'compaction'),
  )
  const block = "messages: 'compaction' is not one of the expected content block types"
  return [
    ...fields.map((key) => ({ rule: 'A1', message: `${key}: Extra inputs are not permitted` })),
    ...(isCompacted ? [{ rule: 'A1', message: block }] : []),
  ]
}

/** A compaction may come first, and last where the answer was paused behind it. */
function isCompacted({ blocks: [first] }: WireMessage): boolean {
  return first?.type === 'compaction'
}

/** A choice names a tool of the list. */
function choiceBreaches(body: Body): readonly Breach[] {
  const choice = (body.tool_choice ?? {}) as Body
  const tools = (body.tools ?? []) as readonly Body[]
  if (choice.type !== 'tool' || tools.some(({ name }) => name === choice.name)) return []
  return [{ rule: 'A16', message: `Tool '${String(choice.name)}' not found in provided tools` }]
}

function roleBreaches(messages: readonly WireMessage[], isOver: boolean): readonly Breach[] {
  const breaches: Breach[] = []
  if (messages[0]?.role !== 'user' && !(messages[0] && isCompacted(messages[0]))) {
    breaches.push({ rule: 'A2', message: 'messages: first message must use the "user" role' })
  }
  messages.forEach(({ role }, index) => {
    if (role !== 'user' && role !== 'assistant') {
      const message = `messages.${index}.role: Input should be 'user' or 'assistant'`
      breaches.push({ rule: 'A1', message })
    }
    if (index > 0 && messages[index - 1]?.role === role) {
      const message = `messages: roles must alternate between "user" and "assistant", but found multiple "${String(role)}" roles in a row`
      breaches.push({ rule: 'A3', message })
    }
  })
  const last = messages.at(-1)
  // Only an answer that was paused between calls of the provider's own tools goes back as it is.
  const isPaused = last?.blocks.some(({ type }) => type === 'server_tool_use')
  const isEnd = last !== undefined && last.blocks.length === 1 && isCompacted(last)
  if (last?.role === 'assistant' && !isPaused && !isEnd && !isOver) {
    const message =
      'This model does not support assistant message prefill. The conversation must end with a user message.'
    breaches.push({ rule: 'A6', message })
  }
  return breaches
}

function contentBreaches(messages: readonly WireMessage[]): readonly Breach[] {
  return messages.flatMap(({ role, blocks }, index) => {
    const breaches: Breach[] = []
    if (blocks.length === 0) {
      const message = `messages.${index}: all messages must have non-empty content except for the optional final assistant message`
      breaches.push({ rule: 'A4', message })
    }
    if (blocks.some(({ type, text }) => type === 'text' && String(text).trim() === '')) {
      breaches.push({ rule: 'A4', message: 'messages: text content blocks must be non-empty' })
    }
    const lastResult = blocks.findLastIndex(({ type }) => type === 'tool_result')
    if (blocks.slice(0, lastResult + 1).some(({ type }) => type !== 'tool_result')) {
      const message = `messages.${index}: tool_result blocks must come first in a message`
      breaches.push({ rule: 'A11', message })
    }
    const firstCall = blocks.findIndex(({ type }) => type === 'tool_use')
    if (firstCall >= 0 && blocks.slice(firstCall).some(({ type }) => type === 'text')) {
      const message = `messages.${index}: text must not follow tool_use`
      breaches.push({ rule: 'A12', message })
    }
    if (role === 'user' && blocks.some(isThinking)) {
      const message = `messages.${index}: thinking blocks are only allowed in assistant messages`
      breaches.push({ rule: 'A14', message })
    }
    return breaches
  })
}

function pairBreaches(messages: readonly WireMessage[]): readonly Breach[] {
  const breaches: Breach[] = []
  const used = new Set<unknown>()
  messages.forEach(({ role, blocks }, index) => {
    const calls = blocks.filter(({ type }) => type === 'tool_use').map(({ id }) => id)
    const next = messages[index + 1]?.blocks ?? []
    const answers = next.flatMap((block) =>
      block.type === 'tool_result' ? [block.tool_use_id] : [],
    )
    const open = calls.filter((id) => !answers.includes(id))
    if (open.length > 0) {
      const message = `messages.${index}: tool_use ids were found without tool_result blocks immediately after: ${open.join(', ')}. Each tool_use block must have a corresponding tool_result block in the next message.`
      breaches.push({ rule: 'A7', message })
    }
    for (const [place, id] of calls.entries()) {
      if (used.has(id)) {
        const message = `messages.${index}.content.${place}: tool_use ids must be unique`
        breaches.push({ rule: 'A10', message })
      }
      used.add(id)
      if (!/^[a-zA-Z0-9_-]+$/.test(String(id))) {
        const message = `messages.${index}.content.${place}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`
        breaches.push({ rule: 'A10', message })
      }
    }
    if (role !== 'user') return
    const before = (messages[index - 1]?.blocks ?? []).flatMap((block) =>
      block.type === 'tool_use' ? [block.id] : [],
    )
    const results = blocks.flatMap((block) =>
      block.type === 'tool_result' ? [block.tool_use_id] : [],
    )
    for (const [place, id] of results.entries()) {
      if (!before.includes(id)) {
        const message = `messages.${index}.content.${place}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${String(id)}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`
        breaches.push({ rule: 'A8', message })
      }
      if (results.indexOf(id) !== place) {
        const message = `each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${String(id)}`
        breaches.push({ rule: 'A9', message })
      }
    }
  })
  return breaches
}

function requestBreaches(body: Body, messages: readonly WireMessage[]): readonly Breach[] {
  const breaches: Breach[] = []
  const hasTools = Array.isArray(body.tools) && body.tools.length > 0
  const usesTools = messages.some(({ blocks }) =>
    blocks.some(({ type }) => type === 'tool_use' || type === 'tool_result'),
  )
  if (usesTools && !hasTools) {
    const message = 'Requests which include `tool_use` or `tool_result` blocks must define tools'
    breaches.push({ rule: 'A16', message })
  }
  const marks = JSON.stringify(body).match(/"cache_control":\{/g)?.length ?? 0
  if (marks > 4) {
    const message = `A maximum of 4 blocks with cache_control may be provided. Found ${marks}.`
    breaches.push({ rule: 'A17', message })
  }
  const isOn = (body.thinking as { readonly type?: unknown } | undefined)?.type === 'enabled'
  const isLoop = messages.at(-1)?.blocks.some(({ type }) => type === 'tool_result') ?? false
  if (isOn && isLoop) breaches.push(...loopBreaches(messages))
  return breaches
}

/** A tool loop that continues with thinking enabled begins with thinking. */
function loopBreaches(messages: readonly WireMessage[]): readonly Breach[] {
  const asked = messages.findLastIndex(
    ({ role, blocks }) => role === 'user' && !blocks.some(({ type }) => type === 'tool_result'),
  )
  const [first] = messages[asked + 1]?.blocks ?? []
  if (first === undefined || isThinking(first)) return []
  const message = `messages.${asked + 1}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${String(first.type)}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block (preceeding the lastmost set of \`tool_use\` and \`tool_result\` blocks).`
  return [{ rule: 'A13', message }]
}
