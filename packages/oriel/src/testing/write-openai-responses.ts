// Script writer for OpenAI Responses items.

import type { Json, JsonObject } from '../core/log/json.ts'
import type { Attachment, Reply, Said, Script, ScriptCall, Step } from './script.ts'
import { createIds, data, pick } from './writing.ts'

export function writeOpenaiResponses(script: Script): readonly JsonObject[] {
  const nextId = createIds(script.ids, ['call_', 'c-', '', 'call_00000000000000000000'])
  return [
    ...script.opening.map(systemItem),
    ...script.turns.flatMap((turn) => [
      ...(turn.notice === undefined ? [] : [systemItem(turn.notice)]),
      userItem(turn.user),
      ...turn.steps.flatMap((step) => exchange(step, nextId)),
      ...(turn.reply === undefined ? [] : replyItems(turn.reply, nextId)),
    ]),
  ]
}

function systemItem({ text, shape, fields }: Said): JsonObject {
  const content = shape === 2 ? [{ type: 'input_text', text }] : text
  return { role: shape === 1 ? 'developer' : 'system', content, ...named('x_system', fields) }
}

function userItem({ text, shape, attachment, fields }: Said): JsonObject {
  const part = { type: 'input_text', text, ...(shape === 2 ? named('x', fields) : {}) }
  const attached = attachment === 'none' ? [] : [attachedPart(attachment)]
  const isPlain = attachment === 'none' && (shape === 0 || shape === 4)
  const content = shape === 3 ? [...attached, part] : [part, ...attached]
  return {
    ...(shape === 4 ? { type: 'message' } : {}),
    role: 'user',
    content: isPlain ? text : content,
    ...named('x_user', fields),
  }
}

function attachedPart(attachment: Attachment): JsonObject {
  switch (attachment) {
    case 'image-url':
      return { type: 'input_image', image_url: 'https://example.com/a.png', detail: 'auto' }
    case 'image-data':
      return { type: 'input_image', image_url: `data:image/png;base64,${data}` }
    case 'file-data':
      return {
        type: 'input_file',
        filename: 'a.pdf',
        file_data: `data:application/pdf;base64,${data}`,
      }
    case 'file-url':
      return { type: 'input_file', file_url: 'https://example.com/a.pdf' }
    default:
      return { type: 'input_file', file_id: 'file-abc123' }
  }
}

function exchange(step: Step, nextId: () => string): readonly JsonObject[] {
  const calls = step.calls.map((call) => ({ call, id: nextId() }))
  const results = calls.map(({ call, id }) => resultItem(call, id))
  const first = calls[0]?.id ?? ''
  return [
    ...reasoningItems(step, first),
    ...(step.text === '' ? [] : [messageItem(step, first)]),
    ...calls.map(({ call, id }) => callItem(call, id)),
    ...(step.isReversed ? results.reverse() : results),
  ]
}

function reasoningItems({ reasoning, shape }: Step | Reply, id: string): readonly JsonObject[] {
  if (reasoning === undefined) return []
  const summary = [{ type: 'summary_text', text: reasoning }]
  const plain = { type: 'reasoning', id: `rs_${id}`, summary }
  return pick<readonly JsonObject[]>(shape, [
    [plain],
    [{ ...plain, encrypted_content: `sig+${id}` }],
    [{ ...plain, summary: [], encrypted_content: `sig+${id}`, status: null }],
    [{ ...plain, content: [{ type: 'reasoning_text', text: reasoning }] }],
  ])
}

function messageItem({ text, shape, fields }: Step | Reply, id: string): JsonObject {
  const part = { type: 'output_text', text, annotations: [], logprobs: [] }
  const whole = { id: `msg_${id}`, type: 'message', role: 'assistant', status: 'completed' }
  const item = pick<JsonObject>(shape, [
    { role: 'assistant', content: text },
    { ...whole, content: [part] },
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] },
    { ...whole, content: [part, { type: 'refusal', refusal: 'No.' }] },
  ])
  return { ...item, ...named('x_assistant', fields) }
}

/** Non-function calls that the client answers, by tool name, with their outputs. */
function clientPair({ name, input, result }: ScriptCall, id: string): readonly JsonObject[] {
  const { text, isError } = result
  const failed = { stdout: '', stderr: text, outcome: { type: 'timeout' } }
  const ended = { stdout: text, stderr: '', outcome: { type: 'exit', exit_code: 0 } }
  const screen = { type: 'computer_screenshot', image_url: `data:image/png;base64,${data}` }
  switch (name) {
    case 'computer':
      return [
        { type: 'computer_call', id: `cu_${id}`, call_id: id, action: { type: 'wait', ...input } },
        { type: 'computer_call_output', call_id: id, output: screen },
      ]
    case 'shell':
      return [
        { type: 'shell_call', id: `sh_${id}`, call_id: id, action: { commands: ['ls'] } },
        { type: 'shell_call_output', call_id: id, output: [isError ? failed : ended] },
      ]
    case 'local_shell':
      return [
        { type: 'local_shell_call', id: `lsh_${id}`, call_id: id, action: { command: ['ls'] } },
        { type: 'local_shell_call_output', call_id: id, output: text },
      ]
    case 'apply_patch':
      return [
        { type: 'apply_patch_call', call_id: id, operation: { type: 'delete_file', ...input } },
        {
          ...{ type: 'apply_patch_call_output', call_id: id, output: text },
          status: isError ? 'failed' : 'completed',
        },
      ]
    case 'mcp_approval': {
      const request = { type: 'mcp_approval_request', id: `mcpr_${id}`, server_label: 'x', name }
      const reason = text === '' ? {} : { reason: text }
      return [
        { ...request, arguments: JSON.stringify(input) },
        {
          ...{ type: 'mcp_approval_response', approval_request_id: `mcpr_${id}` },
          ...{ approve: !isError, ...reason },
        },
      ]
    }
    default:
      return []
  }
}

function callItem(call: ScriptCall, id: string): JsonObject {
  const [own] = clientPair(call, id)
  if (own !== undefined) return own
  const { name, input, shape } = call
  const json = JSON.stringify(input)
  const plain = { type: 'function_call', call_id: id, name, arguments: json }
  return pick<JsonObject>(shape, [
    plain,
    { ...plain, id: `fc_${id}`, status: 'completed' },
    { type: 'custom_tool_call', call_id: id, name, input: 'free text', id: `ctc_${id}` },
    { ...plain, arguments: `${json.slice(0, -1)} ` },
    { ...plain, namespace: 'tools' },
  ])
}

function resultItem(call: ScriptCall, id: string): JsonObject {
  const [, own] = clientPair(call, id)
  if (own !== undefined) return own
  const { shape: called, result } = call
  const { text, shape, attachment } = result
  const type = called === 2 ? 'custom_tool_call_output' : 'function_call_output'
  const attached = attachment === 'none' ? [] : [attachedPart(attachment)]
  const parts: Json = [{ type: 'input_text', text }, ...attached]
  return pick<JsonObject>(shape, [
    { type, call_id: id, output: text },
    { type, call_id: id, output: text, id: `fco_${id}`, status: 'completed' },
    { type, call_id: id, output: parts },
  ])
}

function replyItems(reply: Reply, nextId: () => string): readonly JsonObject[] {
  const id = nextId()
  const search = { type: 'web_search_call', id: `ws_${id}`, status: 'completed' }
  return [
    ...reasoningItems(reply, id),
    ...(reply.shape === 4 ? [search] : []),
    messageItem(reply, id),
  ]
}

function named(name: string, fields: JsonObject | undefined): JsonObject {
  return fields === undefined ? {} : { [name]: fields }
}
