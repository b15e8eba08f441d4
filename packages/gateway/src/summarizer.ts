// Summaries by a model of the operator's choice: one call without tools, and the models to ask when it fails.

import type { Summarize, SummaryJob } from 'oriel'
import { parseObject } from 'oriel/providers'
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
): ReturnType<Summarize> {
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
  const text = bytes === undefined ? '' : Buffer.from(bytes).toString()
  if (answer.status !== 200) throw refusalOf(answer.status, text)
  const [choice] = listOf(parseObject(text)?.choices)
  if (isObject(choice) && isObject(choice.message)) {
    const { content } = choice.message
    const reason = choice.finish_reason
    if (typeof content === 'string') {
      return { summary: content, ...(typeof reason === 'string' ? { finishReason: reason } : {}) }
    }
  }
  throw new Error('The summarizer answered without text.')
}

/** With the status and the provider's words: a refusal of what is too long is asked again in smaller parts. */
function refusalOf(status: number, text: string): Error {
  const error = parseObject(text)?.error
  const message =
    isObject(error) && typeof error.message === 'string' ? error.message : 'It refused.'
  return Object.assign(new Error(message), { status })
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
