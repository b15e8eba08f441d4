// Validation of the gateway API's bodies and query parameters.

import { type WireFormat, wireFormats } from 'oriel'
import type { z } from 'zod'
import { refuse } from '../http/errors.ts'
import { boundedOutline, readBytes } from '../http/request.ts'
import type { RouteContext } from '../http/router.ts'
import type { Limits } from '../options.ts'

export async function readJson<Body extends z.ZodType>(
  context: Pick<RouteContext, 'request' | 'room'>,
  schema: Body,
  limits: Limits,
): Promise<z.infer<Body>> {
  const text = Buffer.from(await readBytes(context, limits)).toString()
  boundedOutline(text, limits)
  let value: unknown
  try {
    value = text === '' ? {} : JSON.parse(text)
  } catch {
    throw refuse(400, 'invalid-json', 'The body is not valid JSON.')
  }
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw refuse(
    400,
    'invalid-input',
    `The body: ${issue?.path.join('.') ?? ''} ${issue?.message ?? 'is invalid'}.`,
  )
}

export function readFormat(value: string | null): WireFormat {
  const found = wireFormats.find((name) => name === (value ?? 'openai-chat'))
  if (found !== undefined) return found
  throw refuse(400, 'unknown-format', `format must be one of ${wireFormats.join(', ')}.`)
}

export function readNumber(text: string, name: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw refuse(400, 'invalid-input', `${name} must be a whole number.`)
}

export function readCount(url: URL, name: string, fallback: number, most: number): number {
  const text = url.searchParams.get(name)
  if (text === null) return fallback
  return Math.max(1, Math.min(most, readNumber(text, name)))
}
