// Acts made concrete: what is called, and what must be true of the answer.

import { expect } from 'vitest'
import type { Entry } from '../../src/core/log/entry.ts'
import { OrielError } from '../../src/core/log/errors.ts'
import type { JsonObject } from '../../src/core/log/json.ts'
import type { FormatName } from '../../src/providers/format.ts'
import { formatNames, validate } from '../../src/providers/registry.ts'
import { eraseThread } from '../../src/thread/erase.ts'
import type { Thread } from '../../src/thread/thread.ts'
import type { View } from '../../src/thread/view/view.ts'
import type { Act, Note } from './acts.ts'
import { rangesOf } from './feeding.ts'
import { waitingCalls } from './naive.ts'
import { dryView, linesOf, type Session } from './session.ts'

/** A session, what each client has of the conversation, and a number for each thing that is said. */
export interface Whole {
  readonly session: Session
  readonly clients: Map<FormatName, readonly JsonObject[]>
  count: number
}

export async function performAct(whole: Whole, act: Act): Promise<void> {
  const { session } = whole
  switch (act.type) {
    case 'tick':
      session.clock = Math.max(0, session.clock + act.by)
      return
    case 'reload':
      session.replace(act.who, await session.openActor(session.thread(act.who).id))
      return
    case 'talk':
      return talk(session.thread(act.who), act)
    case 'note': {
      const { messages } = await session.folded(act.who)
      const waiting = [...waitingCalls(messages)]
      const drafts = act.notes.flatMap((note) => draftsOf(whole, note, waiting))
      await session.thread(act.who).append(drafts)
      return
    }
    case 'resend':
      return resend(whole, act)
    case 'usage': {
      const { log } = await session.folded(act.who)
      const sent = log.findLast((entry) => entry.type === 'request')
      const view = sent?.type === 'request' ? sent.view : 'v0'
      return session.thread(act.who).usage(act.sample, view)
    }
    case 'policy':
      return session.thread(act.who).setPolicy(act.policy)
    case 'erase':
      return erase(session, act)
    default:
      return performOn(session, act)
  }
}

type Rest = Exclude<
  Act,
  { type: 'tick' | 'reload' | 'talk' | 'note' | 'resend' | 'usage' | 'policy' | 'erase' }
>

async function performOn(session: Session, act: Rest): Promise<void> {
  const thread = session.thread(act.who)
  switch (act.type) {
    case 'view': {
      const view = await ifAny(thread.view(act.options), 'cannot-project')
      if (view === undefined) return
      expect(view.tokens.after).toBeLessThanOrEqual(act.options.budget ?? Infinity)
      expectValid(act.options.format ?? 'openai-chat', view)
      return
    }
    case 'rethink':
      return rethink(session, thread)
    case 'undo': {
      const { live } = await session.folded(act.who)
      const edit = live[act.pick % Math.max(1, live.length)]
      if (edit === undefined) return
      await ifAny(thread.undo(act.isEpoch ? edit.epoch : edit.id), 'cannot-undo')
      return
    }
    case 'mark': {
      const { messages } = await session.folded(act.who)
      const id = messages[act.pick % Math.max(1, messages.length)]?.id
      if (id === undefined) return
      const isOn = act.mark === 'pin' || act.mark === 'exclude'
      if (act.mark === 'pin' || act.mark === 'unpin') return thread.pin(id, { pinned: isOn })
      return thread.exclude(id, { excluded: isOn })
    }
    case 'expand': {
      const { messages } = await session.folded(act.who)
      const blocks = messages.flatMap((message) => message.blocks)
      const id = blocks[act.pick % Math.max(1, blocks.length)]?.id
      if (id === undefined) return
      const { inPlace, steps } = act
      await thread.expand(id, { inPlace, steps, ...(act.isPart ? { chars: [0, 5] } : {}) })
      return
    }
    case 'compact':
      await thread.compact()
      return
    case 'recover': {
      const message = `This model's maximum context length is ${act.limit} tokens. However, your messages resulted in 9000 tokens.`
      const error =
        act.limit === undefined ? { code: 'context_length_exceeded' } : new Error(message)
      const view = await ifAny(thread.recover(error), 'cannot-project')
      if (view !== undefined) expectValid('openai-chat', view)
      return
    }
    case 'fork': {
      const { log } = await session.folded(act.who)
      const fork = await thread.fork(act.at % (log.length + 1))
      session.branches.add(fork.id)
      if (act.isStaying) session.replace(act.who, await session.openActor(fork.id))
    }
  }
}

async function talk(
  thread: Thread,
  { format, messages, isWatched }: Act & { readonly type: 'talk' },
): Promise<void> {
  if (!isWatched) {
    await thread.append(messages, { format })
    return
  }
  for (const [from, to] of rangesOf(format, messages)) {
    await thread.append(messages.slice(from, to), { format })
    const view = await ifAny(thread.view({ format }), 'cannot-project')
    if (view !== undefined) expectValid(format, view)
  }
}

async function resend(whole: Whole, act: Act & { readonly type: 'resend' }): Promise<void> {
  const { session, clients } = whole
  const { format, isEdited } = act
  const known = clients.get(format) ?? []
  const kept = known.slice(0, act.keep % (known.length + 1))
  whole.count += 1
  const text = `edited ${whole.count}`
  const edited =
    format === 'gemini' ? { role: 'user', parts: [{ text }] } : { role: 'user', content: text }
  const told = isEdited && kept.length > 0 ? [...kept.slice(0, -1), edited] : kept
  const history = [...told, ...act.more]
  const thread = session.thread(act.who)
  const { id } = thread
  const synced = await ifAny(
    act.isRequest ? thread.request(history, { format }) : thread.sync(history, { format }),
    'cannot-project',
  )
  if (synced === undefined) {
    expect(thread.id).toBe(id)
    return
  }
  clients.set(format, history)
  session.branches.add(synced.thread)
  // Once more is nothing new, for this object and for another. A checkpoint that was begun behind the view is no part of it.
  await thread.settled()
  const lines = linesOf(await session.log(synced.thread))
  const again = { thread: synced.thread, appended: 0, isForked: false }
  expect(await thread.sync(history, { format })).toMatchObject(again)
  const { thread: other } = await session.openActor(synced.thread)
  expect(await other.sync(history, { format })).toMatchObject(again)
  expect(linesOf(await session.log(synced.thread))).toEqual(lines)
}

/** What a view applied is taken back: the view is what it was before. */
async function rethink(session: Session, thread: Thread): Promise<void> {
  const shown = async (): Promise<readonly string[]> =>
    Promise.all(formatNames.map((format) => shownBy(thread, format)))
  const before = await shown()
  const { length } = await session.log(thread.id)
  if ((await ifAny(thread.view(), 'cannot-project')) === undefined) return
  // A checkpoint may come behind the view.
  await thread.settled()
  const isNew = ({ type, seq }: Entry): boolean => type === 'edit' && seq > length
  const made = (await session.log(thread.id)).filter(isNew)
  // What was not preserved cannot come back.
  if (made.some((entry) => entry.type === 'edit' && entry.isFinal === true)) return
  for (const { id } of made.reverse()) await thread.undo(id)
  expect(await shown()).toEqual(before)
}

async function shownBy(thread: Thread, format: FormatName): Promise<string> {
  const view = await ifAny(dryView(thread, { format, policy: {} }), 'cannot-project')
  return JSON.stringify([view?.messages, view?.system])
}

/** A fork that is erased leaves nothing behind, and its parent as it was. */
async function erase(session: Session, act: Act & { readonly type: 'erase' }): Promise<void> {
  const thread = session.thread(act.who)
  const { length } = await session.log(thread.id)
  const fork = await thread.fork(act.at % (length + 1))
  const before = await shownBy(thread, 'openai-chat')
  const { store } = session.faulty
  await eraseThread({ store, tenant: session.tenant, id: fork.id })
  await expect(fork.view()).rejects.toMatchObject({ code: 'not-found' })
  expect(await session.log(fork.id)).toEqual([])
  expect(await shownBy(thread, 'openai-chat')).toBe(before)
}

export function expectValid(format: FormatName, { messages, system }: View): void {
  const body = system === undefined ? messages : { messages, system }
  expect({ format, violations: validate(format, body) }).toEqual({ format, violations: [] })
}

/** Undefined where the call was refused for this reason; any other error is a failure. */
export async function ifAny<T>(
  call: Promise<T>,
  code: 'cannot-project' | 'cannot-undo',
): Promise<T | undefined> {
  try {
    return await call
  } catch (error) {
    if (OrielError.is(error, code)) return undefined
    throw error
  }
}

/** What no model may ever see. */
export const secret = 'For people only'

const audiences = [
  undefined,
  { now: false, later: false },
  { later: false },
  { now: false },
] as const

function draftsOf(whole: Whole, note: Note, waiting: string[]): readonly object[] {
  whole.count += 1
  const name = `N${whole.count}`
  const text = { type: 'text', text: `${name} ${'some words to say '.repeat(8)}` }
  switch (note.kind) {
    case 'late': {
      const callId = waiting.shift()
      return callId === undefined ? [] : [resultOf({ callId, name, shape: whole.count })]
    }
    case 'exchange': {
      const ids = Array.from({ length: note.calls }, (_, index) => `${name}_${index}`)
      const answered = ids.slice(0, note.results)
      waiting.push(...ids.slice(note.results))
      const results = answered.map((callId, index) =>
        resultOf({ callId, name, shape: note.shape + index }),
      )
      return [callsOf(ids, note.shape), ...(note.shape === 4 ? [merged(results)] : results)]
    }
    case 'fading':
      return [
        {
          role: 'user',
          content: [text, { ...text, lifetime: { [note.unit]: note.count } }],
        },
      ]
    case 'expiring':
      return [
        {
          role: 'user',
          origin: 'host',
          kind: 'note',
          expiry: { after: note.after, mode: 'compact', length: 10 },
          content: [text],
        },
      ]
    default: {
      const { kind, audience: which } = note
      const role = kind === 'host' ? 'user' : kind === 'answer' ? 'assistant' : kind
      const audience = audiences[which]
      const own = which === 1 ? { ...text, text: `${secret} ${name}` } : text
      const around = audience === undefined ? {} : { audience }
      const origin = kind === 'host' ? { origin: 'host' } : {}
      // The whole message, or one block of it.
      return whole.count % 2 === 0
        ? [{ role, ...origin, content: [own], ...around }]
        : [{ role, ...origin, content: [text, { ...own, ...around }] }]
    }
  }
}

function callsOf(ids: readonly string[], shape: number): object {
  const thought = { type: 'reasoning', text: 'let me see', signature: `sig ${ids[0]}` }
  const calls = ids.map((callId, index) => ({
    type: 'tool-call',
    callId,
    name: ['read_file', 'search', 'bash'][index % 3],
    arguments: `{"path":"${callId}.ts"}`,
  }))
  return { role: 'assistant', content: [...(shape % 2 === 1 ? [thought] : []), ...calls] }
}

function resultOf({
  callId,
  name,
  shape,
}: {
  readonly callId: string
  readonly name: string
  readonly shape: number
}): { readonly role: string; readonly content: readonly object[] } {
  const output = `${name} ${'a line of output with order W7342\n'.repeat(20)}`
  const text = { type: 'text', text: output }
  const picture = { type: 'image', mediaType: 'image/png', data: 'iVBORw0KGgo=' }
  const hidden = { ...text, text: `${secret} ${name}`, audience: { now: false, later: false } }
  const base = { type: 'tool-result', callId }
  const shapes = [
    { ...base, content: output },
    { ...base, content: [text, picture] },
    { ...base, content: output, isError: true },
    { ...base, content: JSON.stringify(Array.from({ length: 30 }, (_, n) => ({ n, name }))) },
    { ...base, content: [picture] },
    { ...base, content: [text, hidden] },
  ]
  return { role: 'tool', content: [shapes[shape % shapes.length] as object] }
}

function merged(results: readonly { readonly content: readonly object[] }[]): object {
  return { role: 'tool', content: results.flatMap(({ content }) => content) }
}
