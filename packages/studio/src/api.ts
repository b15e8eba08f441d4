// API client: all requests to the gateway. No other file calls fetch.

import { shownTenant } from './address.ts'
import type {
  Agent,
  BlockRow,
  Comparison,
  EditsPage,
  EffectAnswer,
  Expansion,
  Found,
  Info,
  LastingInstruction,
  LogPage,
  OutlineAnswer,
  Overview,
  Policy,
  PolicyField,
  Preview,
  Settings,
  StepRequest,
  StepSummary,
  ThreadAction,
  ThreadPage,
  ThreadSummary,
  ThreadView,
  TimelineAnswer,
  WholeBlock,
} from './contract.ts'

/** An error of the gateway, with its message. */
export class ApiError extends Error {
  readonly status: number
  readonly code: string

  constructor(status: number, code: string, message: string) {
    super(message)
    this.name = 'ApiError'
    this.status = status
    this.code = code
  }
}

/** True if the gateway could not be reached. */
export function isUnreachable(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'unreachable'
}

const keyName = 'oriel-key'

/** The API key entered by the user. Kept for this tab only, never in the URL. */
export const key = {
  read: (): string | undefined => sessionStorage.getItem(keyName) ?? undefined,
  write: (value: string): void => sessionStorage.setItem(keyName, value),
  clear: (): void => sessionStorage.removeItem(keyName),
}

/**
 * Sends a request to the gateway, with the key if there is one. Throws ApiError for anything but
 * success.
 */
export async function send(path: string, options: RequestInit = {}): Promise<Response> {
  const headers = withKey(options.headers)
  let response: Response
  try {
    response = await fetch(path, { ...options, headers })
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error
    throw new ApiError(0, 'unreachable', 'The gateway does not answer. Is it still running?')
  }
  if (response.ok) return response
  throw await failureOf(response)
}

function withKey(init: HeadersInit | undefined): Headers {
  const headers = new Headers(init)
  const held = key.read()
  if (held === undefined) return headers
  try {
    headers.set('x-oriel-key', held)
  } catch {
    // Characters that no header can carry are in no key: ask for another.
    throw new ApiError(401, 'unauthorized', 'This cannot be a key.')
  }
  return headers
}

async function failureOf(response: Response): Promise<ApiError> {
  const text = await response.text()
  try {
    const { error } = JSON.parse(text) as { error?: { code?: unknown; message?: unknown } }
    const code = typeof error?.code === 'string' ? error.code : 'error'
    return new ApiError(response.status, code, String(error?.message ?? text))
  } catch {
    return new ApiError(
      response.status,
      'error',
      text || `The gateway answered ${response.status}.`,
    )
  }
}

async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  const response = await send(path, signal === undefined ? {} : { signal })
  return (await response.json()) as T
}

async function post<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
  const response = await send(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  })
  return (await response.json()) as T
}

/** Reads JSON lines: progress, then the result or an error. */
async function lastLine<T>(response: Response, onProgress: (share: number) => void): Promise<T> {
  let rest = ''
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const lines = `${rest}${chunk}`.split('\n')
    rest = lines.pop() ?? ''
    for (const text of lines) {
      const line = JSON.parse(text) as Line<T>
      if ('result' in line) return line.result
      if ('error' in line) throw errorIn(line.error)
      onProgress(line.progress)
    }
  }
  throw new ApiError(0, 'unreachable', 'The gateway broke off. Is it still running?')
}

/** One that says that the gateway is busy has the status that it would have had before the first line. */
function errorIn({ code, message }: { readonly code: string; readonly message: string }): ApiError {
  const isBusy = code === 'busy' || code === 'overloaded'
  return new ApiError(isBusy ? 429 : 409, code, message)
}

type Line<T> =
  | { readonly progress: number }
  | { readonly result: T }
  | { readonly error: { readonly code: string; readonly message: string } }

/** How often a request is repeated that the gateway was too busy for. */
const maxAttempts = 20

/** Repeats a request while the gateway is too busy, for example with a replay that was just stopped. */
async function patiently<T>(signal: AbortSignal | undefined, ask: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await ask()
    } catch (error) {
      const isBusy = error instanceof ApiError && (error.status === 429 || error.status === 503)
      if (!isBusy || attempt === maxAttempts || signal?.aborted === true) throw error
      await new Promise((resolve) => setTimeout(resolve, 500))
    }
  }
}

/** URL path of a thread or of a part of it. */
function thread(
  id: string,
  part = '',
  values: Readonly<Record<string, string | number | undefined>> = {},
): string {
  const isPlain = /^[\w~-]+(\.[\w~-]+)*$/.test(id)
  const tenant = shownTenant()
  // The gateway rejects ambiguous paths, so such an id goes into the query string.
  return isPlain
    ? `/api/threads/${id}${part}${query({ ...values, tenant })}`
    : `/api/threads/-${part}${query({ ...values, tenant, thread: id })}`
}

function query(values: Readonly<Record<string, string | number | undefined>>): string {
  const params = new URLSearchParams()
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined && value !== '') params.set(name, String(value))
  }
  return params.size === 0 ? '' : `?${params}`
}

/** Whose memory: a user's, a project's, or both. */
export interface ScopeQuery {
  readonly user: string
  readonly project: string
  readonly tenant?: string
}

function instruction(id: string, scope: ScopeQuery): string {
  return `/api/memory/${encodeURIComponent(id)}${query({ ...scope })}`
}

export const api = {
  info: (signal?: AbortSignal) => get<Info>('/api/info', signal),
  agent: (name: string, signal?: AbortSignal) =>
    get<Agent>(`/api/agents/${encodeURIComponent(name)}`, signal),
  runTool: (agent: string, name: string, argumentsText: string) =>
    post<{ readonly text: string }>(
      `/api/agents/${encodeURIComponent(agent)}/tools/${encodeURIComponent(name)}`,
      { arguments: argumentsText },
    ),
  settings: (parameters: string, signal?: AbortSignal) =>
    get<Settings>(`/api/settings${parameters}`, signal),
  threads: (options: Readonly<Record<string, string | number>>, signal?: AbortSignal) =>
    get<ThreadPage>(`/api/threads${query(options)}`, signal),
  overview: (signal?: AbortSignal) => get<Overview>('/api/overview', signal),
  search: (q: string, options: { thread?: string; limit?: number }, signal?: AbortSignal) =>
    get<{ readonly results: readonly Found[] }>(`/api/search${query({ q, ...options })}`, signal),
  thread: (id: string, signal?: AbortSignal) => get<ThreadSummary>(thread(id), signal),
  outline: (
    id: string,
    asked: { readonly step: number | 'next' | undefined; readonly have: string | undefined },
    signal?: AbortSignal,
  ) => get<OutlineAnswer>(thread(id, '/outline', asked), signal),
  run: (id: string, step: number | 'next', run: number, signal?: AbortSignal) =>
    get<{ readonly rows: readonly BlockRow[] }>(thread(id, '/outline', { step, run }), signal),
  texts: (
    id: string,
    asked: { readonly from: number; readonly limit: number; readonly of: string | undefined },
    signal?: AbortSignal,
  ) =>
    get<{ readonly texts: Readonly<Record<string, Preview>> }>(thread(id, '/texts', asked), signal),
  block: (
    id: string,
    place: { readonly seq: number; readonly index: number; readonly step: number | 'next' },
    signal?: AbortSignal,
  ) => get<WholeBlock>(thread(id, '/block', place), signal),
  setPolicy: (id: string, policy: Policy | string) => post(thread(id, '/policy'), { policy }),
  log: (id: string, from: number, limit: number, signal?: AbortSignal) =>
    get<LogPage>(thread(id, '/log', { from, limit }), signal),
  view: (id: string, step: number | undefined, signal?: AbortSignal) =>
    get<ThreadView>(thread(id, '/view', { format: 'openai-chat', step }), signal),
  compare: (
    id: string,
    policies: readonly (Policy | string)[],
    { signal, onProgress }: { signal: AbortSignal; onProgress: (share: number) => void },
  ) =>
    patiently(signal, async () => {
      const response = await send(thread(id, '/compare'), {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ policies }),
        signal,
      })
      return lastLine<Comparison>(response, onProgress)
    }),
  policyFields: (signal?: AbortSignal) =>
    get<{ readonly fields: readonly PolicyField[] }>('/api/policy-fields', signal),
  requests: (id: string, signal?: AbortSignal) =>
    get<{ readonly requests: readonly StepSummary[] }>(thread(id, '/requests'), signal),
  request: (id: string, step: number, signal?: AbortSignal) =>
    get<StepRequest>(thread(id, `/requests/${step}`), signal),
  timeline: (id: string, since: number | undefined, signal?: AbortSignal) =>
    get<TimelineAnswer>(thread(id, '/timeline', { since }), signal),
  edits: (
    id: string,
    asked: { readonly limit: number; readonly before: number | undefined },
    signal?: AbortSignal,
  ) => get<EditsPage>(thread(id, '/edits', asked), signal),
  memory: (scope: ScopeQuery, signal?: AbortSignal) =>
    get<{ readonly instructions: readonly LastingInstruction[] }>(
      `/api/memory${query({ ...scope })}`,
      signal,
    ),
  editInstruction: (id: string, text: string, scope: ScopeQuery) =>
    send(instruction(id, scope), {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ text }),
    }),
  eraseInstruction: (id: string, scope: ScopeQuery) =>
    send(instruction(id, scope), { method: 'DELETE' }),
  expand: (id: string, block: string, options: object = {}) =>
    post<Expansion>(thread(id, '/expand'), { id: block, ...options }),
  effect: (id: string, action: ThreadAction, signal?: AbortSignal) =>
    post<EffectAnswer>(thread(id, '/effect'), action, signal),
  undo: (id: string, edit: string) => post(thread(id, '/undo'), { id: edit }),
  pin: (id: string, entry: string, pinned: boolean) =>
    post(thread(id, '/pin'), { id: entry, pinned }),
  exclude: (id: string, entry: string, excluded: boolean) =>
    post(thread(id, '/exclude'), { id: entry, excluded }),
  erase: async (id: string): Promise<void> => {
    await send(thread(id), { method: 'DELETE' })
  },
  exportThread: async (id: string): Promise<Blob> => (await send(thread(id, '/export'))).blob(),
}
