// A scripted answer in the format of /v1/chat/completions.

import type { Json, JsonObject } from '../../core/log/json.ts'
import { endOfStream } from '../stream.ts'
import type { Measured, Part, Reply, WriteOptions, WrittenAnswer, WrittenEvent } from '../write.ts'
import { fixedSeconds, pieces } from '../write.ts'

/** Reasoning travels as `reasoning_content`, the field of compatible servers; usage is streamed only where the request asks for it. */
export function writeAnswer(reply: Reply, options: WriteOptions): WrittenAnswer {
  const { request, measured, makeId } = options
  const head = {
    id: makeId('chatcmpl'),
    created: fixedSeconds,
    model: request.model ?? 'demo',
    service_tier: 'default',
    system_fingerprint: 'fp_demo',
  }
  const usage = usageOf(measured)
  const text = joined(reply, 'text')
  const reasoning = joined(reply, 'reasoning')
  const calls = reply.filter(isCall).map((call) => ({
    id: makeId('call'),
    type: 'function',
    function: { name: call.name, arguments: call.arguments },
  }))
  const finish = calls.length > 0 ? 'tool_calls' : 'stop'
  const message = {
    role: 'assistant',
    content: text ?? null,
    ...(reasoning === undefined ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    refusal: null,
    annotations: [],
  }
  const choice = { index: 0, message, logprobs: null, finish_reason: finish }
  const chunk = (fields: JsonObject): WrittenEvent => ({
    data: { ...head, object: 'chat.completion.chunk', ...fields },
  })
  const delta = (value: JsonObject, reason: string | null = null): WrittenEvent =>
    chunk({ choices: [{ index: 0, delta: value, logprobs: null, finish_reason: reason }] })
  const events: WrittenEvent[] = [
    delta({ role: 'assistant', content: text === undefined ? null : '', refusal: null }),
    ...pieces(reasoning ?? '').map((piece) => delta({ reasoning_content: piece })),
    ...pieces(text ?? '').map((piece) => delta({ content: piece })),
    ...calls.flatMap((call, index) => callDeltas(call, index).map((value) => delta(value))),
    delta({}, finish),
    ...(asksForUsage(request) ? [chunk({ choices: [], usage })] : []),
  ]
  const body = { ...head, object: 'chat.completion', choices: [choice], usage }
  return { body, events, end: endOfStream }
}

function isCall(part: Part): part is Extract<Part, { type: 'call' }> {
  return part.type === 'call'
}

function joined(reply: Reply, type: 'text' | 'reasoning'): string | undefined {
  const texts = reply.flatMap((part) => (part.type === type ? [part.text] : []))
  return texts.length === 0 ? undefined : texts.join('\n')
}

function callDeltas(
  call: { readonly id: string; readonly function: { name: string; arguments: string } },
  index: number,
): readonly JsonObject[] {
  const { name } = call.function
  return [
    { tool_calls: [{ index, id: call.id, type: 'function', function: { name, arguments: '' } }] },
    ...pieces(call.function.arguments).map((piece) => ({
      tool_calls: [{ index, function: { arguments: piece } }],
    })),
  ]
}

function asksForUsage({ stream_options: options }: JsonObject): boolean {
  const asked = options as { readonly include_usage?: Json } | null | undefined
  return asked?.include_usage === true
}

function usageOf({ input, cached, output, reasoning }: Measured): JsonObject {
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: reasoning, audio_tokens: 0 },
  }
}
