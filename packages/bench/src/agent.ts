// Synthetic agent conversation of any length: deterministic, with the message sizes of recorded
// agents.

import type { ChatMessage } from './conversations.ts'

/** Messages appended between two model calls. */
export type Step = readonly ChatMessage[]

/** Characters per kind of message, about the mean of the recorded conversations. */
export interface Sizes {
  readonly user: number
  readonly arguments: number
  readonly result: number
  readonly reply: number
}

const usualSizes: Sizes = { user: 200, arguments: 100, result: 1200, reply: 400 }

const words = (
  'the agent reads file config and prints total error 404 order W7342 user_17 src/index.ts then asks whether to retry because ' +
  'build 2024-05-01 failed with status {"path":"/srv/app","lines":[12,40]} return value === undefined'
).split(' ')

/**
 * Turn number `turn`, as steps: first the user message (after the previous reply), then one call
 * with its result per step. A turn of `calls` calls is `calls + 1` model calls and `2 * calls + 2`
 * messages.
 */
export function turnOf(turn: number, calls = 3, sizes: Sizes = usualSizes): readonly Step[] {
  const before: Step =
    turn === 0
      ? [{ role: 'system', content: text(0, 800) }]
      : [{ role: 'assistant', content: text(turn * 7 + 1, sizes.reply) }]
  const opening: Step = [...before, { role: 'user', content: text(turn * 7, sizes.user) }]
  const exchanges = Array.from({ length: calls }, (_, call): Step => {
    const id = `call_${turn}_${call}`
    const argumentsText = JSON.stringify({ query: text(turn * 7 + call + 2, sizes.arguments) })
    return [
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id, type: 'function', function: { name: 'search', arguments: argumentsText } },
        ],
      },
      { role: 'tool', tool_call_id: id, content: text(turn * 7 + call + 5, sizes.result) },
    ]
  })
  return [opening, ...exchanges]
}

/** The first messages of the conversation: at least `count`, in whole turns. */
export function conversationOf(count: number): ChatMessage[] {
  const messages: ChatMessage[] = []
  for (let turn = 0; messages.length < count; turn++) messages.push(...turnOf(turn).flat())
  return messages
}

/** A text of about `length` characters, different for every `key`, from half to twice as long. */
function text(key: number, length: number): string {
  let state = Math.imul(key + 1, 2654435761) >>> 0
  const next = (): number => {
    // Marsaglia's xorshift: short, and the same on every machine.
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    state >>>= 0
    return state
  }
  const wanted = length / 2 + (next() % length)
  let result = ''
  while (result.length < wanted) result += `${words[next() % words.length]} `
  return result
}
