// Summaries by a model of the operator's choice: one call without tools, and the models to ask when it fails.

import type { Summarize, SummaryJob } from 'oriel'
import { parseObject } from './answers/collector.ts'
import type { SummarizerOptions } from './options.ts'
import { readWhole } from './relay.ts'
import { isObject } from './rewrite.ts'
import type { Upstream } from './upstream.ts'

const maxAnswerBytes = 1024 * 1024
/** Characters for each token asked for; generous, since the job checks the length itself. */
const charsPerToken = 3

export function createSummarize(
  { model, fallbacks = [] }: SummarizerOptions,
  upstream: Upstream,
  via: string,
): Summarize {
  return async (job) => {
    let failure: unknown
    for (const name of [model, ...fallbacks]) {
      try {
        return await ask(job, name, { upstream, via })
      } catch (error) {
        failure = error
        if (job.signal.aborted) break
      }
    }
    throw failure
  }
}

async function ask(
  job: SummaryJob,
  model: string,
  { upstream, via }: { readonly upstream: Upstream; readonly via: string },
): Promise<string> {
  const body = JSON.stringify({
    model,
    max_tokens: Math.ceil(job.targetChars / charsPerToken) + 200,
    messages: [
      { role: 'system', content: job.prompt },
      { role: 'user', content: job.text },
    ],
  })
  const answer = await upstream.send({
    method: 'POST',
    path: '/v1/chat/completions',
    headers: [
      ['content-type', 'application/json'],
      ['via', via],
    ],
    body,
    signal: job.signal,
  })
  const bytes = await readWhole(answer, maxAnswerBytes)
  if (answer.status !== 200 || bytes === undefined)
    throw new Error(`The summarizer answered ${answer.status}.`)
  const [choice] = listOf(parseObject(Buffer.from(bytes).toString())?.choices)
  const message = isObject(choice) ? choice.message : undefined
  if (isObject(message) && typeof message.content === 'string') return message.content
  throw new Error('The summarizer answered without text.')
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
