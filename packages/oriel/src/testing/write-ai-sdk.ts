// Script writer for AI SDK messages, in every shape that users and the SDK itself write.

import type { Json, JsonObject } from '../core/log/json.ts'
import type { Attachment, Reply, Said, Script, ScriptCall, Step } from './script.ts'
import { createIds, createSignatures, data, pick } from './writing.ts'

export function writeAiSdk(script: Script): readonly JsonObject[] {
  const nextId = createIds(script.ids, ['call_', 'toolu_', 'aitxt-', 'call:é '])
  const sign = createSignatures()
  const messages = [
    ...script.opening.map(systemMessage),
    ...script.turns.flatMap((turn) => [
      ...(turn.notice === undefined ? [] : [systemMessage(turn.notice)]),
      userMessage(turn.user),
      ...turn.steps.flatMap((step) => exchange(step, nextId, sign)),
      ...(turn.reply === undefined ? [] : [replyMessage(turn.reply, nextId, sign)]),
    ]),
  ]
  // With this id style, a conversation that ends with an approved call still waits for the person.
  const end = messages.length - 2
  const isWaiting =
    script.ids === 1 && isApproval(messages[end]) && messages.at(-1)?.role === 'tool'
  return isWaiting ? messages.slice(0, end) : messages
}

function isApproval(message: JsonObject | undefined): boolean {
  return JSON.stringify(message?.content ?? null).startsWith('[{"type":"tool-approval-response"')
}

const cached = { providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } } }

function systemMessage({ text, shape, fields }: Said): JsonObject {
  return { role: 'system', content: text, ...(shape === 1 ? cached : {}), ...named('x', fields) }
}

function userMessage({ text, shape, attachment, fields }: Said): JsonObject {
  const plain = { type: 'text', text }
  const marked = { ...plain, ...cached, ...named('x', fields) }
  const attached = attachment === 'none' ? [] : [attachedPart(attachment, shape)]
  const parts = pick(shape, [[plain], [plain, { type: 'text', text: '' }], [marked], [plain]])
  const isPlain = attachment === 'none' && (shape === 0 || shape === 4)
  return {
    role: 'user',
    content: isPlain ? text : shape === 3 ? [...attached, ...parts] : [...parts, ...attached],
    ...(shape === 4 ? cached : {}),
    ...named('x_user', fields),
  }
}

function attachedPart(attachment: Attachment, shape: Said['shape']): JsonObject {
  const url = 'https://example.com/a.png'
  switch (attachment) {
    case 'image-url':
      return pick<JsonObject>(shape, [
        { type: 'image', image: url },
        { type: 'file', data: url, mediaType: 'image/png' },
        { type: 'file', data: { type: 'url', url }, mediaType: 'image/*' },
      ])
    case 'image-data':
      return pick<JsonObject>(shape, [
        { type: 'image', image: data, mediaType: 'image/png' },
        { type: 'image', image: `data:image/png;base64,${data}` },
        { type: 'file', data: { type: 'data', data }, mediaType: 'image/png', filename: 'a.png' },
      ])
    case 'file-data':
      return pick<JsonObject>(shape, [
        { type: 'file', data, mediaType: 'application/pdf', filename: 'a.pdf' },
        { type: 'file', data: { type: 'text', text: 'plain' }, mediaType: 'text/plain' },
      ])
    case 'file-url':
      return pick<JsonObject>(shape, [
        { type: 'file', data: 'https://example.com/a.pdf', mediaType: 'application/pdf' },
        { type: 'image', image: { openai: 'file-abc123' } },
      ])
    default:
      return { type: 'future-part', payload: { data }, ...cached }
  }
}

function exchange(step: Step, nextId: () => string, sign: () => string): readonly JsonObject[] {
  const calls = step.calls.map((call) => ({ call, id: nextId() }))
  const results = calls.map(({ call, id }) => resultPart(call, id))
  if (step.isReversed) results.reverse()
  const isAsked = step.shape === 3
  const asked = calls.map(({ id }) => ({
    type: 'tool-approval-request',
    approvalId: `approve ${id}`,
    toolCallId: id,
  }))
  const said = calls.map(({ call, id }) => ({
    type: 'tool-approval-response',
    approvalId: `approve ${id}`,
    ...(call.result.isError ? { approved: false, reason: 'no' } : { approved: true }),
  }))
  return [
    {
      role: 'assistant',
      content: [
        ...reasoningParts(step, sign),
        ...(step.text === '' ? [] : [{ type: 'text', text: step.text }]),
        ...calls.map(({ call, id }) => callPart(call, id)),
        ...(isAsked ? asked : []),
      ],
      ...named('x_assistant', step.fields),
    },
    ...(isAsked ? [{ role: 'tool', content: said }] : []),
    // The SDK puts all results of a step into one message; converted histories have one each.
    ...(step.shape === 4
      ? results.map((result) => ({ role: 'tool', content: [result] }))
      : [{ role: 'tool', content: results }]),
  ]
}

function reasoningParts(
  { reasoning, shape }: Step | Reply,
  sign: () => string,
): readonly JsonObject[] {
  if (reasoning === undefined) return []
  const part = { type: 'reasoning', text: reasoning }
  const signed = { providerOptions: { anthropic: { signature: sign() } } }
  return pick<readonly JsonObject[]>(shape, [
    [{ ...part, ...signed }],
    [part],
    [
      { ...part, text: '', providerOptions: { anthropic: { redactedData: sign() } } },
      { ...part, ...signed },
    ],
    [
      {
        ...part,
        providerOptions: { openai: { itemId: 'rs_1', reasoningEncryptedContent: sign() } },
      },
    ],
  ])
}

function callPart({ name, input, shape }: ScriptCall, id: string): JsonObject {
  const plain = { type: 'tool-call', toolCallId: id, toolName: name, input }
  return pick<JsonObject>(shape, [
    plain,
    { ...plain, providerOptions: { openai: { itemId: 'fc_1' } } },
    { ...plain, input: 'not { json' },
    { ...plain, providerExecuted: false },
  ])
}

function resultPart({ name, input, result }: ScriptCall, id: string): JsonObject {
  const { text, shape, isError, attachment } = result
  const media = attachment === 'none' ? [] : [attachedResult(attachment)]
  const output = pick<Json>(shape, [
    { type: isError ? 'error-text' : 'text', value: text },
    { type: isError ? 'error-json' : 'json', value: { text, input, list: [1, null] } },
    { type: 'content', value: [{ type: 'text', text }, ...media] },
    { type: 'execution-denied', ...(isError ? { reason: `denied: ${text}` } : {}) },
    { type: 'text', value: text, ...cached },
  ])
  return { type: 'tool-result', toolCallId: id, toolName: name, output, ...(isError ? cached : {}) }
}

function attachedResult(attachment: Attachment): JsonObject {
  switch (attachment) {
    case 'image-url':
      return { type: 'image-url', url: 'https://example.com/a.png' }
    case 'image-data':
      return { type: 'image-data', data, mediaType: 'image/png' }
    case 'file-data':
      return { type: 'file', data: { type: 'data', data }, mediaType: 'application/pdf' }
    case 'file-url':
      return { type: 'file-url', url: 'https://example.com/a.pdf' }
    default:
      return { type: 'custom', providerOptions: { x: { y: 1 } } }
  }
}

function replyMessage(reply: Reply, nextId: () => string, sign: () => string): JsonObject {
  const { text, shape, fields } = reply
  const part = { type: 'text', text }
  const id = `srv_${nextId()}`
  const searched = [
    {
      type: 'tool-call',
      toolCallId: id,
      toolName: 'web_search',
      input: { query: 'x' },
      providerExecuted: true,
    },
    {
      type: 'tool-result',
      toolCallId: id,
      toolName: 'web_search',
      output: { type: 'json', value: [] },
    },
  ]
  const content = pick<readonly JsonObject[]>(shape, [
    [part],
    [{ ...part, providerOptions: { openai: { itemId: 'msg_1' } } }],
    [...searched, part],
    [part, { type: 'file', data, mediaType: 'image/png' }],
  ])
  const isPlain = shape === 0 && reply.reasoning === undefined
  return {
    role: 'assistant',
    content: isPlain ? text : [...reasoningParts(reply, sign), ...content],
    ...named('x_assistant', fields),
  }
}

function named(name: string, fields: JsonObject | undefined): JsonObject {
  return fields === undefined ? {} : { [name]: fields }
}
