// Tools of Anthropic's Messages: calls and results are blocks of messages.

import { isJsonObject as isObject, type Json, type JsonObject } from '../../core/log/json.ts'
import { isGiven, type ToolFormat } from '../provider.ts'
import { sumUsage } from '../splice.ts'
import { withIteration } from './compaction.ts'
import { anthropicSplicer } from './splice.ts'

export const tools: ToolFormat = {
  listKey: 'tools',
  choiceKey: 'tool_choice',
  define: ({ name, description, parameters }) => ({ name, description, input_schema: parameters }),
  names: (list) => list.map((tool) => (isObject(tool) ? String(tool.name ?? '') : '')),
  definitions: (list) =>
    list.map((tool) => {
      const { type = 'custom', name, description, input_schema: parameters } = asObject(tool)
      return {
        // Tools of other types are the provider's own, each with its schema.
        ...(type === 'custom' && typeof name === 'string' ? { name } : {}),
        description: typeof description === 'string' ? description : '',
        parameters: parameters ?? null,
        element: tool,
      }
    }),
  chosen: ({ tool_choice: choice }) =>
    isObject(choice) && typeof choice.name === 'string' ? [choice.name] : [],
  eligibility(body) {
    const { tool_choice: choice, output_config: output, output_format: format } = body
    const isAbsent = !Array.isArray(body.tools) || body.tools.length === 0
    // Without tools a choice is refused, and the client is to hear that.
    if (isAbsent && isGiven(choice)) return 'closed'
    if (isGiven(format) || (isObject(output) && isGiven(output.format))) return 'structured'
    return isObject(choice) && choice.type === 'any' ? 'forced' : 'open'
  },
  sort(messages, names) {
    const calls = messages.flatMap(blocksOf).filter(isCall)
    const own = calls.filter((call) => isOwn(call, names))
    return {
      own: own.map(({ id, name, input }) => ({
        ...{ id: String(id), name: String(name), input: input ?? {} },
      })),
      hasOthers: own.length < calls.length,
    }
  },
  isCut: ({ stop_reason: reason }) => reason !== 'tool_use' && reason !== 'end_turn',
  results: (results) => [
    {
      role: 'user',
      content: results.map(({ id, text }) => ({
        type: 'tool_result',
        tool_use_id: id,
        content: text,
      })),
    },
  ],
  join(answers, { names, isQuiet, added, begun = [] }) {
    const last = answers.at(-1) ?? {}
    const content = answers.flatMap((answer) =>
      blocksOf(answer).filter(
        (block) => !isOwn(block, names) && !(isQuiet && block.type === 'text' && answer !== last),
      ),
    )
    const usage = answers.map((one) => one.usage).filter(isObject)
    const counted = begun.length === 0 ? (sum: JsonObject) => sum : withIteration
    const isStripped = last.stop_reason === 'tool_use' && !content.some(isCall)
    return {
      ...last,
      ...(answers[0]?.id === undefined ? {} : { id: answers[0].id }),
      content: [...begun, ...content],
      ...(isStripped ? { stop_reason: 'end_turn' } : {}),
      ...(usage.length === 0 ? {} : { usage: counted(usage.reduce(sumUsage)) }),
      ...added,
    }
  },
  splicer: anthropicSplicer,
  noChoice: { type: 'none' },
  bindsReasoning: true,
  isBound: ({ messages }) =>
    Array.isArray(messages) &&
    messages.flatMap(blocksOf).some(({ type }) => thoughts.has(type as string)),
  forcing({ tools: list, tool_choice: choice, thinking }) {
    const [tool, ...others] = Array.isArray(list) ? (list as readonly Json[]) : []
    if (isObject(tool) && typeof tool.name === 'string' && others.length === 0) {
      return { choice: { ...(isObject(choice) ? choice : {}), type: 'tool', name: tool.name } }
    }
    // With thinking on, a tool loop must keep it; but then the provider lets nobody force a call.
    const isThinking = isObject(thinking) && thinking.type !== 'disabled'
    return isThinking ? undefined : 'without-reasoning'
  },
}

const thoughts: ReadonlySet<string> = new Set(['thinking', 'redacted_thinking'])

function asObject(value: Json): JsonObject {
  return isObject(value) ? value : {}
}

function blocksOf(message: Json): readonly JsonObject[] {
  if (!isObject(message) || !Array.isArray(message.content)) return []
  return message.content.filter(isObject)
}

function isCall(block: JsonObject): boolean {
  return block.type === 'tool_use'
}

function isOwn(block: JsonObject, names: readonly string[]): boolean {
  return isCall(block) && names.includes(String(block.name))
}
