// The arguments of a call as an object, for providers that take no text.

import { checkJson, isObject, type JsonObject } from '../core/log/json.ts'
import type { FormatName, Loss } from './format.ts'

/**
 * The text of a call's arguments as the object that a provider demands. Nothing in it is lost:
 * - no text at all is an empty object;
 * - integers that a JavaScript number cannot hold are written as strings, digit for digit;
 * - text that is not a JSON object is wrapped as `{ "_raw": text }`.
 *
 * The last two are told.
 */
export function parseArguments(
  text: string,
  format: FormatName,
  tell: (form: Loss['form'], reason: string) => void = () => {},
): JsonObject {
  if (text.trim() === '') return {}
  try {
    const quoted = quoteHugeIntegers(text)
    const value: unknown = JSON.parse(quoted)
    checkJson(value, 'arguments')
    if (isObject(value)) {
      if (quoted !== text) {
        tell('full', `${format}: integers beyond what a number holds are sent as strings`)
      }
      return value as JsonObject
    }
  } catch {
    // Not JSON, or nested too deep to be sent as JSON: sent as text.
  }
  tell('full', `${format}: arguments that are not a JSON object are sent as text in _raw`)
  return { _raw: text }
}

/** Matches strings too, so that digits inside them are passed over. */
const stringOrNumber = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g

function quoteHugeIntegers(text: string): string {
  // Any integer of at most 15 digits is exact.
  if (!/\d{16}/.test(text)) return text
  return text.replaceAll(stringOrNumber, (token) => {
    const isInteger = /^-?\d{16,}$/.test(token)
    return isInteger && BigInt(token) !== BigInt(Number(token)) ? `"${token}"` : token
  })
}
