// Tools of Chat Completions: calls in the assistant's message, a message for each result.

import { isJsonObject as isObject, type Json, type JsonObject } from '../../core/log/json.ts'
import { isGiven, type OwnCall, type ToolFormat } from '../provider.ts'
import { gapBetween, type SpliceOptions, sumUsage } from '../splice.ts'
import { chatSplicer, cutReasons } from './splice.ts'

export const tools: ToolFormat = {
  listKey: 'tools',
  choiceKey: 'tool_choice',
  define: (tool) => ({ type: 'function', function: { ...tool } }),
  names: (list) => list.map((tool) => nameOf(functionOf(tool))),
  definitions: (list) =>
    list.map((tool) => {
      const { description, parameters } = functionOf(tool)
      const isFunction = isObject(tool) && isObject(tool.function)
      return {
        ...(isFunction ? { name: nameOf(functionOf(tool)) } : {}),
        description: typeof description === 'string' ? description : '',
        parameters: parameters ?? null,
        element: tool,
      }
    }),
  chosen({ tool_choice: choice }) {
    if (!isObject(choice)) return []
    const allowed = isObject(choice.allowed_tools) ? choice.allowed_tools.tools : undefined
    const named = Array.isArray(allowed) ? (allowed as readonly Json[]) : [choice]
    return named.map((one) => nameOf(functionOf(one)))
  },
  eligibility(body) {
    const { n, functions, response_format: format, tool_choice: choice, modalities } = body
    // With either of them the provider takes no tools.
    if (isGiven(functions) || isGiven(body.prediction)) return 'closed'
    // Without tools these are refused, and the client is to hear that.
    const isAbsent = !Array.isArray(body.tools) || body.tools.length === 0
    if (isAbsent && [choice, body.parallel_tool_calls].some(isGiven)) return 'closed'
    if (typeof n === 'number' && n > 1) return 'single'
    if (Array.isArray(modalities) && modalities.includes('audio')) return 'single'
    if (isObject(format) && format.type !== 'text') return 'structured'
    return choice === 'required' ? 'forced' : 'open'
  },
  sort(messages, names) {
    const calls = messages.flatMap(callsOf)
    const own = calls.filter((call) => isOwn(call, names))
    return { own: own.map(ownCall), hasOthers: own.length < calls.length }
  },
  isCut: (answer) => cutReasons.has(choiceOf(answer).finish_reason),
  results: (results) =>
    results.map(({ id, text }) => ({ role: 'tool', tool_call_id: id, content: text })),
  join,
  splicer: chatSplicer,
  noChoice: 'none',
  bindsReasoning: false,
}

function join(answers: readonly JsonObject[], { names }: SpliceOptions): JsonObject {
  const first = answers[0] ?? {}
  const last = answers.at(-1) ?? {}
  const choices = answers.map(choiceOf)
  const messages = choices.map(({ message }) => (isObject(message) ? message : {}))
  const calls = callsOf(messages.at(-1) ?? {}).filter((call) => !isOwn(call, names))
  const choice = choices.at(-1) ?? {}
  const { tool_calls: _calls, ...joined } = messages.reduce(joinMessages)
  // Without a text and without calls it could not be sent back.
  const isBare = calls.length === 0 && !isGiven(joined.content)
  const message = {
    ...joined,
    ...(isBare ? { content: '' } : {}),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  }
  const isStripped = choice.finish_reason === 'tool_calls' && calls.length === 0
  const logprobs = choices.map((one) => one.logprobs).filter(isObject)
  const usage = answers.map((one) => one.usage).filter(isObject)
  return {
    ...last,
    ...('id' in first ? { id: first.id as Json } : {}),
    ...('created' in first ? { created: first.created as Json } : {}),
    choices: [
      {
        ...choice,
        message,
        ...(logprobs.length < 2 ? {} : { logprobs: logprobs.reduce(sumUsage) }),
        ...(isStripped ? { finish_reason: 'stop' } : {}),
      },
    ],
    ...(usage.length === 0 ? {} : { usage: usage.reduce(sumUsage) }),
  }
}

/** Texts and lists grow; of anything else the newest is kept. */
function joinMessages(before: JsonObject, after: JsonObject): JsonObject {
  const joined: Record<string, Json> = { ...before }
  for (const [key, value] of Object.entries(after)) {
    const known = joined[key]
    if (value === null && known !== undefined) continue
    if (key === 'role' || typeof known !== 'string' || typeof value !== 'string') {
      const isList = Array.isArray(known) && Array.isArray(value)
      joined[key] = isList ? [...known, ...value] : value
    } else joined[key] = known + gapBetween(known, value) + value
  }
  return joined
}

function choiceOf({ choices }: JsonObject): JsonObject {
  const [choice] = Array.isArray(choices) ? (choices as readonly Json[]) : []
  return isObject(choice) ? choice : {}
}

function callsOf(message: Json): readonly JsonObject[] {
  if (!isObject(message) || !Array.isArray(message.tool_calls)) return []
  return message.tool_calls.filter(isObject)
}

function functionOf(tool: Json): JsonObject {
  if (!isObject(tool)) return {}
  if (isObject(tool.function)) return tool.function
  return isObject(tool.custom) ? tool.custom : {}
}

function nameOf({ name }: JsonObject): string {
  return typeof name === 'string' ? name : ''
}

function isOwn(call: JsonObject, names: readonly string[]): boolean {
  return names.includes(nameOf(functionOf(call)))
}

function ownCall(call: JsonObject): OwnCall {
  const { id } = call
  const called = functionOf(call)
  const input = called.arguments ?? ''
  return { id: typeof id === 'string' ? id : '', name: nameOf(called), input }
}
