// Request preview: what a call would send, without sending or writing anything.

import { callerView, readHistory, type Store } from 'oriel'
import type { Calls } from '../call/calls.ts'
import { type ClientBody, parseBody } from '../call/client-body.ts'
import { type Endpoint, endpoints } from '../call/endpoints.ts'
import { offerTool } from '../expansion/inject.ts'
import { refuse } from '../http/errors.ts'
import { readBytes } from '../http/request.ts'
import type { RouteContext } from '../http/router.ts'
import type { Limits } from '../options.ts'
import type { ThreadResolver } from '../threads/resolver.ts'

export interface PreviewOptions {
  readonly store: Store
  readonly calls: Calls
  readonly sessions: ThreadResolver
  readonly limits: Limits
}

export async function preview(options: PreviewOptions, context: RouteContext): Promise<object> {
  const { calls, sessions, limits, store } = options
  const { url, request, caller } = context
  const body = parseBody(await readBytes(context, limits), limits)
  const endpoint = endpointOf(body, url.searchParams.get('format'))
  const { format } = endpoint
  const history = endpoint.history(body.value)
  if (history === undefined) {
    const message = 'The body carries no whole history: such a call passes through as it is.'
    throw refuse(400, 'invalid-input', message)
  }
  const settings = await calls.settingsOf(context, body)
  const { policy, sources, warnings, base, isOwn } = settings
  const { tenant } = caller
  const read = readHistory(history, { format })
  const { family } = await sessions.peek({
    ...{ tenant, headers: request.headers, body: body.value, history: read },
    frame: endpoint.frame(body.value),
  })
  const { thread: branch } = await family.exclusive((thread) => thread.match(read))
  // The thread is loaded into memory, so reserve its size too.
  const info = await store.info({ tenant, thread: branch })
  context.room.take(body.bytes.length + (info?.bytes ?? 0))
  const shown = await family.exclusive(async (thread) => {
    const { offer } = offerTool(thread, { endpoint, body, isOn: calls.hasExpansion(settings) })
    const { value } = offer?.body ?? body
    const { model, tools } = value
    const { matched, view } = await thread.preview(read, {
      ...{ format, isContinuing: true, threadPolicy: base },
      frame: endpoint.frame(value),
      ...(isOwn ? { policy } : {}),
      ...(typeof model === 'string' ? { model } : {}),
    })
    return { matched, view, tools }
  })
  const { matched, view, tools } = shown
  const known = matched > 0 ? { thread: branch } : {}
  const offered = tools === undefined || tools === null ? {} : { tools }
  return {
    ...{ ...view, trace: view.trace, ...offered, ...known, format },
    ...{ policy: callerView(policy), sources, warnings },
  }
}

function endpointOf({ value }: ClientBody, asked: string | null): Endpoint {
  const found = endpoints.find(({ format }) => format === (asked ?? formatOf(value)))
  if (found === undefined) throw refuse(400, 'unknown-format', 'No format has that name.')
  return found
}

/** Detects the format by fields that only it has. */
function formatOf({ input, system, messages }: ClientBody['value']): string {
  if (input !== undefined) return 'openai-responses'
  const isAnthropic = /"type":"tool_(?:use|result)"/.test(JSON.stringify(messages ?? []))
  return system !== undefined || isAnthropic ? 'anthropic' : 'openai-chat'
}
