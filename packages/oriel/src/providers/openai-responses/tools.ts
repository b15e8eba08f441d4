// Tools of the Responses: calls and results are items; answers repeat the list of tools.

import { isJsonObject as isObject, type Json } from '../../core/log/json.ts'
import type { ToolFormat } from '../provider.ts'
import { sumUsage } from '../splice.ts'
import {
  defaultChoice,
  isCall,
  isNamed,
  isOwnCall,
  outputOf,
  responsesSplicer,
  withoutTool,
} from './splice.ts'

export const tools: ToolFormat = {
  listKey: 'tools',
  choiceKey: 'tool_choice',
  // Here tools are strict unless they say otherwise, and a strict one has no optional arguments.
  define: (tool) => ({ type: 'function', ...tool, strict: false }),
  names: (list) => list.map((tool) => (isObject(tool) ? String(tool.name ?? '') : '')),
  definitions: (list) =>
    list.map((tool) => {
      const { type, name, description, parameters } = isObject(tool) ? tool : {}
      return {
        ...(type === 'function' && typeof name === 'string' ? { name } : {}),
        description: typeof description === 'string' ? description : '',
        parameters: parameters ?? null,
        element: tool,
      }
    }),
  chosen({ tool_choice: choice }) {
    if (!isObject(choice)) return []
    const named = Array.isArray(choice.tools) ? (choice.tools as readonly Json[]) : [choice]
    return named.map((one) => (isObject(one) ? String(one.name ?? '') : ''))
  },
  eligibility({ text, background, tool_choice: choice, tools: list }) {
    const isAbsent = !Array.isArray(list) || list.length === 0
    if (isAbsent && (isObject(choice) || choice === 'required')) return 'closed'
    if (background === true) return 'single'
    const format = isObject(text) && isObject(text.format) ? text.format : {}
    if (format.type !== undefined && format.type !== 'text') return 'structured'
    return choice === 'required' ? 'forced' : 'open'
  },
  sort(messages, names) {
    const calls = messages.filter(isObject).filter(isCall)
    const own = calls.filter((call) => isOwnCall(call, names))
    return {
      own: own.map((call) => ({
        ...{ id: String(call.call_id), name: String(call.name), input: call.arguments ?? '' },
      })),
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
        output: [
          ...(options.begun ?? []),
          ...answers.flatMap(outputOf).filter((item) => !isOwnCall(item, options.names)),
        ],
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
  resent: (messages, names) =>
    messages.filter((item) => !isObject(item) || !isOwnCall(item, names)),
  // The output of an answer that failed is not looked at before.
  echoes: ({ names, isOpen, tools: own, echo = {} }) => ({
    lists: {
      output: (item) => isOwnCall(item, names),
      tools: (tool) => isNamed(tool, names),
    },
    values: {
      ...(own === undefined ? {} : { tools: own }),
      ...(isOpen ? {} : { tool_choice: defaultChoice }),
      ...echo,
    },
  }),
  splicer: responsesSplicer,
  noChoice: 'none',
  bindsReasoning: false,
}

function withoutId(item: Json): Json {
  if (!isObject(item)) return item
  const { id: _id, ...rest } = item
  return rest
}
