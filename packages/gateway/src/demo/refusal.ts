// How providers refuse: status and body in each one's own shape and words.

import type { JsonObject, WireFormat } from 'oriel'

export interface Refusal {
  readonly status: number
  readonly body: JsonObject
}

export interface RefusalFields {
  readonly type: string
  readonly message: string
  /** OpenAI only. */
  readonly param?: string
  /** OpenAI only. */
  readonly code?: string
}

/** An error body as the format's provider writes it. */
export function errorBody(format: WireFormat, fields: RefusalFields): JsonObject {
  const { type, message, param = null, code = null } = fields
  if (format === 'anthropic') return { type: 'error', error: { type, message } }
  return { error: { message, type, param, code } }
}

/** A request that breaks a rule: 400. */
export function invalidRequest(
  format: WireFormat,
  { message, param, code }: Omit<RefusalFields, 'type'>,
): Refusal {
  const fields = {
    type: 'invalid_request_error',
    message,
    ...(param === undefined ? {} : { param }),
    ...(code === undefined ? {} : { code }),
  }
  return { status: 400, body: errorBody(format, fields) }
}

/** A request that is longer than the model's window: 400 in the provider's words. */
export function tooLong(
  format: WireFormat,
  { tokens, window }: { readonly tokens: number; readonly window: number },
): Refusal {
  const code = 'context_length_exceeded'
  switch (format) {
    case 'openai-chat':
      return invalidRequest(format, {
        message: `This model's maximum context length is ${window} tokens. However, your messages resulted in ${tokens} tokens. Please reduce the length of the messages.`,
        param: 'messages',
        code,
      })
    case 'openai-responses':
      return invalidRequest(format, {
        message:
          'Your input exceeds the context window of this model. Please adjust your input and try again.',
        param: 'input',
        code,
      })
    case 'anthropic':
      return invalidRequest(format, {
        message: `prompt is too long: ${tokens} tokens > ${window} maximum`,
      })
  }
}
