// What comes in and becomes entries: messages that are new, and what a resent history says beside them.

import type { Draft, EditEntry, Entry, MessageEntry } from '../core/log/entry.ts'
import { OrielError } from '../core/log/errors.ts'
import { cloneJson, equalJson, isObject } from '../core/log/json.ts'
import { settings } from '../core/log/settings.ts'
import type { State } from '../core/state/state.ts'
import { countBlock } from '../core/tokens/counter.ts'
import { reduce } from '../core/view/render.ts'
import { detectForms, type Form } from '../providers/detect.ts'
import type { Decoded, FormatName } from '../providers/format.ts'
import { decodeNeutral } from '../providers/neutral/index.ts'
import { decodeWithOwnFields } from '../providers/own-fields.ts'
import { formatNamed } from '../providers/registry.ts'
import type { WriteOptions } from '../stores/store.ts'
import type { KeyMatch, SeqRevision } from './branches/sync.ts'
import type { Batch } from './journal/batch.ts'
import type { EntryBody, Journal, Stamp } from './journal/journal.ts'
import type { Usage } from './view/read-usage.ts'

/** A history that a client resends: system messages in front, and the conversation. */
export interface History {
  readonly leading: readonly Draft[]
  readonly conversation: readonly Draft[]
}

/** Results that a client reduced in the history it resends: the view follows, the log keeps the originals. */
export function revisionEdits(
  state: State,
  revisions: readonly SeqRevision[],
): readonly EntryBody<EditEntry>[] {
  return revisions.flatMap(({ seq, block, text }) => {
    const item = state.item(seq)
    const original = item?.entry.blocks[block]
    if (item === undefined || original === undefined) return []
    const edits = state.blockEdits(seq, block)
    const isKnown = edits.some((edit) => edit.rule === 'client' && edit.text === text)
    // A rule that already shows less of it wins.
    const isWeaker = edits.some(({ form }) => form !== 'clipped' && form !== 'full')
    if (isKnown || isWeaker || state.isVetoed(seq, block, 'clipped')) return []
    const shown = reduce(original, { form: 'clipped', text })
    return [
      {
        type: 'edit',
        epoch: `c${state.version.toString(36)}`,
        rule: 'client',
        form: 'clipped',
        target: { seq, block },
        text,
        reason: 'the client sends it so',
        tokensBefore: item.tokens[block] ?? 0,
        tokensAfter: shown === undefined ? 0 : countBlock(state.counter, shown),
      },
    ]
  })
}

/** Says nothing for a history without system messages: formats that keep system text elsewhere never send it. */
export function leadingSetting(
  journal: Journal,
  leading: readonly Draft[],
  stamp: Stamp,
): readonly Entry[] {
  if (leading.length === 0) return []
  if (equalJson(journal.setting(settings.leading), leading)) return []
  // A copy has the shape of the original.
  const copy = cloneJson(leading, 'history') as unknown as readonly Draft[]
  return [stamp.entry(settings.leading.body(copy))]
}

/** The mark of an answer that the next one continues with: the newest of all messages, where it is the assistant's. */
export function continueMark(
  { newestAssistant, exchanges }: State,
  appended: readonly MessageEntry[],
  stamp: Stamp,
): readonly Entry[] {
  const last = appended.at(-1) ?? { role: 'assistant', seq: newestAssistant }
  const { seq: target } = last
  const isOpen = last.role === 'assistant' && target !== exchanges.parts.open
  return isOpen && target !== undefined
    ? [stamp.entry({ type: 'mark', mark: 'continue', target })]
    : []
}

export function messagesOf(entries: readonly Entry[]): readonly MessageEntry[] {
  return entries.filter((entry): entry is MessageEntry => entry.type === 'message')
}

/** Drafts whose id neither the log nor an earlier draft has. */
export function freshDrafts(
  state: State,
  drafts: readonly Draft[],
  known: ReadonlySet<string>,
): readonly Draft[] {
  if (drafts.every(({ id }) => id === undefined)) return drafts
  const seen = new Set<string>(known)
  return drafts.filter(({ id }) => {
    if (id === undefined) return true
    if (seen.has(id) || state.seqOf(id) !== undefined) return false
    seen.add(id)
    return true
  })
}

/** A whole state knows all ids. */
export const noIds: ReadonlySet<string> = new Set()

/** Ids that only the store knows: of messages from before the snapshot that the state began from. */
export async function knownIds(
  journal: Journal,
  drafts: readonly Draft[],
): Promise<ReadonlySet<string>> {
  const known = new Set<string>()
  for (const { id } of drafts) {
    if (id !== undefined && (await journal.seqOf(id)) !== undefined) known.add(id)
  }
  return known
}

export interface AppendOptions {
  /** @default Oriel's own messages stay as they are; others are read by the format that they show, and refused where that is not clear */
  readonly format?: FormatName
  /**
   * Whether `expiry`, `kind`, `tool`, `origin`, `audience` and `meta` of a message, `lifetime` and `audience` of its parts are Oriel's own
   * fields, which act and are never sent. False for messages as a provider or a client wrote them. @default true
   */
  readonly ownFields?: boolean
  /** Messages that the log must have; with another number it rejects with 'unexpected-head'. @default any */
  readonly expected?: number
  /**
   * For messages that a client which resends its history never saw: the one message, in the same format, that it sends in their place,
   * or none. `sync` then finds it there and the view still shows what was appended. @default they are resent as they are
   */
  readonly resentAs?: readonly unknown[]
  /** Whether the provider paused the answer: the next request continues with it, and what comes then is a part of it. @default false */
  readonly isPaused?: boolean
  /** The provider's own numbers, and the view that they are for: written in the same append. @default none */
  readonly usage?: { readonly sample: object; readonly view: string }
}

/** How messages are appended. */
export interface AppendAround {
  /** Messages that the log must have. @default any */
  readonly expected?: number | undefined
  /** Whether the next answer continues with the last of them. @default false */
  readonly isPaused?: boolean | undefined
  /** The provider's own numbers, and the view that they are for: written in the same append. @default none */
  readonly usage?: { readonly sample: Usage; readonly view: string } | undefined
}

/** How a resent history is written. */
export interface HistoryAround {
  /** What is already there, at the moment of writing. */
  readonly meet: () => KeyMatch
  /** Whether it waits in a batch for the view that follows, which commits it. */
  readonly isBatched: boolean
  /** Whether the conversation came from another branch: the policy in force goes along. */
  readonly isMoved: boolean
  /** Whether the answer continues with its last message, where that is the assistant's. */
  readonly isContinuing: boolean
}

/** How a view is made beside what was asked for. */
export interface ViewAround extends WriteOptions {
  /** Whether the provider refused the one before as too long. @default false */
  readonly isRecovery?: boolean
}

export interface WrittenHistory {
  readonly meeting: KeyMatch
  readonly appended: readonly MessageEntry[]
  /** The batch that it waits in; undefined once it is written. */
  readonly batch: Batch | undefined
}

/** The state, if it has as many messages as expected. Refuses by a code that does not make `commit` try again. */
export function withCount(state: State, expected: number | undefined): State {
  if (expected === undefined || state.messageCount === expected) return state
  throw new OrielError(
    'unexpected-head',
    `The thread has ${state.messageCount} messages, not ${expected}. Read again and decide.`,
  )
}

/**
 * Messages of a format as drafts. Without one, Oriel's own messages, and foreign ones by the format that they show; what shows none, or
 * several, is refused.
 */
export function decodeDrafts(
  messages: readonly unknown[],
  { format, path, ownFields = true }: DecodeOptions,
): readonly Draft[] {
  if (format !== undefined) {
    return decodeForeign(messages, { form: format, path, ownFields }).map(({ draft }) => draft)
  }
  const forms = detectForms(messages, path)
  const drafts: Draft[] = []
  // Neighbours in one form are read together: in some formats several of them are one message.
  for (let from = 0; from < messages.length; ) {
    const form = forms[from] as Form
    const end = forms.findIndex((other, index) => index > from && other !== form)
    const to = end === -1 ? messages.length : end
    drafts.push(...decodeRun(messages, { form, path, ownFields, from, to }))
    from = to
  }
  return drafts
}

interface DecodeOptions {
  readonly format: FormatName | undefined
  readonly path: string
  /** Whether fields of ours are taken off. @default true */
  readonly ownFields?: boolean | undefined
}

function decodeForeign(
  messages: readonly unknown[],
  { form, path, ownFields }: { form: FormatName; path: string; ownFields: boolean },
): readonly Decoded[] {
  const format = formatNamed(form)
  return ownFields ? decodeWithOwnFields(format, messages, path) : format.decode(messages, path)
}

interface FormRun {
  readonly form: Form
  readonly ownFields: boolean
  readonly path: string
  readonly from: number
  readonly to: number
}

/** Messages of one form, each at its own place in the list, so that errors name it. */
function decodeRun(
  messages: readonly unknown[],
  { form, path, ownFields, from, to }: FormRun,
): readonly Draft[] {
  const run = messages.slice(from, to)
  const hasOwnIds = form === 'neutral' || formatNamed(form).hasMessageIds === true
  const read = hasOwnIds ? run : run.map(withoutId)
  try {
    const decoded =
      form === 'neutral'
        ? decodeNeutral(read, path)
        : decodeForeign(read, { form, path, ownFields })
    return hasOwnIds
      ? decoded.map(({ draft }) => draft)
      : decoded.map((one, index) => named(one, run, decoded.slice(0, index)))
  } catch (error) {
    if (from === 0 || !OrielError.is(error) || error.path === undefined) throw error
    const shift = (text: string): string =>
      text.replace(`${path}[`, `${path}[${from} + `).replace(/\[(\d+) \+ (\d+)/, sum)
    throw new OrielError(error.code, shift(error.message), {
      path: shift(error.path),
      cause: error,
    })
  }
}

function sum(_text: string, from: string, index: string): string {
  return `[${Number(from) + Number(index)}`
}

/** The id is the caller's, and no field of the format. */
function withoutId(message: unknown): unknown {
  if (!isObject(message)) return message
  const { id: _id, ...rest } = message
  return rest
}

/** A draft under the id that the caller gave its message; what else came out of the same message is numbered. */
function named(
  { draft, from, to }: Decoded,
  messages: readonly unknown[],
  before: readonly Decoded[],
): Draft {
  const message = messages[from]
  const id = isObject(message) ? message.id : undefined
  if (typeof id !== 'string' || draft.id !== undefined || to - from > 1) return draft
  const count = before.filter((other) => other.from === from).length
  return { ...draft, id: count === 0 ? id : `${id}#${count}` }
}
