// Errors of the Responses.

import { isObject } from '../../core/log/json.ts'
import { body } from '../openai-chat/errors.ts'
import type { ErrorFormat } from '../provider.ts'

const openings = new Set(['response.created', 'response.queued', 'response.in_progress'])

export const errors: ErrorFormat = {
  body,
  tooLong: () => ({
    status: 400,
    message:
      'Your input exceeds the context window of this model. Please adjust your input and try again.',
    path: 'input',
    code: 'context_length_exceeded',
  }),
  contextLength: [
    /exceed(?:s|ed)?.{0,20}context window/,
    /context window.{0,40}(?:exceeded|full|too small)/,
  ],
  opening(event) {
    if (!isObject(event)) return 'content'
    const { type, response } = event
    if (type === 'error') return { error: event }
    if (type === 'response.failed') return { error: (isObject(response) && response.error) || null }
    return openings.has(String(type)) ? 'opening' : 'content'
  },
}
