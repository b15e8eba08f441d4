// Script writer for LangChain messages, in one of their four serialized forms.

import type { Json, JsonObject } from '../core/log/json.ts'
import type { Attachment, Reply, Said, Script, ScriptCall, Step } from './script.ts'
import { createIds, createSignatures, data, pick } from './writing.ts'

type Speaker = 'system' | 'user' | 'assistant' | 'tool'

const classes: Readonly<Record<Speaker, readonly [type: string, name: string]>> = {
  system: ['system', 'SystemMessage'],
  user: ['human', 'HumanMessage'],
  assistant: ['ai', 'AIMessage'],
  tool: ['tool', 'ToolMessage'],
}

export function writeLangchain(script: Script): readonly JsonObject[] {
  const nextId = createIds(script.ids, ['call_', 'toolu_', '', 'call:é '])
  const sign = createSignatures()
  const write = (speaker: Speaker, fields: JsonObject): JsonObject => {
    const [type, name] = classes[speaker]
    const id = ['langchain_core', 'messages', name]
    const ways: readonly [JsonObject, ...JsonObject[]] = [
      { role: speaker, ...fields },
      {
        lc: 1,
        type: 'constructor',
        id,
        kwargs: { ...fields, additional_kwargs: {}, response_metadata: {} },
      },
      { type, data: fields },
      { type, ...fields, example: false },
    ]
    return ways[script.ids % ways.length] as JsonObject
  }
  return [
    ...script.opening.map((said) => write('system', systemFields(said))),
    ...script.turns.flatMap((turn) => [
      ...(turn.notice === undefined ? [] : [write('system', systemFields(turn.notice))]),
      write('user', userFields(turn.user)),
      ...turn.steps.flatMap((step) => exchange(step, { nextId, sign, write })),
      ...(turn.reply === undefined ? [] : [write('assistant', replyFields(turn.reply, sign))]),
    ]),
  ]
}

function systemFields({ text, shape, fields }: Said): JsonObject {
  const marked = { type: 'text', text, cache_control: { type: 'ephemeral' } }
  return { content: shape === 1 ? [marked] : text, ...named('x_system', fields) }
}

function userFields({ text, shape, attachment, fields }: Said): JsonObject {
  const part = { type: 'text', text, ...(fields && shape === 2 ? { x: fields } : {}) }
  const attached = attachment === 'none' ? [] : [attachedPart(attachment, shape)]
  const isPlain = attachment === 'none' && (shape === 0 || shape === 4)
  return {
    content: isPlain ? text : shape === 3 ? [...attached, part] : [part, ...attached],
    ...(shape === 4 ? { name: 'Åse', id: 'human-1' } : {}),
    ...named('x_user', fields),
  }
}

function attachedPart(attachment: Attachment, shape: Said['shape']): JsonObject {
  const url = 'https://example.com/a.png'
  switch (attachment) {
    case 'image-url':
      return pick<JsonObject>(shape, [
        { type: 'image_url', image_url: { url, detail: 'low' } },
        { type: 'image_url', image_url: url },
        { type: 'image', url },
      ])
    case 'image-data':
      return pick<JsonObject>(shape, [
        { type: 'image_url', image_url: { url: `data:image/png;base64,${data}` } },
        { type: 'image', mimeType: 'image/png', data },
        { type: 'image', source_type: 'base64', mime_type: 'image/png', data },
      ])
    case 'file-data':
      return { type: 'file', mimeType: 'application/pdf', data, metadata: { filename: 'a.pdf' } }
    case 'file-url':
      return { type: 'file', url: 'https://example.com/a.pdf' }
    default:
      return { type: 'future_block', payload: { data } }
  }
}

function exchange(
  step: Step,
  {
    nextId,
    sign,
    write,
  }: {
    readonly nextId: () => string
    readonly sign: () => string
    readonly write: (speaker: Speaker, fields: JsonObject) => JsonObject
  },
): readonly JsonObject[] {
  const calls = step.calls.map((call) => ({ call, id: nextId() }))
  const results = calls.map(({ call, id }) => write('tool', resultFields(call, id)))
  if (step.isReversed) results.reverse()
  const { shape, text } = step
  const parts = [...thinking(step, sign), ...(text === '' ? [] : [{ type: 'text', text }])]
  // Anthropic's models put their calls into the content as well.
  const uses = calls.map(({ call, id }) => ({
    type: 'tool_use',
    id,
    name: call.name,
    input: call.input,
  }))
  const content: Json =
    shape === 3 ? [...parts, ...uses] : parts.length === 0 || shape === 4 ? text : parts
  return [
    write('assistant', {
      content,
      tool_calls: calls.map(({ call, id }) => callOf(call, id)),
      ...(shape === 1 ? { invalid_tool_calls: [], id: 'run-1' } : {}),
      ...named('x_assistant', step.fields),
    }),
    ...results,
  ]
}

function thinking({ reasoning, shape }: Step | Reply, sign: () => string): readonly JsonObject[] {
  if (reasoning === undefined || shape === 4) return []
  const signed = { type: 'thinking', thinking: reasoning, signature: sign() }
  return pick<readonly JsonObject[]>(shape, [
    [signed],
    [{ type: 'redacted_thinking', data: sign() }],
    [{ type: 'reasoning', reasoning }],
    [{ type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: sign() }],
  ])
}

function callOf({ name, input, shape }: ScriptCall, id: string): JsonObject {
  return pick<JsonObject>(shape, [
    { name, args: input, id, type: 'tool_call' },
    { id, type: 'function', function: { name, arguments: JSON.stringify(input) } },
    { name, args: input, id },
  ])
}

function resultFields({ name, result }: ScriptCall, id: string): JsonObject {
  const { text, shape, isError, attachment } = result
  const attached = attachment === 'none' ? [] : [attachedPart(attachment, shape)]
  const plain = { tool_call_id: id, ...(isError ? { status: 'error' } : {}) }
  return pick<JsonObject>(shape, [
    { ...plain, content: text },
    { ...plain, content: text, name, status: isError ? 'error' : 'success' },
    { ...plain, content: [{ type: 'text', text }, ...attached], name },
    { ...plain, content: text, artifact: { rows: [1, 2] } },
  ])
}

function replyFields(reply: Reply, sign: () => string): JsonObject {
  const { text, shape, fields } = reply
  const part = { type: 'text', text }
  const content = pick<readonly JsonObject[]>(shape, [
    [part],
    [{ ...part, annotations: [] }],
    [part, { type: 'text', text: 'And one more.' }],
  ])
  const thoughts = thinking(reply, sign)
  const isPlain = (shape === 0 || shape === 4) && thoughts.length === 0
  const usage = { input_tokens: 5, output_tokens: 2, total_tokens: 7 }
  return {
    content: isPlain ? text : [...thoughts, ...content],
    ...(shape === 3 ? { tool_calls: [], usage_metadata: usage } : {}),
    ...named('x_assistant', fields),
  }
}

function named(name: string, fields: JsonObject | undefined): JsonObject {
  return fields === undefined ? {} : { [name]: fields }
}
