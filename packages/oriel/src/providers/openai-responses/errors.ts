// Errors of the Responses.

import { body } from '../openai-chat/errors.ts'
import type { ErrorFormat } from '../provider.ts'

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
}
