// Where a request of generateContent holds what. The model, and whether the answer is a stream, stand in the path.

import { isJsonObject, type Json, type JsonObject } from '../../core/log/json.ts'
import { frameOf, isGiven, listAt, type RequestFormat } from '../provider.ts'

const versions = ['v1beta', 'v1'] as const

export const request: RequestFormat = {
  paths: versions.flatMap((version) => [
    `/${version}/models/{model}:generateContent`,
    `/${version}/models/{model}:streamGenerateContent`,
  ]),
  keyHeader: 'x-goog-api-key',
  list: (body) => listAt(body, 'contents') ?? [],
  // With cached content the provider holds the beginning of the conversation.
  history: (body) => (isGiven(body.cachedContent) ? undefined : listAt(body, 'contents')),
  frame: (body) =>
    frameOf(body, { messages: 'contents', system: 'systemInstruction', tools: 'tools' }),
  write: (body, { messages, system }) => ({
    ...body,
    contents: messages,
    ...(system === undefined || isGiven(body.systemInstruction)
      ? {}
      : { systemInstruction: system }),
  }),
  recognizes: (body) => listAt(body, 'contents') !== undefined,
  isStreaming: (_, path) => path.endsWith(':streamGenerateContent'),
  maxTokens: (body) => configOf(body).maxOutputTokens,
  wantsReasoning: (body) => {
    const { thinkingConfig: thinking } = configOf(body)
    return isJsonObject(thinking) && thinking.includeThoughts === true
  },
  isAmbiguous: (body) => (configOf(body).candidateCount ?? 1) !== 1,
  joinSystem: (own, added) => ({
    ...(isJsonObject(own) ? own : {}),
    parts: [...partsOf(own), ...partsOf(added)],
  }),
}

export function configOf({ generationConfig: config }: JsonObject): JsonObject {
  return isJsonObject(config) ? config : {}
}

function partsOf(content: Json | undefined): readonly Json[] {
  if (typeof content === 'string') return [{ text: content }]
  return isJsonObject(content) && Array.isArray(content.parts) ? content.parts : []
}
