// Reads request bodies within limits of size, time and nesting.

import { refuse } from './answer-errors.ts'
import { joined } from './bytes.ts'
import { IncomingRequest, readIncoming } from './incoming-request.ts'
import { type Outline, outlineOf } from './json-outline.ts'
import type { Limits } from './options.ts'
import type { Room } from './rooms.ts'

const tooLarge = (limit: number) =>
  refuse(413, 'too-large', `The body is larger than ${limit} bytes.`)

/** The bytes of a body, where there is room for them. Stops reading at the limit, whatever the header promised. */
export async function readBytes(
  { request, room }: { readonly request: Request; readonly room: Pick<Room, 'take'> },
  limits: Pick<Limits, 'bodyBytes' | 'bodyMs'>,
): Promise<Uint8Array> {
  const promised = Number(request.headers.get('content-length') ?? 0)
  if (promised > limits.bodyBytes) throw tooLarge(limits.bodyBytes)
  room.take(promised)
  const took = (size: number): void => {
    if (size > limits.bodyBytes) throw tooLarge(limits.bodyBytes)
    room.take(size)
  }
  if (request instanceof IncomingRequest) {
    return readIncoming(request.incoming, { took, mostMs: limits.bodyMs, late })
  }
  return readStream(request, limits.bodyMs, took)
}

/** Told of all that has come so far; throws where it is too much. */
type Took = (size: number) => void

async function readStream(request: Request, bodyMs: number, took: Took): Promise<Uint8Array> {
  if (request.body === null) return new Uint8Array()
  const reader = request.body.getReader()
  const chunks: Uint8Array[] = []
  let size = 0
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    reader.cancel().catch(() => undefined)
  }, bodyMs)
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (isLate) throw late()
      if (done) break
      size += value.byteLength
      took(size)
      chunks.push(value)
    }
  } catch (error) {
    reader.cancel().catch(() => undefined)
    throw error
  } finally {
    clearTimeout(timer)
  }
  return joined(chunks)
}

function late(): Error {
  return refuse(408, 'timeout', 'The body did not arrive in time.')
}

/** The outline of a text, if it is within the limits. Must come before `JSON.parse`: deep nesting keeps that busy for many seconds. */
export function boundedOutline(text: string, limits: Pick<Limits, 'depth' | 'nodes'>): Outline {
  const outline = outlineOf(text, limits)
  if (outline.depth > limits.depth) {
    throw refuse(400, 'too-deep', `The body is nested deeper than ${limits.depth} levels.`)
  }
  if (outline.nodes > limits.nodes) {
    throw refuse(413, 'too-large', `The body holds more than ${limits.nodes} values.`)
  }
  return outline
}
