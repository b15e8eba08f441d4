// Calls without an SDK: bytes, sockets, and what the log of a thread says afterwards.

import { connect, type Socket } from 'node:net'
import type { Entry, WireFormat } from 'oriel'
import { dialects, pathOf } from '../dialect.ts'

export const key = 'fault-key'

export interface PostOptions {
  readonly body: string | Uint8Array | ReadableStream<Uint8Array>
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

/** A model call with a body as it stands. */
export function post(url: string, format: WireFormat, options: PostOptions): Promise<Response> {
  const { body, headers = {}, signal } = options
  const isStream = typeof body === 'string' && body.includes('"stream":true')
  return fetch(url + pathOf(format, isStream), {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: body as string,
    duplex: 'half',
    ...(signal === undefined ? {} : { signal }),
  } as RequestInit)
}

/** A model call that says something. */
export function say(
  url: string,
  format: WireFormat,
  text: string,
  { isStream = false, ...rest }: Omit<PostOptions, 'body'> & { readonly isStream?: boolean } = {},
): Promise<Response> {
  const dialect = dialects[format]
  const body = JSON.stringify({ ...dialect.body([dialect.user(text)], []), stream: isStream })
  return post(url, format, { body, ...rest })
}

/** The log of the thread that a response belongs to, once what was asked for is written. */
export async function logOf(url: string, response: Response | string): Promise<readonly Entry[]> {
  const thread = typeof response === 'string' ? response : response.headers.get('x-oriel-thread')
  const answer = await fetch(`${url}/api/threads/${thread}/log?limit=1000`, {
    headers: { authorization: `Bearer ${key}` },
  })
  return ((await answer.json()) as { entries: readonly Entry[] }).entries
}

/** The newest thread of the caller. */
export async function newestThread(url: string): Promise<string> {
  const answer = await fetch(`${url}/api/threads`, { headers: { authorization: `Bearer ${key}` } })
  const { threads } = (await answer.json()) as { threads: readonly { readonly id: string }[] }
  const id = threads[0]?.id
  if (id === undefined) throw new Error('There is no thread')
  return id
}

/** A connection by hand, and everything that came back on it. */
export interface Wire {
  readonly socket: Socket
  readonly received: () => string
  /** Resolves when the other side ends it. */
  readonly closed: Promise<void>
}

export async function openWire(url: string): Promise<Wire> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  let received = ''
  socket.on('data', (part) => {
    received += part.toString('latin1')
  })
  socket.on('error', () => undefined)
  const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()))
  await new Promise<void>((resolve) => socket.on('connect', () => resolve()))
  return { socket, received: () => received, closed }
}

/** Head of a model call by hand. */
export function headOf(format: WireFormat, lines: readonly string[] = []): string {
  return [
    `POST ${dialects[format].path} HTTP/1.1`,
    'host: 127.0.0.1',
    `authorization: Bearer ${key}`,
    'content-type: application/json',
    ...lines,
    '',
    '',
  ].join('\r\n')
}

/** Resolves when a condition holds; fails after the given time. */
export async function until(condition: () => boolean | Promise<boolean>, ms = 5000): Promise<void> {
  const end = performance.now() + ms
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`Not so after ${ms} ms`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
