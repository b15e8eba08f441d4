// Session information of a request outside its messages.

import type { RecordedRequest } from '../fixture.ts'
import type { Body } from '../server.ts'

/** Headers that coding agents put a session's id in; an agent id beside it names a sub-agent of that session. */
const sessionHeaders = [
  'x-session-id',
  'x-claude-code-session-id',
  'session-id',
  'session_id',
  'x-session-affinity',
]

/** The session's id, if the client sends one. */
export function sessionOf({ headers, body }: RecordedRequest): string | undefined {
  const header = sessionHeaders.map((name) => headers[name]).find((value) => value !== undefined)
  const agent = headers['x-claude-code-agent-id']
  if (header !== undefined) return agent === undefined ? header : `${header}/${agent}`
  const cacheKey = body.prompt_cache_key
  return typeof cacheKey === 'string' ? cacheKey : undefined
}

/** The answer that the request continues, where the provider holds the history. */
export function previousReplyOf(body: Body): string | undefined {
  const { previous_response_id: response, thread } = body
  if (typeof response === 'string') return response
  const message = (thread as { previous_message_id?: unknown } | undefined)?.previous_message_id
  return typeof message === 'string' ? message : undefined
}

/** True if the client marks the request as a retry. */
export function isMarkedRetry({ headers }: RecordedRequest): boolean {
  return Number(headers['x-stainless-retry-count'] ?? 0) > 0
}
