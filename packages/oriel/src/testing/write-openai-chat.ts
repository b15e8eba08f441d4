// Script writer for OpenAI Chat Completions messages, in every shape that clients and servers
// write.

import type { Json, JsonObject } from '../core/log/json.ts'
import type { Attachment, Reply, Said, Script, ScriptCall, Step } from './script.ts'
import { createIds, data, pick } from './writing.ts'

export function writeOpenaiChat(script: Script): readonly JsonObject[] {
  const nextId = createIds(script.ids, [
    'call_',
    'chatcmpl-tool-5f1c0d6f9a1b4c3e8d2a-',
    '',
    'call:é ',
  ])
  return [
    ...script.opening.map(systemMessage),
    ...script.turns.flatMap((turn) => [
      ...(turn.notice === undefined ? [] : [systemMessage(turn.notice)]),
      userMessage(turn.user),
      ...turn.steps.flatMap((step) => exchange(step, nextId)),
      ...(turn.reply === undefined ? [] : [replyMessage(turn.reply)]),
    ]),
  ]
}

function systemMessage({ text, shape, fields }: Said): JsonObject {
  const content = shape === 2 ? [{ type: 'text', text }] : text
  return { role: shape === 1 ? 'developer' : 'system', content, ...named('x_system', fields) }
}

function userMessage({ text, shape, attachment, fields }: Said): JsonObject {
  const plain = { type: 'text', text }
  const marked = { type: 'text', text, cache_control: { type: 'ephemeral' }, ...named('x', fields) }
  const attached = attachment === 'none' ? [] : [attachedPart(attachment)]
  const parts = pick(shape, [[plain], [plain, { type: 'text', text: '' }], [marked], [plain]])
  const isPlain = attachment === 'none' && (shape === 0 || shape === 4)
  return {
    role: 'user',
    content: isPlain ? text : shape === 3 ? [...attached, ...parts] : [...parts, ...attached],
    ...(shape === 4 ? { name: 'Åse' } : {}),
    ...named('x_user', fields),
  }
}

function attachedPart(attachment: Attachment): JsonObject {
  switch (attachment) {
    case 'image-url':
      return { type: 'image_url', image_url: { url: 'https://example.com/a.png', detail: 'low' } }
    case 'image-data':
      return { type: 'image_url', image_url: { url: `data:image/png;base64,${data}` } }
    case 'file-data':
      return {
        type: 'file',
        file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${data}` },
      }
    case 'file-url':
      return { type: 'file', file: { file_id: 'file-abc123' } }
    default:
      return { type: 'input_audio', input_audio: { data, format: 'wav' } }
  }
}

function exchange(step: Step, nextId: () => string): readonly JsonObject[] {
  const only = step.calls.length === 1 ? step.calls[0] : undefined
  if (only !== undefined && step.shape === 4) return legacyExchange(step, only)
  const calls = step.calls.map((call) => ({ call, id: nextId() }))
  const results = calls.map(({ call, id }) => resultMessage(call, id))
  return [
    {
      role: 'assistant',
      ...reasoningOf(step),
      ...spoken(step),
      tool_calls: calls.map(({ call, id }) => callOf(call, id)),
      ...named('x_assistant', step.fields),
    },
    ...(step.isReversed ? results.reverse() : results),
  ]
}

/** The deprecated function call, which old conversations still have. */
function legacyExchange(step: Step, call: ScriptCall): readonly JsonObject[] {
  const { name, input, result } = call
  const called = { name, arguments: JSON.stringify(input) }
  return [
    { role: 'assistant', content: step.text === '' ? null : step.text, function_call: called },
    { role: 'function', name, content: result.text },
  ]
}

/** The assistant's text beside its calls: SDKs send response objects back unchanged. */
function spoken({ text, shape }: Step): JsonObject {
  const sdk = { refusal: null, annotations: [], audio: null, function_call: null }
  if (text !== '') {
    const content: Json = shape === 2 ? [{ type: 'text', text }] : text
    return { content, ...(shape === 1 ? sdk : {}) }
  }
  return pick<JsonObject>(shape, [
    { content: null },
    { content: null, ...sdk },
    {},
    { content: '' },
  ])
}

function callOf({ name, input, shape }: ScriptCall, id: string): JsonObject {
  const json = JSON.stringify(input)
  const plain = { id, type: 'function', function: { name, arguments: json } }
  return pick<JsonObject>(shape, [
    plain,
    { ...plain, index: 0 },
    { id, type: 'custom', custom: { name, input: 'free text' } },
    // Invalid JSON, or JSON in the model's own layout: both stay unchanged.
    { id, type: 'function', function: { name, arguments: `${json.slice(0, -1)} ` } },
    { id, type: 'function', function: { name, arguments: `{ "days": 1.0,\n ${json.slice(1)}` } },
  ])
}

function resultMessage({ name, result }: ScriptCall, id: string): JsonObject {
  const { text, shape } = result
  const content = pick<Json>(shape, [
    text,
    text,
    [{ type: 'text', text }],
    [
      { type: 'text', text },
      { type: 'text', text: 'second part' },
    ],
  ])
  return { role: 'tool', tool_call_id: id, content, ...(shape === 1 ? { name } : {}) }
}

function replyMessage(reply: Reply): JsonObject {
  const { text, shape, fields } = reply
  const said = pick<JsonObject>(shape, [
    { content: text },
    { content: text, refusal: null, annotations: [], tool_calls: undefined as unknown as Json },
    { content: [{ type: 'text', text }] },
    { content: null, refusal: text },
    { content: [{ type: 'refusal', refusal: text }], name: 'model' },
  ])
  return { role: 'assistant', ...reasoningOf(reply), ...said, ...named('x_assistant', fields) }
}

function reasoningOf({ reasoning }: Step | Reply): JsonObject {
  return reasoning === undefined ? {} : { reasoning_content: reasoning }
}

function named(name: string, fields: JsonObject | undefined): JsonObject {
  return fields === undefined ? {} : { [name]: fields }
}
