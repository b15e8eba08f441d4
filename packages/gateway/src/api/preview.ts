// Request preview: what a call would send, without sending or writing anything.

import { callerView, readHistory, type Store } from 'oriel'
import { modelOf, type Provider, providerNamed, providerOfBody } from 'oriel/providers'
import type { Calls } from '../call/calls.ts'
import { type ClientBody, parseBody } from '../call/client-body.ts'
import { deferredTools } from '../expansion/deferred-tools.ts'
import { candidateFor, offerOf } from '../expansion/inject.ts'
import { refuse } from '../http/errors.ts'
import type { RouteContext } from '../http/router.ts'
import type { Limits } from '../options.ts'
import type { ThreadResolver } from '../threads/resolver.ts'

export interface PreviewOptions {
  readonly store: Store
  readonly calls: Calls
  readonly sessions: ThreadResolver
  readonly limits: Limits
}

export async function preview(
  options: PreviewOptions,
  context: RouteContext,
  bytes: Uint8Array,
): Promise<object> {
  const { calls, sessions, limits, store } = options
  const { url, request, caller } = context
  const body = parseBody(bytes, limits)
  const provider = providerOf(body, url.searchParams.get('format'))
  const { name: format } = provider
  const history = provider.request.history(body.value)
  if (history === undefined || history.length === 0) {
    const message = 'The body carries no whole history: such a call passes through as it is.'
    throw refuse(400, 'invalid-input', message)
  }
  const settings = await calls.settingsOf(context, body, provider)
  const { policy, sources, warnings, isOwn } = settings
  const { tenant } = caller
  const read = readHistory(history, { format })
  const { family } = await sessions.peek({
    ...{ tenant, headers: request.headers, body: body.value, history: read },
    frame: provider.request.frame(body.value),
  })
  const { thread: branch } = await family.exclusive((thread) => thread.match(read))
  // The thread is loaded into memory, so reserve its size too.
  const info = await store.info({ tenant, thread: branch })
  context.room.take(body.bytes.length + (info?.bytes ?? 0))
  const shown = await family.exclusive(async (thread) => {
    const deferred = deferredTools(thread, { provider, body, history: read, policy })
    const listed = deferred?.body ?? body
    const expand = calls.expandMode(settings)
    const clientTools = deferred?.clientTools
    const candidate = candidateFor(thread, {
      ...{ provider, body: listed, expand, policy, clientTools },
    })
    const model = modelOf(provider, body.value, '')
    const { matched, view } = await thread.preview(read, {
      ...{ format, isContinuing: true, threadPolicy: policy },
      policyOf: isOwn ? 'request' : 'thread',
      frame: provider.request.frame(listed.value),
      ...(candidate && { expand: offerOf(provider, candidate) }),
      ...(model === undefined ? {} : { model }),
    })
    const { value } = (view.offersExpansion ? candidate : undefined) ?? listed
    return { matched, view, tools: value[provider.tools.listKey] }
  })
  const { matched, view, tools } = shown
  const known = matched > 0 ? { thread: branch } : {}
  const offered = tools === undefined || tools === null ? {} : { tools }
  return {
    ...{ ...view, trace: view.trace, ...offered, ...known, format },
    ...{ policy: callerView(policy), sources, warnings },
  }
}

function providerOf({ value }: ClientBody, asked: string | null): Provider {
  const found = asked === null ? providerOfBody(value) : providerNamed(asked)
  if (found === undefined) throw refuse(400, 'unknown-format', 'No format has that name.')
  return found
}
