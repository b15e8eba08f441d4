// Script writer for Anthropic messages: results in user messages, alternating roles, the user's
// side last.

import type { JsonObject } from '../core/log/json.ts'
import type { Attachment, Reply, Said, Script, ScriptCall, Step } from './script.ts'
import { createIds, createSignatures, data, pick } from './writing.ts'

/** More than four cache breakpoints are rejected. */
const maxBreakpoints = 4

export function writeAnthropic(script: Script): readonly JsonObject[] {
  const nextId = createIds(script.ids, ['toolu_', 'call_', '', 'srv-'])
  const sign = createSignatures()
  const parts: Part[] = script.turns.flatMap((turn) => [
    ...(turn.notice === undefined ? [] : [userPart(turn.notice)]),
    userPart(turn.user),
    ...turn.steps.flatMap((step) => exchange(step, nextId, sign)),
    ...(turn.reply === undefined ? [] : [replyPart(turn.reply, nextId, sign)]),
  ])
  const messages = merge(parts)
  // The conversation must end with the user's side.
  const ended = messages.at(-1)?.role === 'assistant' ? messages.slice(0, -1) : messages
  return limitBreakpoints(ended.map(({ role, content, fields }) => ({ role, content, ...fields })))
}

interface Part {
  readonly role: 'user' | 'assistant'
  readonly content: string | readonly JsonObject[]
  readonly fields: JsonObject
}

/** Merges adjacent messages of one role. */
function merge(parts: readonly Part[]): readonly Part[] {
  const merged: Part[] = []
  for (const part of parts) {
    const last = merged.at(-1)
    if (last?.role !== part.role) merged.push(part)
    else {
      const content = [...blocksOf(last.content), ...blocksOf(part.content)]
      merged[merged.length - 1] = { ...part, content, fields: { ...last.fields, ...part.fields } }
    }
  }
  return merged
}

function blocksOf(content: Part['content']): readonly JsonObject[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}

function userPart({ text, shape, attachment, fields }: Said): Part {
  const marker = { cache_control: { type: 'ephemeral', ttl: '5m' } }
  const block = { type: 'text', text, ...(shape === 2 ? marker : {}), ...(fields && { x: fields }) }
  const attached = attachment === 'none' ? [] : [attachedBlock(attachment)]
  const isPlain = attachment === 'none' && (shape === 0 || shape === 4)
  const content = shape === 3 ? [...attached, block] : [block, ...attached]
  return {
    role: 'user',
    content: isPlain ? text : content,
    fields: fields === undefined ? {} : { x_user: fields },
  }
}

function attachedBlock(attachment: Attachment): JsonObject {
  switch (attachment) {
    case 'image-url':
      return { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } }
    case 'image-data':
      return { type: 'image', source: { type: 'base64', media_type: 'image/png', data } }
    case 'file-data':
      return {
        type: 'document',
        source: { type: 'text', media_type: 'text/plain', data: 'plain text' },
        title: 'a.txt',
        citations: { enabled: true },
      }
    case 'file-url':
      return { type: 'document', source: { type: 'url', url: 'https://example.com/a.pdf' } }
    default:
      return { type: 'future_block', payload: { data }, cache_control: null }
  }
}

function exchange(step: Step, nextId: () => string, sign: () => string): readonly Part[] {
  const calls = step.calls.map((call) => ({ call, id: nextId() }))
  const results = calls.map(({ call, id }) => resultBlock(call, id))
  const text = step.text.trim() === '' ? [] : [{ type: 'text', text: step.text }]
  return [
    {
      role: 'assistant',
      content: [
        ...thinking(step, sign),
        ...text,
        ...calls.map(({ call, id }) => callBlock(call, id)),
      ],
      fields: step.fields === undefined ? {} : { x_assistant: step.fields },
    },
    { role: 'user', content: step.isReversed ? results.reverse() : results, fields: {} },
  ]
}

function thinking({ reasoning, shape }: Step | Reply, sign: () => string): readonly JsonObject[] {
  if (reasoning === undefined) return []
  const signed = { type: 'thinking', thinking: reasoning, signature: sign() }
  const redacted = { type: 'redacted_thinking', data: sign() }
  return pick<readonly JsonObject[]>(shape, [
    [signed],
    [redacted],
    [signed, redacted],
    [{ ...signed, thinking: '' }],
  ])
}

function callBlock({ name, input, shape }: ScriptCall, id: string): JsonObject {
  const plain = { type: 'tool_use', id, name, input }
  return pick<JsonObject>(shape, [
    plain,
    { ...plain, cache_control: { type: 'ephemeral' } },
    { ...plain, caller: { type: 'direct' } },
  ])
}

function resultBlock({ result }: ScriptCall, id: string): JsonObject {
  const { text, shape, isError, attachment } = result
  const full = text.trim() === '' ? 'nothing' : text
  const attached = attachment === 'none' ? [] : [attachedBlock(attachment)]
  const blocks = [{ type: 'text', text: full }, ...attached]
  const plain = { type: 'tool_result', tool_use_id: id }
  return pick<JsonObject>(shape, [
    { ...plain, content: text, ...(isError ? { is_error: true } : {}) },
    { ...plain, content: blocks, is_error: isError },
    { ...plain, content: blocks, cache_control: { type: 'ephemeral' } },
    { ...plain, ...(isError ? { is_error: true } : {}) },
  ])
}

function replyPart(reply: Reply, nextId: () => string, sign: () => string): Part {
  const { text, shape, fields } = reply
  const block = { type: 'text', text }
  const id = `srvtoolu_${nextId()}`
  const searched = [
    { type: 'server_tool_use', id, name: 'web_search', input: { query: 'x' } },
    { type: 'web_search_tool_result', tool_use_id: id, content: [] },
  ]
  const content = pick<readonly JsonObject[]>(shape, [
    [block],
    [{ ...block, citations: null }],
    [...searched, block],
    [block, { type: 'text', text: 'And one more.' }],
  ])
  const isPlain = shape === 0 && reply.reasoning === undefined
  return {
    role: 'assistant',
    content: isPlain ? text : [...thinking(reply, sign), ...content],
    fields: fields === undefined ? {} : { x_assistant: fields },
  }
}

function limitBreakpoints(messages: readonly JsonObject[]): readonly JsonObject[] {
  let left = maxBreakpoints
  const strip = (block: JsonObject): JsonObject => {
    if (typeof block.cache_control !== 'object' || block.cache_control === null) return block
    left -= 1
    const { cache_control: _, ...rest } = block
    return left >= 0 ? block : (rest as JsonObject)
  }
  return messages.map((message) =>
    Array.isArray(message.content)
      ? { ...message, content: (message.content as readonly JsonObject[]).map(strip) }
      : message,
  )
}
