// Expansion inside a request of Responses.

import type { Json, JsonObject } from 'oriel'
import { parseObject } from 'oriel/providers'
import { elementsOf, outlineOf } from '../call/json-outline.ts'
import { isObject } from '../call/rewrite.ts'
import type { ExpansionFormat } from './format.ts'
import {
  defaultChoice,
  isCall,
  isNamed,
  isOwnCall,
  outputOf,
  withoutTool,
} from './openai-responses-items.ts'
import { responsesSplicer } from './openai-responses-splicer.ts'
import { type SpliceOptions, sumUsage } from './splicer.ts'

export const responsesExpansion: ExpansionFormat = {
  // Here tools are strict unless they say otherwise, and a strict one has no optional arguments.
  define: (tool) => ({ type: 'function', ...tool, strict: false }),
  toolNames: (tools) => tools.map((tool) => (isObject(tool) ? String(tool.name ?? '') : '')),
  stance({ text, background, tool_choice: choice, tools }) {
    const isAbsent = !Array.isArray(tools) || tools.length === 0
    if (isAbsent && (isObject(choice) || choice === 'required')) return 'closed'
    if (background === true) return 'single'
    const format = isObject(text) && isObject(text.format) ? text.format : {}
    if (format.type !== undefined && format.type !== 'text') return 'structured'
    return choice === 'required' ? 'forced' : 'open'
  },
  sort(messages, name) {
    const calls = messages.filter(isObject).filter(isCall)
    const own = calls.filter((call) => isOwnCall(call, name))
    return {
      own: own.map((call) => ({ id: String(call.call_id), input: call.arguments ?? '' })),
      hasOthers: own.length < calls.length,
    }
  },
  isCut: ({ status }) => status !== 'completed',
  results: (results) =>
    results.map(({ id, text }) => ({ type: 'function_call_output', call_id: id, output: text })),
  join(answers, options) {
    const last = answers.at(-1) ?? {}
    const usage = answers.map((one) => one.usage).filter(isObject)
    return withoutTool(
      {
        ...last,
        ...(answers[0]?.created_at === undefined ? {} : { created_at: answers[0].created_at }),
        output: answers.flatMap(outputOf).filter((item) => !isOwnCall(item, options.name)),
        ...(usage.length === 0 ? {} : { usage: usage.reduce(sumUsage) }),
      },
      options,
    )
  },
  replayed(messages, { store }) {
    const isGone = (item: Json): boolean =>
      isObject(item) && item.type === 'reasoning' && typeof item.encrypted_content !== 'string'
    // Reasoning that the provider neither keeps nor seals cannot come back, nor the ids of what was said with it.
    if (store !== false || !messages.some(isGone)) return messages
    return messages.filter((item) => !isGone(item)).map(withoutId)
  },
  resent: (messages, name) => messages.filter((item) => !isObject(item) || !isOwnCall(item, name)),
  clean,
  splicer: responsesSplicer,
  noChoice: 'none',
  bindsTools: false,
}

function withoutId(item: Json): Json {
  if (!isObject(item)) return item
  const { id: _id, ...rest } = item
  return rest
}

/** The same in the text, of which every other byte stays. */
function clean(text: string, { name, isOpen }: SpliceOptions): string {
  // The output of an answer that failed is not looked at before.
  const output = withoutElements(text, 'output', (item) => isOwnCall(item, name))
  const kept = withoutElements(output, 'tools', (tool) => isNamed(tool, name))
  const choice = isOpen ? undefined : outlineOf(kept).fields.get('tool_choice')
  if (choice === undefined) return kept
  return kept.slice(0, choice.start) + JSON.stringify(defaultChoice) + kept.slice(choice.end)
}

function withoutElements(
  text: string,
  key: string,
  isLeftOut: (element: JsonObject) => boolean,
): string {
  const range = outlineOf(text).fields.get(key)
  if (range === undefined || text.charAt(range.start) !== '[') return text
  const elements = elementsOf(text, range).map(({ start, end }) => text.slice(start, end))
  const kept = elements.filter((element) => !isLeftOut(parseObject(element) ?? {}))
  if (kept.length === elements.length) return text
  return `${text.slice(0, range.start)}[${kept.join(',')}]${text.slice(range.end)}`
}
