// What is said in a random conversation, and how each format writes it down.

import * as fc from 'fast-check'
import type { JsonObject } from '../../src/core/log/json.ts'
import type { FormatName } from '../../src/providers/format.ts'

/** One thing that somebody says; a tool says one result. */
export interface Saying {
  readonly speaker: 'user' | 'assistant' | 'system' | 'host' | 'tool'
  /** Begins with a tag that no other saying has; empty only beside calls. */
  readonly text: string
  readonly reasoning?: string
  /** Ids of the calls that an assistant makes. */
  readonly calls: readonly string[]
  /** The id of the call that a tool answers. */
  readonly answers?: string
}

/** A piece of conversation, before it has tags. An exchange is complete; `calls` waits for `results`. */
export interface Piece {
  readonly kind: 'user' | 'reply' | 'system' | 'note' | 'exchange' | 'calls' | 'results'
  readonly flavour: number
  readonly calls: number
}

export type WrittenFormat = 'neutral' | FormatName

const flavours = [
  'hello',
  'two\nlines',
  '[Omitted]',
  '[Previous conversation summary]',
  'half \ud83d of a pair',
  'zero \u0000 and \u2028',
  '👩‍👩‍👧‍👦 日本語',
  'word '.repeat(400),
]

/** How often each kind comes, among those asked for. */
const weights: Readonly<Record<Piece['kind'], number>> = {
  user: 5,
  reply: 3,
  exchange: 3,
  system: 1,
  note: 1,
  calls: 1,
  results: 2,
}

export function pieceArbitrary(kinds: readonly Piece['kind'][]): fc.Arbitrary<Piece> {
  const weighted = kinds.map((kind) => ({ weight: weights[kind], arbitrary: fc.constant(kind) }))
  return fc.record({
    kind: fc.oneof(...weighted),
    flavour: fc.nat({ max: flavours.length - 1 }),
    calls: fc.integer({ min: 1, max: 3 }),
  })
}

/** Gives tags and call ids: the same ones for the same pieces in the same order. */
export class Speech {
  #count = 0

  /** What a piece says, when these calls wait for an answer. */
  say(piece: Piece, waiting: readonly string[]): readonly Saying[] {
    const { kind } = piece
    if (kind === 'results')
      return waiting.slice(0, piece.calls).map((id) => this.#result(piece, id))
    if (kind === 'calls') return [this.#calls(piece)]
    if (kind === 'exchange') {
      const calls = this.#calls(piece)
      return [calls, ...calls.calls.map((id) => this.#result(piece, id))]
    }
    const speaker = kind === 'reply' ? 'assistant' : kind === 'note' ? 'host' : kind
    const isThought = speaker === 'assistant' && piece.calls === 2
    return [
      { speaker, text: this.#text(piece), calls: [], ...(isThought ? { reasoning: 'hm' } : {}) },
    ]
  }

  #calls(piece: Piece): Saying {
    const text = this.#text(piece)
    const calls = Array.from({ length: piece.calls }, (_, index) => `c${this.#count}_${index}`)
    const reasoning = piece.flavour % 3 === 1 ? { reasoning: 'let me see' } : {}
    return { speaker: 'assistant', text: piece.flavour % 2 === 0 ? '' : text, calls, ...reasoning }
  }

  #result(piece: Piece, answers: string): Saying {
    return { speaker: 'tool', text: this.#text(piece), calls: [], answers }
  }

  #text({ flavour }: Piece): string {
    this.#count += 1
    return `T${this.#count}. ${flavours[flavour]}`
  }
}

/** The sayings as foreign messages. Results are one message each, except where the format groups them. */
export function write(sayings: readonly Saying[], format: WrittenFormat): readonly JsonObject[] {
  switch (format) {
    case 'neutral':
      return sayings.map(neutralMessage)
    case 'openai-chat':
      return sayings.map(chatMessage)
    case 'openai-responses':
      return sayings.flatMap(responsesItems)
    case 'anthropic':
      return anthropicMessages(sayings)
    case 'ai-sdk':
      return sayings.map(aiSdkMessage)
    case 'langchain':
      return sayings.map(langchainMessage)
    case 'gemini':
      return geminiContents(sayings)
  }
}

/** Whether two things in a row are said by the same speaker: formats may make one message of them. */
export function hasNeighbours(sayings: readonly Saying[], speaker: Saying['speaker']): boolean {
  return sayings.some(
    (saying, index) => saying.speaker === speaker && sayings[index + 1]?.speaker === speaker,
  )
}

export function argumentsOf(callId: string): JsonObject {
  return { path: `${callId}.ts`, line: 1 }
}

function neutralMessage({ speaker, text, calls, answers, reasoning }: Saying): JsonObject {
  if (answers !== undefined) {
    return { role: 'tool', content: [{ type: 'tool-result', callId: answers, content: text }] }
  }
  if (speaker === 'host') return { role: 'user', origin: 'host', content: text }
  if (speaker !== 'assistant') return { role: speaker, content: text, meta: { speaker } }
  const blocks = [
    ...(reasoning === undefined ? [] : [{ type: 'reasoning', text: reasoning }]),
    ...(text === '' ? [] : [{ type: 'text', text }]),
    ...calls.map((callId) => ({
      type: 'tool-call',
      callId,
      name: 'read',
      arguments: JSON.stringify(argumentsOf(callId)),
    })),
  ]
  return { role: 'assistant', content: blocks }
}

function chatMessage({ speaker, text, calls, answers, reasoning }: Saying): JsonObject {
  if (answers !== undefined) return { role: 'tool', tool_call_id: answers, content: text }
  if (speaker !== 'assistant') return { role: speaker, content: text }
  const made = calls.map((id) => ({
    id,
    type: 'function',
    function: { name: 'read', arguments: JSON.stringify(argumentsOf(id)) },
  }))
  return {
    role: 'assistant',
    content: text === '' ? null : text,
    ...(reasoning === undefined ? {} : { reasoning_content: reasoning }),
    ...(made.length === 0 ? {} : { tool_calls: made }),
  }
}

function responsesItems({ speaker, text, calls, answers }: Saying): readonly JsonObject[] {
  if (answers !== undefined) {
    return [{ type: 'function_call_output', call_id: answers, output: text }]
  }
  return [
    ...(text === '' ? [] : [{ role: speaker, content: text }]),
    ...calls.map((callId) => ({
      type: 'function_call',
      call_id: callId,
      name: 'read',
      arguments: JSON.stringify(argumentsOf(callId)),
    })),
  ]
}

function anthropicMessages(sayings: readonly Saying[]): readonly JsonObject[] {
  const messages: JsonObject[] = []
  let results: JsonObject[] = []
  for (const { speaker, text, calls, answers } of sayings) {
    if (answers !== undefined) {
      const result = { type: 'tool_result', tool_use_id: answers, content: text }
      if (results.length === 0) messages.push({ role: 'user', content: results })
      results.push(result)
      continue
    }
    results = []
    const uses = calls.map((id) => ({ type: 'tool_use', id, name: 'read', input: argumentsOf(id) }))
    const blocks = [...(text === '' ? [] : [{ type: 'text', text }]), ...uses]
    messages.push({ role: speaker, content: uses.length === 0 ? text : blocks })
  }
  return messages
}

function aiSdkMessage({ speaker, text, calls, answers, reasoning }: Saying): JsonObject {
  if (answers !== undefined) {
    const output = { type: 'text', value: text }
    const result = { type: 'tool-result', toolCallId: answers, toolName: 'read', output }
    return { role: 'tool', content: [result] }
  }
  if (speaker !== 'assistant') return { role: speaker, content: text }
  return {
    role: 'assistant',
    content: [
      ...(reasoning === undefined ? [] : [{ type: 'reasoning', text: reasoning }]),
      ...(text === '' ? [] : [{ type: 'text', text }]),
      ...calls.map((toolCallId) => ({
        type: 'tool-call',
        toolCallId,
        toolName: 'read',
        input: argumentsOf(toolCallId),
      })),
    ],
  }
}

function langchainMessage({ speaker, text, calls, answers }: Saying): JsonObject {
  if (answers !== undefined) return { role: 'tool', tool_call_id: answers, content: text }
  const made = calls.map((id) => ({ name: 'read', args: argumentsOf(id), id, type: 'tool_call' }))
  return { role: speaker, content: text, ...(made.length === 0 ? {} : { tool_calls: made }) }
}

function geminiContents(sayings: readonly Saying[]): readonly JsonObject[] {
  const contents: JsonObject[] = []
  let responses: JsonObject[] = []
  for (const { speaker, text, calls, answers, reasoning } of sayings) {
    if (answers !== undefined) {
      if (responses.length === 0) contents.push({ role: 'user', parts: responses })
      const response = { output: text }
      responses.push({ functionResponse: { id: answers, name: 'read', response } })
      continue
    }
    responses = []
    const isModel = speaker === 'assistant'
    const parts = [
      ...(isModel && reasoning !== undefined ? [{ text: reasoning, thought: true }] : []),
      ...(text === '' ? [] : [{ text }]),
      ...calls.map((id) => ({ functionCall: { id, name: 'read', args: argumentsOf(id) } })),
    ]
    contents.push({ role: isModel ? 'model' : speaker, parts })
  }
  return contents
}
