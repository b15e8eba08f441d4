// Errors of Anthropic's Messages.

import { isObject } from '../../core/log/json.ts'
import type { ErrorFormat } from '../provider.ts'

export const errors: ErrorFormat = {
  body: ({ status, message, type }) => ({
    type: 'error',
    error: { type: type ?? typeOf(status), message },
  }),
  tooLong: ({ tokens, window }) => ({
    status: 400,
    message: `prompt is too long: ${tokens} tokens > ${window} maximum`,
  }),
  contextLength: [
    /prompt is too long: (?<sent>[\d,]+) tokens > (?<limit>[\d,]+) maximum/,
    /exceed context limit: (?<sent>[\d,]+) \+ (?<output>[\d,]+) > (?<limit>[\d,]+)/,
    /prompt is too long/,
    /request_too_large/,
    /model_context_window_exceeded/,
  ],
  opening(event) {
    if (!isObject(event)) return 'content'
    if (event.type === 'error') return { error: event.error ?? null }
    return event.type === 'message_start' || event.type === 'ping' ? 'opening' : 'content'
  },
}

const types: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
}

function typeOf(status: number): string {
  return types[status] ?? (status >= 500 ? 'api_error' : 'invalid_request_error')
}
