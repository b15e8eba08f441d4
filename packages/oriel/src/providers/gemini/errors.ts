// Errors of Google's APIs: a status in a word beside the code, and details by type.

import { isObject, type JsonObject } from '../../core/log/json.ts'
import type { ErrorFormat, ProviderError } from '../provider.ts'

export const errors: ErrorFormat = {
  body: (error) => ({ error: errorOf(error) }),
  tooLong: ({ tokens, window }) => ({
    status: 400,
    message: `The input token count (${tokens}) exceeds the maximum number of tokens allowed (${window}).`,
  }),
  contextLength: [
    /input token count (?:\((?<sent>[\d,]+)\) )?exceeds the maximum number of tokens allowed(?: \(?(?<limit>[\d,]+))?/,
    /input token count is (?<sent>[\d,]+) but (?:the )?model only supports up to (?<limit>[\d,]+)/,
  ],
  opening: (event) =>
    isObject(event) && event.error !== undefined ? { error: event.error } : 'content',
}

export function errorOf({ status, message, type, code, path }: ProviderError): JsonObject {
  const details = [
    ...(code === undefined ? [] : [detail('ErrorInfo', { reason: code, domain: 'oriel' })]),
    ...(path === undefined
      ? []
      : [detail('BadRequest', { fieldViolations: [{ field: path, description: message }] })]),
  ]
  // Other APIs write their kinds of errors small.
  const word = type !== undefined && /^[A-Z_]+$/.test(type) ? type : statusOf(status)
  return { code: status, message, status: word, ...(details.length === 0 ? {} : { details }) }
}

function detail(name: string, fields: JsonObject): JsonObject {
  return { '@type': `type.googleapis.com/google.rpc.${name}`, ...fields }
}

const words: Readonly<Record<number, string>> = {
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  409: 'ABORTED',
  429: 'RESOURCE_EXHAUSTED',
  499: 'CANCELLED',
  501: 'UNIMPLEMENTED',
  502: 'UNAVAILABLE',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
}

function statusOf(status: number): string {
  return words[status] ?? (status >= 500 ? 'INTERNAL' : 'INVALID_ARGUMENT')
}
