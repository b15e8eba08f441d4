// The tool by which a model asks for an original: its definition, the words that introduce it, and the answer to a call.

import { isObject, type JsonObject } from '../../core/log/json.ts'
import type { ExpandOptions, Expansion } from './expand.ts'

/** How often the same request is answered: a model that asks again and again is told to continue without. */
const maxRepeats = 3
/** How many requests in a row may fail before the model is told to stop asking at all. */
const maxFailures = 8
/** After so many model calls the same request counts as a new one. */
const forgottenAfter = 20
/** Characters of one answer: a longer original is read in pages, so that it cannot overflow the context again. */
const pageLength = 200_000
/** How many different requests are remembered. */
const maxRemembered = 1000

/** What the tool needs of a thread. */
export interface Expandable {
  /** The model call that comes next: what was asked for long before it may be asked for again. @default unknown */
  readonly step?: number
  expand(id: string | number, options?: ExpandOptions): Promise<Expansion>
}

export interface ExpandTool {
  /** Name, description and JSON schema of the arguments; wrap it as your provider wants it. */
  readonly definition: {
    readonly name: 'expand_message'
    readonly description: string
    readonly parameters: JsonObject
  }
  /** Teaches a model when and how to ask: put it into the system prompt. */
  readonly prompt: string
  /** Answers a call with the text for its result. Never throws on what a model may write: it reads the reason and continues. */
  handle(input: unknown): Promise<string>
}

/** When and how to ask, for the system prompt. */
const prompt = `## Message expansion

Some messages are shortened to save tokens. They say so: [Omitted: ...], [Compacted: ...], [AI Summary of N chars ...] or [... left out ...], and name an id such as e7k2.

When to expand: you need exact details, quotes or values of a shortened message, or the user asks about something that was in it. Not to be on the safe side.
How to expand: call expand_message with the id. Ask for a part where you can: lines, chars, items of a JSON list, or only the lines that contain a query.
Pictures are shown again where they stood.
After expansion: the original is the tool's result. If it says that it was not expanded, do not ask for the same again.`

const range = { type: 'array', items: { type: 'integer', minimum: 0 }, minItems: 2, maxItems: 2 }

/** The tool `expand_message` over a thread. The original comes back as the tool's result, so the prefix stays cached. */
export function expandTool(thread: Expandable): ExpandTool {
  const asked = new Map<string, { readonly times: number; readonly step: number }>()
  let failures = 0
  const answer = (text: string, isOk: boolean): string => {
    failures = isOk ? 0 : failures + 1
    if (failures <= maxFailures) return text
    return 'Not expanded: the last requests all failed. Stop expanding messages and go on with what you have.'
  }
  return {
    definition: {
      name: 'expand_message',
      description:
        'Shows the original of something that was shortened, by the id that its placeholder names. Ask for a part where you can.',
      parameters: {
        type: 'object',
        properties: {
          id: {
            type: 'string',
            description: 'The id, for example e7k2, or a range as it is printed: e1ab to e9cd.',
          },
          lines: { ...range, description: 'First and last line, 0-based.' },
          chars: { ...range, description: 'First and last character, 0-based: for long lines.' },
          items: { ...range, description: 'First and last item of a JSON list, 0-based.' },
          path: {
            type: 'string',
            description: 'Where the list of items is, if there are several: data.rows.',
          },
          query: {
            type: 'string',
            description: 'Only lines, or parts of long lines, that contain this text.',
          },
          reason: { type: 'string', description: 'Why it is needed.' },
        },
        additionalProperties: false,
        required: ['id'],
      },
    },
    prompt,
    async handle(input) {
      const request = readRequest(input)
      if (request === undefined) {
        return answer('Not expanded: the arguments need an id, as a text.', false)
      }
      const key = JSON.stringify([request.target, request.options])
      const { step = 0 } = thread
      const last = asked.get(key)
      const isRepeat = last !== undefined && step - last.step <= forgottenAfter
      const times = isRepeat ? last.times + 1 : 1
      asked.delete(key)
      asked.set(key, { times, step })
      if (asked.size > maxRemembered) asked.delete(asked.keys().next().value as string)
      if (times > maxRepeats) {
        const text = `Not expanded: ${String(request.target)} was answered ${maxRepeats} times already. Do not request this expansion again; go on with what you have.`
        return answer(text, false)
      }
      const found = await thread.expand(request.target, {
        inPlace: 'media',
        maxChars: pageLength,
        ...request.options,
      })
      return answer(found.ok ? found.text : found.reason, found.ok)
    },
  }
}

/** The tool for a request whose system prompt does not introduce it: the description says when to use it. */
export function injectedTool(name: string): {
  readonly name: string
  readonly description: string
  readonly parameters: JsonObject
} {
  const { definition } = expandTool({ expand: async () => ({ ok: false, reason: '' }) })
  const description = [
    definition.description,
    'Shortened parts say so: [Omitted: ...], [Compacted: ...], [AI Summary of N chars ...] or [... left out ...], with an id such as e7k2.',
    'Use it when you need exact details, quotes or values of such a part, or are asked about it; not to be on the safe side.',
    'If the result says that it was not expanded, do not ask for the same again.',
  ].join(' ')
  return { name, description, parameters: definition.parameters }
}

interface ExpandRequest {
  /** An id, or a position in the newest view. */
  readonly target: string | number
  readonly options: ExpandOptions
}

/** What document 001 calls such a request. It always means an index; without one it is out of bounds. */
const steps: readonly unknown[] = ['ExpandMessage', 'expand-message']

/**
 * Arguments as a model writes them: an object, or JSON text of one. Document 001's own shapes too: a step (or type) 'ExpandMessage' or
 * 'expand-message' with `messageIndex`, `reason` and `itemRange`, alone or as `nextStep`.
 */
function readRequest(input: unknown): ExpandRequest | undefined {
  const value = typeof input === 'string' ? parse(input) : input
  if (!isObject(value)) return undefined
  if (isObject(value.nextStep)) return readRequest(value.nextStep)
  const { id, messageIndex, lines, chars, path, query, reason, items = value.itemRange } = value
  const isStep = steps.includes(value.step) || steps.includes(value.type)
  const index = indexOf(messageIndex) ?? (isStep ? Number.NaN : undefined)
  const target = typeof id === 'string' && id.trim() !== '' ? id.trim() : index
  if (target === undefined) return undefined
  return {
    target,
    options: {
      // Ranges are checked where they are used, with a reason that the model can read.
      ...(lines === undefined || lines === null ? {} : { lines: asRange(lines) }),
      ...(chars === undefined || chars === null ? {} : { chars: asRange(chars) }),
      ...(typeof path === 'string' && path !== '' ? { path } : {}),
      ...(items === undefined || items === null ? {} : { items: asRange(items) }),
      ...(typeof query === 'string' && query !== '' ? { query } : {}),
      ...(typeof reason === 'string' ? { reason: reason.slice(0, 200) } : {}),
    },
  }
}

function indexOf(value: unknown): number | undefined {
  if (typeof value === 'number') return value
  return typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : undefined
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
