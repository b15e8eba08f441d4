// The scripted answer in the format of /v1/chat/completions.

import type { MakeId, Reply, WireAnswer, WireEvent } from '../reply.ts'
import { fixedSeconds, pieces } from '../reply.ts'

/** Reasoning travels as `reasoning_content`, the field that compatible servers use. */
export function chatAnswer(reply: Reply, model: string, makeId: MakeId): WireAnswer {
  const id = makeId('chatcmpl')
  const usage = usageOf(reply)
  const calls = (reply.calls ?? []).map((call) => ({
    id: makeId('call'),
    type: 'function',
    function: { name: call.name, arguments: call.arguments },
  }))
  const finish = calls.length > 0 ? 'tool_calls' : 'stop'
  const message = {
    role: 'assistant',
    content: reply.text ?? null,
    ...(reply.reasoning === undefined ? {} : { reasoning_content: reply.reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    refusal: null,
    annotations: [],
  }
  const head = { id, created: fixedSeconds, model, system_fingerprint: null }
  const body = {
    ...head,
    object: 'chat.completion',
    choices: [{ index: 0, message, logprobs: null, finish_reason: finish }],
    usage,
  }
  const chunk = (delta: unknown, finishReason: string | null = null): WireEvent => ({
    data: {
      ...head,
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta, logprobs: null, finish_reason: finishReason }],
    },
  })
  const events: WireEvent[] = [
    chunk({ role: 'assistant', content: reply.text === undefined ? null : '', refusal: null }),
    ...pieces(reply.reasoning ?? '').map((piece) => chunk({ reasoning_content: piece })),
    ...pieces(reply.text ?? '').map((piece) => chunk({ content: piece })),
    ...calls.flatMap((call, index) => callChunks(call, index).map((delta) => chunk(delta))),
    chunk({}, finish),
    { data: { ...head, object: 'chat.completion.chunk', choices: [], usage } },
  ]
  return { body, events }
}

function callChunks(
  call: { readonly id: string; readonly function: { name: string; arguments: string } },
  index: number,
): readonly unknown[] {
  const { name } = call.function
  return [
    { tool_calls: [{ index, id: call.id, type: 'function', function: { name, arguments: '' } }] },
    ...pieces(call.function.arguments).map((piece) => ({
      tool_calls: [{ index, function: { arguments: piece } }],
    })),
  ]
}

function usageOf({ inputTokens = 100 }: Reply): unknown {
  return {
    prompt_tokens: inputTokens,
    completion_tokens: 20,
    total_tokens: inputTokens + 20,
    prompt_tokens_details: { cached_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 5 },
  }
}
