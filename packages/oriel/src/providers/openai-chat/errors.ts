// Errors of OpenAI's APIs, also of the Responses: one shape.

import { isObject } from '../../core/log/json.ts'
import type { ErrorFormat, ProviderError } from '../provider.ts'

export const errors: ErrorFormat = {
  body,
  tooLong: ({ tokens, window }) => ({
    status: 400,
    message: `This model's maximum context length is ${window} tokens. However, your messages resulted in ${tokens} tokens. Please reduce the length of the messages.`,
    path: 'messages',
    code: 'context_length_exceeded',
  }),
  contextLength: [
    /maximum context length is (?<limit>[\d,]+) tokens\D{1,60}[\d,]+ tokens \((?<sent>[\d,]+) (?:in|of) [a-z ]{1,20}[,;](?: [\d,]+ of tool input,)? (?<output>[\d,]+) /,
    /maximum context length is (?<limit>[\d,]+) tokens\D{1,60}(?<sent>[\d,]+) tokens/,
    /(?:input|prompt|messages?|request)[^.]{0,60} exceeds? (?:the )?(?:model'?s )?maximum context length (?:of )?\(?(?<limit>[\d,]+)/,
    /maximum context length (?:is|of) (?<limit>[\d,]+)/,
    /exceed the configured limit of (?<limit>[\d,]+) tokens(?:\D{1,60}(?<sent>[\d,]+) tokens)?/,
    /context[_ ]length[_ ]exceeded/,
    /reduce the length of the (?:messages|prompt|input)/,
  ],
  opening(event) {
    if (!isObject(event)) return 'content'
    const { error, choices } = event
    if (error !== undefined && error !== null) return { error }
    return Array.isArray(choices) && choices.every(isEmptyChoice) ? 'opening' : 'content'
  },
}

/** A first piece that names the role and says nothing yet. */
function isEmptyChoice(choice: unknown): boolean {
  const { delta = null, finish_reason: finish = null } = isObject(choice) ? choice : {}
  if (finish !== null || !isObject(delta)) return false
  return Object.entries(delta).every(
    ([name, value]) => name === 'role' || value === null || value === '',
  )
}

export function body({
  status,
  message,
  type,
  code,
  path,
}: ProviderError): ReturnType<ErrorFormat['body']> {
  const error = { message, type: type ?? typeOf(status), param: path ?? null, code: code ?? null }
  return { error }
}

function typeOf(status: number): string {
  if (status === 401) return 'authentication_error'
  if (status === 429) return 'rate_limit_error'
  return status >= 500 ? 'server_error' : 'invalid_request_error'
}
