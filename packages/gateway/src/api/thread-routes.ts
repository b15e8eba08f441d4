// Route table of the thread API.

import { wireFormats } from 'oriel'
import { z } from 'zod'
import type { Route } from '../http/router.ts'
import type { Action, ThreadApi } from './thread-api.ts'

const range = z.tuple([z.number().int().min(0), z.number().int().min(0)])
const expandBody = z.strictObject({
  id: z.string().min(1).max(200),
  lines: range.optional(),
  chars: range.optional(),
  items: range.optional(),
  query: z.string().max(1000).optional(),
  reason: z.string().max(1000).optional(),
  inPlace: z.boolean().optional(),
  steps: z.number().int().min(1).max(100).optional(),
})
const idBody = z.strictObject({ id: z.string().min(1).max(200) })
const pinBody = idBody.extend({ pinned: z.boolean().optional() })
const excludeBody = idBody.extend({ excluded: z.boolean().optional() })
export type EffectBody = typeof effectBody
const effectBody = idBody.extend({
  type: z.enum(['undo', 'expand', 'pin', 'unpin', 'exclude', 'include']),
})
const policyBody = z.strictObject({ policy: z.unknown() })
export type WhatIfBody = typeof whatIfBody

const whatIfBody = z.strictObject({
  policy: z.unknown(),
  format: z.enum(wireFormats).optional(),
  budget: z.number().int().positive().optional(),
  from: z.enum(['now', 'start']).optional(),
})

export type CompareBody = typeof compareBody

const compareBody = z.strictObject({
  policies: z.array(z.unknown()).min(1).max(4),
  format: z.enum(wireFormats).optional(),
})

export function threadRoutes(api: ThreadApi): readonly Route[] {
  return [
    overviewRoute(api),
    searchRoute(api),
    ...readRoutes(api),
    ...inspectRoutes(api),
    effectRoute(api),
    ...writeRoutes(api),
  ]
}

function overviewRoute(api: ThreadApi): Route {
  return {
    method: 'GET',
    path: '/api/overview',
    access: 'key',
    summary: 'What all threads add up to: spent, saved, cached, folded, cache breaks, and by day.',
    answer: 'Overview & { isPartial }',
    handle: (context) => api.overview(context),
  }
}

function searchRoute(api: ThreadApi): Route {
  return {
    method: 'GET',
    path: '/api/search',
    access: 'key',
    summary:
      'The messages that answer a query best, over all threads or in one, in their original words.',
    query: {
      q: 'What to find: words, identifiers, paths, numbers.',
      thread: 'Only this thread.',
      user: 'Only threads that began in the scope of this user.',
      project: 'Only threads that began in the scope of this project.',
      kind: 'Only `message`, `directive` (a standing instruction of the user) or `checkpoint`.',
      limit: 'How many at most. Default 10.',
    },
    answer:
      '{ results: { thread, id, index, seq, at, role, kind, tool?, text, marks: [from, to][], previous?, next?, score, repeats? }[] }',
    handle: (context) => api.searchRoute(context),
  }
}

const paging = { limit: 'How many at most.' }

function get(path: string, route: Omit<Route, 'method' | 'path' | 'access'>): Route {
  return { method: 'GET', path: `/api/threads${path}`, access: 'key', ...route }
}

/** What the inspector of the studio shows. */
function inspectRoutes(api: ThreadApi): readonly Route[] {
  return [
    get('/:id/outline', {
      summary: 'The log beside a request, row by row, with tokens on both sides.',
      query: {
        step: 'A step, or `next` for the next request. Default: the newest request.',
        run: 'The first seq of a folded run: only the rows inside it.',
        have: 'The `name` of an answer before: `base` then says how many of its rows stay at the beginning and at the end, and `rows` are those between.',
      },
      answer:
        '{ version, name, base?: { name, start, end }, step?, tokens, messages?, context?, exact?, previousStep?, change?, rows: OutlineRow[] }',
      handle: (context) => api.outline(context),
    }),
    get('/:id/texts', {
      summary: 'Originals in a range of the log, each cut to 700 characters.',
      query: {
        from: 'The first seq. Default 1.',
        of: 'The `name` of an outline: with what it shows of reduced blocks.',
        ...paging,
      },
      answer: '{ texts: { "seq/index": { text, length, shown?, picture? } } }',
      handle: (context) => api.texts(context),
    }),
    get('/:id/block', {
      summary: 'One block in full, and what a request shows of it.',
      query: {
        seq: 'The entry.',
        index: 'The block in it. Default 0.',
        step: 'A step, or `next`. Default next.',
      },
      answer: '{ original, shown?, picture? }',
      handle: (context) => api.block(context),
    }),
  ]
}

function readRoutes(api: ThreadApi): readonly Route[] {
  return [
    get('', {
      summary: 'Threads, most recently used first.',
      query: {
        search: 'Only threads with this text in them.',
        model: 'Only threads whose newest request went to this model.',
        agent: 'Only threads whose newest request was of this agent.',
        sort: '`recent` (default), or the largest first: `cost`, `saved` or `size` (tokens of the log).',
        after: 'The `cursor` of the previous page. It stays valid when threads change.',
        cursor: 'The same as `after`.',
        ...paging,
      },
      answer: '{ threads: ThreadSummary[], cursor? }',
      handle: (context) => api.list(context),
    }),
    get('/:id', {
      summary: 'Summary of a thread, with its policy.',
      answer: 'ThreadSummary & { policy }',
      handle: (context) => api.summary(context),
    }),
    get('/:id/context', {
      summary: 'What fills the window of a thread now, by category.',
      answer: '{ tokens: { system, tools, ... }, used, window?, free?, format, model? }',
      handle: (context) => api.context(context),
    }),
    get('/:id/log', {
      summary: 'Entries of the log.',
      query: { from: 'The first seq. Default 1.', ...paging },
      answer: '{ entries: Entry[], version, next? }',
      handle: (context) => api.log(context),
    }),
    get('/:id/view', {
      summary: 'What the model sees now, or saw at a step.',
      query: {
        format: wireFormats.join(' | '),
        step: 'A step; else now.',
        budget: 'Tokens it may use.',
      },
      answer: 'ThreadView',
      handle: (context) => api.view(context),
    }),
    get('/:id/requests', {
      summary: 'All requests that were sent.',
      answer: '{ requests }',
      handle: (context) => api.requests(context),
    }),
    get('/:id/requests/:step', {
      summary: 'The request at a step, and its diff to the previous one.',
      answer: 'StepRequest',
      handle: (context) => api.request(context),
    }),
    get('/:id/timeline', {
      summary: 'Tokens, provider usage and epochs, step by step.',
      query: { since: 'A version: only the steps that changed after it. Default 0: all.' },
      answer: 'Timeline & { version }',
      handle: (context) => api.timeline(context),
    }),
    get('/:id/edits', {
      summary: 'All edits, and whether they are live; with a limit page by page, newest first.',
      query: { before: 'Only edits before this seq.', ...paging },
      answer: '{ edits: ListedEdit[] } | EditsPage & { version }',
      handle: (context) => api.edits(context),
    }),
    get('/:id/directives', {
      summary: 'The standing instructions and preferences that hold now, word for word.',
      answer: '{ directives: Directive[] }',
      handle: (context) => api.directives(context),
    }),
    get('/:id/export', {
      summary: 'The whole log as JSON lines.',
      answer: 'application/x-ndjson',
      handle: (context) => api.export(context),
    }),
  ]
}

function effectRoute(api: ThreadApi): Route {
  return {
    method: 'POST',
    path: '/api/threads/:id/effect',
    access: 'key',
    summary: 'What an action on a block would do to the next request. Nothing is stored.',
    body: effectBody,
    answer: '{ ok: true, blocks, tokens: { before, after }, rewritten } | { ok: false, reason }',
    handle: (context) => api.effect(context, effectBody),
  }
}

function writeRoutes(api: ThreadApi): readonly Route[] {
  const post = <Body extends z.ZodType>(
    path: string,
    route: Action<Body> & {
      readonly summary: string
      readonly body: Body
      readonly answer?: string
    },
  ): Route => ({
    method: 'POST',
    path: `/api/threads/:id/${path}`,
    access: 'key',
    summary: route.summary,
    body: route.body,
    answer: route.answer ?? '{ version }',
    handle: (context) => api.act(context, route.body, route),
  })
  return [
    {
      method: 'POST',
      path: '/api/threads/:id/what-if',
      access: 'key',
      summary:
        'What the model would see under another policy, with the edits so far (now) or with the policy from the first message on (start). Nothing is stored.',
      body: whatIfBody,
      answer: 'ThreadView & { replay?: { steps, input, repeated } }',
      handle: (context) => api.whatIf(context, whatIfBody),
    },
    {
      method: 'POST',
      path: '/api/threads/:id/compare',
      access: 'key',
      summary:
        'Policies on the thread from its first message on: cost, cache, facts and rules kept. JSON lines: progress, then the result. Nothing is stored.',
      body: compareBody,
      answer:
        '{ progress } lines, then { result: { version, outcomes: PolicyOutcome[], different } } or { error }',
      handle: (context) => api.compare(context, compareBody),
    },
    post('expand', {
      summary: 'An original, whole or in part.',
      body: expandBody,
      answer: '{ ok: true, text } | { ok: false, reason }',
      run: (thread, { id, ...rest }) => thread.expand(id, withoutUndefined(rest)),
    }),
    post('undo', {
      summary: 'Reverts an edit, or all edits of an epoch.',
      body: idBody,
      run: (thread, { id }) => thread.undo(id),
    }),
    post('pin', {
      summary: 'Keeps a message verbatim in every view.',
      body: pinBody,
      run: (thread, { id, pinned = true }) => thread.pin(id, { pinned }),
    }),
    post('exclude', {
      summary: 'Leaves a message out of every view.',
      body: excludeBody,
      run: (thread, { id, excluded = true }) => thread.exclude(id, { excluded }),
    }),
    post('policy', {
      summary:
        'Changes the policy for future views. A call through the gateway resets it to the policy of its agent.',
      body: policyBody,
      run: (thread, { policy }, caller) => thread.setPolicy(api.policyFor(policy, caller)),
    }),
    post('compact', {
      summary: 'Makes a checkpoint now.',
      body: z.strictObject({}),
      isLong: true,
      run: (thread) => thread.compact(),
    }),
    {
      method: 'DELETE',
      path: '/api/threads/:id',
      access: 'key',
      summary: 'Erases a thread permanently.',
      answer: 'nothing (204)',
      handle: (context) => api.erase(context),
    },
  ]
}

function withoutUndefined<T extends object>(
  value: T,
): { [Key in keyof T]: Exclude<T[Key], undefined> } {
  const entries = Object.entries(value).filter(([, one]) => one !== undefined)
  return Object.fromEntries(entries) as { [Key in keyof T]: Exclude<T[Key], undefined> }
}
