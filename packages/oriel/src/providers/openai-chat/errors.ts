// Errors of OpenAI's APIs, also of the Responses: one shape.

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
    /context[_ ]length[_ ]exceeded/,
    /maximum context length/,
    /reduce the length of the (?:messages|prompt|input)/,
  ],
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
