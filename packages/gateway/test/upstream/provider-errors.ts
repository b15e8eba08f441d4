// The providers' own error texts, types and headers by status.

import type { JsonObject, WireFormat } from 'oriel'
import { providers } from 'oriel/providers'

interface ErrorText {
  readonly type: string
  readonly message: string
  readonly code?: string
}

const openai: Readonly<Record<number, ErrorText>> = {
  400: { type: 'invalid_request_error', message: 'Invalid value for parameter.' },
  401: {
    type: 'invalid_request_error',
    message: 'Incorrect API key provided: sk-*****. You can find your API key at the dashboard.',
    code: 'invalid_api_key',
  },
  403: { type: 'permission_error', message: 'You are not allowed to sample from this model' },
  404: {
    type: 'invalid_request_error',
    message: 'The model `nothing` does not exist or you do not have access to it.',
    code: 'model_not_found',
  },
  408: { type: 'timeout', message: 'Request timed out.' },
  409: { type: 'conflict', message: 'The resource was updated by another request.' },
  413: { type: 'invalid_request_error', message: 'Request body too large.' },
  429: {
    type: 'tokens',
    message:
      'Rate limit reached for gpt-test in organization org-test on tokens per min (TPM): Limit 30000, Used 29000, Requested 5000. Please try again in 8s.',
    code: 'rate_limit_exceeded',
  },
  500: {
    type: 'server_error',
    message:
      'The server had an error while processing your request. Sorry about that! You can retry your request.',
  },
  502: { type: 'server_error', message: 'Bad gateway.' },
  503: {
    type: 'service_unavailable_error',
    message: 'The engine is currently overloaded, please try again later',
  },
  529: { type: 'server_error', message: 'Overloaded' },
}

const anthropic: Readonly<Record<number, ErrorText>> = {
  400: { type: 'invalid_request_error', message: 'Invalid value for parameter.' },
  401: { type: 'authentication_error', message: 'invalid x-api-key' },
  403: {
    type: 'permission_error',
    message: 'Your API key does not have permission to use the specified resource.',
  },
  404: { type: 'not_found_error', message: 'model: nothing' },
  408: { type: 'timeout_error', message: 'Request timed out' },
  409: { type: 'invalid_request_error', message: 'Conflict' },
  413: { type: 'request_too_large', message: 'Request exceeds the maximum size' },
  429: {
    type: 'rate_limit_error',
    message:
      "This request would exceed your organization's rate limit of 30,000 input tokens per minute.",
  },
  500: { type: 'api_error', message: 'Internal server error' },
  502: { type: 'api_error', message: 'Bad gateway' },
  503: { type: 'api_error', message: 'Service unavailable' },
  529: { type: 'overloaded_error', message: 'Overloaded' },
}

/** The body that the provider of a format sends with a status. */
export function providerError(format: WireFormat, status: number, message?: string): JsonObject {
  const known = (format === 'anthropic' ? anthropic : openai)[status]
  if (known === undefined) throw new Error(`No provider error is written down for ${status}`)
  const said = message === undefined ? known : { ...known, message }
  return providers[format].errors.body({ status, ...said })
}

/** The error that breaks a stream that has begun: event name and data. */
export function streamError(format: WireFormat): { event?: string; data: JsonObject } {
  switch (format) {
    case 'openai-chat':
      return { data: providerError(format, 500) }
    case 'openai-responses':
      return {
        event: 'error',
        data: {
          ...{ type: 'error', code: 'server_error', message: openai[500]?.message ?? '' },
          ...{ param: null, sequence_number: 99 },
        },
      }
    case 'anthropic':
      return { event: 'error', data: providerError(format, 529) }
    case 'gemini':
      return { data: providerError(format, 503) }
  }
}

/** What the providers send with every answer, and what clients and people rely on. */
export function providerHeaders(format: WireFormat, requestId: string): Record<string, string> {
  if (format === 'anthropic') {
    return {
      'request-id': requestId,
      'anthropic-organization-id': 'org-test',
      'anthropic-ratelimit-requests-limit': '4000',
      'anthropic-ratelimit-requests-remaining': '3999',
      'anthropic-ratelimit-tokens-remaining': '399000',
    }
  }
  return {
    'x-request-id': requestId,
    'openai-organization': 'org-test',
    'openai-processing-ms': '12',
    'openai-version': '2020-10-01',
    'x-ratelimit-limit-requests': '10000',
    'x-ratelimit-remaining-requests': '9999',
    'x-ratelimit-reset-tokens': '6ms',
  }
}
