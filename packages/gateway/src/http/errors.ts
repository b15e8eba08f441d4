// Refusals of the gateway itself, in the shape of the API that the caller speaks.

import { OrielError } from 'oriel'
import { speakerAt } from 'oriel/providers'
import { type RelayedReply, wholeReply } from './response.ts'

export interface Refusal {
  readonly status: number
  /** A stable word, as in `OrielError`. */
  readonly code: string
  readonly message: string
  readonly path?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Thrown by handlers to answer with a refusal. */
export class RefusedError extends Error {
  readonly refusal: Refusal

  constructor(refusal: Refusal) {
    super(refusal.message)
    this.refusal = refusal
  }
}

export function refuse(status: number, code: string, message: string): RefusedError {
  return new RefusedError({ status, code, message })
}

/** When a caller who was rejected for now may come again: calls end all the time, so soon. */
const retryAfterSeconds = '1'

/** A refusal as an answer, made with little work: many are refused when there is too much of it. `path` decides which API's shape it has. */
export function refusalReply(path: string, refusal: Refusal): RelayedReply {
  const { status, code, message, headers } = refusal
  const all = new Headers({
    'content-type': 'application/json',
    'cache-control': 'no-store',
    ...(status === 429 || status === 503 ? { 'retry-after': retryAfterSeconds } : {}),
    ...headers,
    ...(code === message ? {} : { 'x-oriel-error': code }),
  })
  return wholeReply(status, all, JSON.stringify(shape(path, refusal)))
}

/** A refusal as bytes: made once for each API, and written many times while there is too much to do. */
export interface WrittenRefusal {
  readonly status: number
  /** Alternating names and values, as Node writes them. */
  readonly headers: readonly string[]
  readonly body: Buffer
}

export function writeRefusal(path: string, refusal: Refusal): WrittenRefusal {
  const { status, headers } = refusalReply(path, refusal)
  const body = Buffer.from(JSON.stringify(shape(path, refusal)))
  const length = ['content-length', String(body.length)]
  return { status, headers: [...[...headers].flat(), ...length], body }
}

function shape(path: string, { status, code, message, path: field }: Refusal): object {
  const at = field === undefined ? {} : { path: field }
  const speaker = speakerAt(path)
  if (speaker === undefined) return { error: { code, message, ...at } }
  return speaker.errors.body({ status, code, message, ...at })
}

const statuses: Readonly<Record<string, number>> = {
  'invalid-input': 400,
  'not-json': 400,
  'too-deep': 400,
  'too-large': 413,
  'invalid-policy': 400,
  'invalid-option': 400,
  'invalid-setting': 400,
  'unknown-format': 400,
  'cannot-project': 422,
  'version-conflict': 409,
  'unexpected-head': 409,
  'not-found': 404,
  'cannot-undo': 409,
  'storage-full': 507,
  'storage-failed': 503,
  closed: 503,
}

/** Errors of the operating system for want of files, memory, processes or ports: they pass when other calls end. */
const exhausted = new Set(['EMFILE', 'ENFILE', 'ENOMEM', 'ENOBUFS', 'EAGAIN', 'EADDRNOTAVAIL'])

const outOfResources = {
  status: 503,
  code: 'out-of-resources',
  message: 'The gateway is out of files, memory or ports. Try again.',
}

/** The refusal for an error that says the process or the machine has no more of something; the error may be a cause of the one given. */
export function exhaustionOf(error: unknown): Refusal | undefined {
  // Bounded: a cause may lead back to itself.
  let cause = error
  for (let depth = 0; depth < 4 && cause instanceof Error; depth++) {
    if ('code' in cause && exhausted.has(String(cause.code))) return outOfResources
    cause = cause.cause
  }
  return undefined
}

/** What a failure means to the caller. Messages of Oriel hold ids and paths, never content; others are not shown. */
export function refusalOf(error: unknown): Refusal {
  if (error instanceof RefusedError) return error.refusal
  if (OrielError.is(error)) {
    const { code, message, path } = error
    const status = statuses[code] ?? 500
    return { status, code, message, ...(path === undefined ? {} : { path }) }
  }
  return { status: 500, code: 'internal', message: 'The gateway failed. Its log says where.' }
}
