// The tool by which a model asks for an original: its definition, the words that introduce it, and the answer to a call.

import { isObject, type JsonObject } from '../core/json.ts'
import type { ExpandOptions, Expansion } from './expand.ts'

/** How often the same request is answered: a model that asks again and again is told to go on without. */
const maxRepeats = 3

/** What the tool needs of a thread. */
export interface Expandable {
  expand(id: string, options?: ExpandOptions): Promise<Expansion>
}

export interface ExpandTool {
  /** Name, description and JSON schema of the arguments; wrap it as your provider wants it. */
  readonly definition: {
    readonly name: 'expand_message'
    readonly description: string
    readonly parameters: JsonObject
  }
  /** A sentence for the system prompt. */
  readonly prompt: string
  /** Answers a call with the text for its result. Never throws on what a model may write: it reads the reason and goes on. */
  handle(input: unknown): Promise<string>
}

const range = { type: 'array', items: { type: 'integer', minimum: 0 }, minItems: 2, maxItems: 2 }

/** The tool `expand_message` over a thread. The original comes back as the tool's result, so the prefix stays cached. */
export function expandTool(thread: Expandable): ExpandTool {
  const asked = new Map<string, number>()
  return {
    definition: {
      name: 'expand_message',
      description:
        'Shows the original of something that was shortened, by the id that its placeholder names. Ask for a part where you can.',
      parameters: {
        type: 'object',
        properties: {
          id: { type: 'string', description: 'The id, for example e7k2.' },
          lines: { ...range, description: 'First and last line, 0-based.' },
          items: { ...range, description: 'First and last item of a JSON array, 0-based.' },
          query: { type: 'string', description: 'Only lines that contain this text.' },
          reason: { type: 'string', description: 'Why it is needed.' },
        },
        required: ['id'],
      },
    },
    prompt:
      'Some messages are shortened. A placeholder names an id: call expand_message with it to see the original, whole or in part.',
    async handle(input) {
      const request = readRequest(input)
      if (request === undefined) return 'Not expanded: the arguments need an id, as a text.'
      const key = JSON.stringify([request.id, request.options])
      const times = (asked.get(key) ?? 0) + 1
      asked.set(key, times)
      if (times > maxRepeats) {
        return `Not expanded: ${request.id} was shown ${maxRepeats} times already. Do not request it again; go on with what you have.`
      }
      const found = await thread.expand(request.id, request.options)
      return found.ok ? found.text : found.reason
    },
  }
}

/** Arguments as a model writes them: an object, or JSON text of one. */
function readRequest(input: unknown): { id: string; options: ExpandOptions } | undefined {
  const value = typeof input === 'string' ? parse(input) : input
  if (!isObject(value) || typeof value.id !== 'string') return undefined
  const { id, lines, items, query, reason } = value
  return {
    id: id.trim(),
    options: {
      // Ranges are checked where they are used, with a reason that the model can read.
      ...(lines === undefined || lines === null ? {} : { lines: asRange(lines) }),
      ...(items === undefined || items === null ? {} : { items: asRange(items) }),
      ...(typeof query === 'string' && query !== '' ? { query } : {}),
      ...(typeof reason === 'string' ? { reason: reason.slice(0, 200) } : {}),
    },
  }
}

function asRange(value: unknown): readonly [number, number] {
  const [from, to] = Array.isArray(value) ? value : [Number.NaN, Number.NaN]
  return [Number(from), Number(to)]
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
