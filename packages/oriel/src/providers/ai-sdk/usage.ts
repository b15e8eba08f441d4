// Token counts of the AI SDK: of a result, where the input includes what was cached, and of a model, where it comes in parts.

import { isObject, type JsonObject } from '../../core/log/json.ts'
import { count, inclusiveUsage, type Usage } from '../usage.ts'

export function readUsage(sample: JsonObject): Usage | undefined {
  const { inputTokens: input, outputTokens: output, inputTokenDetails: details } = sample
  if (isObject(input)) return modelUsage(input, output)
  if (typeof input !== 'number') return undefined
  const { cacheReadTokens, cacheWriteTokens: cacheWrite } = isObject(details) ? details : {}
  const cacheRead = cacheReadTokens ?? sample.cachedInputTokens
  return inclusiveUsage({ input, cacheRead, cacheWrite, output })
}

/** The input of a language model in parts, each of which may be missing. */
function modelUsage(input: Readonly<Record<string, unknown>>, output: unknown): Usage | undefined {
  const { total, noCache } = input
  if (typeof total !== 'number' && typeof noCache !== 'number') return undefined
  const cacheRead = count(input.cacheRead)
  const cacheWrite = count(input.cacheWrite)
  const uncached =
    typeof noCache === 'number' ? count(noCache) : count(count(total) - cacheRead - cacheWrite)
  return {
    uncached,
    cacheRead,
    cacheWrite,
    output: count(isObject(output) ? output.total : output),
  }
}
