// Tools of generateContent: declarations of functions in tools, calls and responses as parts of contents.

import { isJsonObject as isObject, type Json, type JsonObject } from '../../core/log/json.ts'
import { idByName, isIdByName } from '../../core/state/exchange.ts'
import { isGiven, type ListedTool, type OwnCall, type ToolFormat } from '../provider.ts'
import { gapBetween, sumUsage } from '../splice.ts'
import { asObject, hasField, namedOf } from './parts.ts'
import { configOf } from './request.ts'
import { geminiSplicer, isOwnCall, wordsOf } from './splice.ts'

export const tools: ToolFormat = {
  listKey: 'tools',
  choiceKey: 'toolConfig',
  define: ({ name, description, parameters }) => ({
    functionDeclarations: [{ name, description, parametersJsonSchema: parameters }],
  }),
  names: (list) => list.flatMap(declarationsOf).map(({ name }) => String(name ?? '')),
  definitions: (list) =>
    list.flatMap((tool): readonly ListedTool[] => {
      const declared = declarationsOf(tool)
      if (declared.length === 0) return [{ description: '', parameters: null, element: tool }]
      return declared.map((declaration) => {
        const { name, description, parameters, parametersJsonSchema = parameters } = declaration
        return {
          ...(typeof name === 'string' ? { name } : {}),
          description: typeof description === 'string' ? description : '',
          parameters: parametersJsonSchema ?? null,
          element: { functionDeclarations: [declaration] },
        }
      })
    }),
  chosen(body) {
    const { functionCallingConfig } = asObject(body.toolConfig)
    const { allowedFunctionNames: names } = asObject(functionCallingConfig)
    return Array.isArray(names) ? names.map(String) : []
  },
  eligibility(body) {
    const config = configOf(body)
    const list = Array.isArray(body.tools) ? body.tools : []
    const { functionCallingConfig } = asObject(body.toolConfig)
    const { mode } = asObject(functionCallingConfig)
    if ((config.candidateCount ?? 1) !== 1) return 'single'
    // Beside its own tools, and for answers that are no plain text, most models take no functions.
    const shaped = ['responseSchema', 'responseJsonSchema', 'responseModalities', 'speechConfig']
    const isPlain = (config.responseMimeType ?? 'text/plain') === 'text/plain'
    if (!isPlain || shaped.some((key) => isGiven(config[key]))) return 'closed'
    if (list.some((tool) => !isObject(tool) || !hasField(tool, 'functionDeclarations'))) {
      return 'closed'
    }
    if (list.length === 0 && isGiven(body.toolConfig)) return 'closed'
    return mode === 'ANY' ? 'forced' : 'open'
  },
  sort(messages, names) {
    const calls = messages.flatMap(partsOf).filter((part) => hasField(part, 'functionCall'))
    const own = calls.filter((part) => isOwnCall(part, names))
    return { own: own.map(ownCall), hasOthers: own.length < calls.length }
  },
  isCut: (answer) => candidateOf(answer).finishReason !== 'STOP',
  results: (results) => [
    {
      role: 'user',
      parts: results.map(({ id, name, text }) => ({
        functionResponse: {
          ...(isIdByName(id) ? {} : { id }),
          ...{ name, response: { output: text } },
        },
      })),
    },
  ],
  join(answers, { names }) {
    const last = answers.at(-1) ?? {}
    const candidate = candidateOf(last)
    const parts: JsonObject[] = []
    for (const answer of answers) {
      const said = wordsOf(parts.findLast((part) => wordsOf(part) !== '') ?? {})
      const shown = partsOf(candidateOf(answer).content ?? null).filter(
        (part) => !isOwnCall(part, names),
      )
      const first = shown.findIndex((part) => wordsOf(part) !== '')
      const apart = (part: JsonObject, at: number): JsonObject => {
        const gap = at === first ? gapBetween(said, wordsOf(part)) : ''
        return gap === '' ? part : { ...part, text: gap + wordsOf(part) }
      }
      parts.push(...shown.map(apart))
    }
    const usage = answers.map((one) => one.usageMetadata).filter(isObject)
    const content = {
      role: 'model',
      ...asObject(candidate.content),
      // The official client takes an answer without parts for none.
      parts: parts.length === 0 ? [{ text: '' }] : parts,
    }
    return {
      ...last,
      ...(answers[0]?.responseId === undefined ? {} : { responseId: answers[0].responseId }),
      candidates: [{ ...candidate, content }],
      ...(usage.length === 0 ? {} : { usageMetadata: usage.reduce(sumUsage) }),
    }
  },
  splicer: geminiSplicer,
  noChoice: { functionCallingConfig: { mode: 'NONE' } },
  bindsReasoning: false,
}

/** Calls without ids are known by their order. */
function ownCall(part: JsonObject, index: number): OwnCall {
  const call = asObject(part.functionCall)
  const { id = idByName(String(call.name), index + 1) } = namedOf(call)
  return { id, name: String(call.name ?? ''), input: call.args ?? {} }
}

function candidateOf({ candidates }: JsonObject): JsonObject {
  const [candidate] = Array.isArray(candidates) ? (candidates as readonly Json[]) : []
  return asObject(candidate)
}

function partsOf(content: Json): readonly JsonObject[] {
  if (!isObject(content) || !Array.isArray(content.parts)) return []
  return content.parts.filter(isObject)
}

function declarationsOf(tool: Json): readonly JsonObject[] {
  const list = isObject(tool) ? tool.functionDeclarations : undefined
  return Array.isArray(list) ? list.filter(isObject) : []
}
