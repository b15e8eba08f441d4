// Import of a history in a provider's format: each conversation becomes a thread.

import { createHash } from 'node:crypto'
import {
  type Block,
  canonicalJson,
  type Decoded,
  type Draft,
  decode,
  type Json,
  type MessageEntry,
  openThread,
  type Store,
  type ThreadKey,
} from 'oriel'
import { wrong } from '../doctor/store-options.ts'
import { plural } from '../render/layout.ts'
import { type Conversation, readValue } from '../transcript/conversation.ts'
import { readTranscripts } from '../transcript/read.ts'
import { type Imported, refusalOf } from './export-file.ts'
import type { Outcome } from './outcome.ts'
import type { FileSettings } from './settings.ts'
import { parse, type Source } from './source.ts'

/** The frame of a request belongs to the caller, in threads as in `project`. */
const frameNote =
  'system text and tools beside the messages were left out: pass them to view() as its frame'

/** Hash length that avoids collisions and cannot be guessed. */
const idLength = 32

export async function importHistories(
  source: Source,
  settings: FileSettings,
  around: { readonly store: Store; readonly onBytes: (bytes: number) => void },
): Promise<Imported> {
  const { store, onBytes } = around
  const notes: string[] = []
  const outcomes: Outcome[] = []
  const conversations = readTranscripts([settings.file], {
    format: settings.format,
    stdin: source.chunks(),
    onNote: ({ text }) => notes.push(text),
    onBytes,
  })
  // Holds back one conversation: only after the last one is it known whether its end is torn, and
  // whether it is the only one.
  let held: Conversation | undefined
  let hasFrame = false
  for await (const conversation of conversations) {
    if (settings.thread !== undefined && held !== undefined) {
      throw wrong('--thread names one thread; the file holds several conversations.')
    }
    if (held !== undefined) outcomes.push(await importOne(held, settings, store))
    held = conversation
    hasFrame ||= Object.keys(conversation.frame).length > 0
  }
  const isTorn = notes.some((note) => note.includes('is torn'))
  if (held !== undefined && isTorn && (await hasLooseMessages(source))) {
    const reason = 'its last line is torn, so it is not whole; remove that line to import the rest'
    outcomes.push({ type: 'refused', what: nameOf(held), reason })
  } else if (held !== undefined) outcomes.push(await importOne(held, settings, store))
  if (hasFrame) notes.push(frameNote)
  return { outcomes, notes, isWhole: !isTorn }
}

async function importOne(
  conversation: Conversation,
  settings: FileSettings,
  store: Store,
): Promise<Outcome> {
  const { messages, detection } = conversation
  const { format } = detection
  try {
    const decoded = decode(format, messages)
    if (decoded.length === 0) return refused(conversation, 'it has no messages')
    const { tenant = 'default', thread = idOf(format, messages as readonly Json[]) } = settings
    const key = { tenant, thread }
    const known = await messagesOf(store, key)
    const remark = `${plural(messages.length, 'message')} of ${nameOf(conversation)}, ${format}`
    if (known.length > 0) {
      if (isBeginning(decoded, known)) return { type: 'already there', key, remark }
      const other = 'the store has a thread of that id with other content; name another --thread'
      return refused(conversation, other)
    }
    // Uses the time of the import: histories seldom have timestamps.
    const opened = await openThread({ id: thread, tenant, store })
    await opened.append(messages, { format, ownFields: false })
    await opened.settled()
    return { type: 'imported', key, remark }
  } catch (error) {
    const reason = refusalOf(error)
    if (reason === undefined) throw error
    return refused(conversation, reason)
  }
}

function refused(conversation: Conversation, reason: string): Outcome {
  return { type: 'refused', what: nameOf(conversation), reason }
}

function nameOf({ number, id }: Conversation): string {
  return id === undefined ? `conversation #${number}` : `conversation #${number} (${id})`
}

/** A content-derived id, so that a repeated import finds the thread again. */
function idOf(format: string, messages: readonly Json[]): string {
  const hash = createHash('sha256').update(canonicalJson([format, messages]))
  return `h${hash.digest('hex').slice(0, idLength)}`
}

async function messagesOf(store: Store, key: ThreadKey): Promise<readonly MessageEntry[]> {
  const messages: MessageEntry[] = []
  for await (const entry of store.read(key)) if (entry.type === 'message') messages.push(entry)
  return messages
}

/** True if a thread starts with exactly these messages. It may have continued since. */
function isBeginning(decoded: readonly Decoded[], known: readonly MessageEntry[]): boolean {
  return decoded.every(({ draft }, index) => {
    const entry = known[index]
    return entry !== undefined && ofDraft(draft) === ofEntry(entry)
  })
}

function ofDraft(draft: Draft): string {
  const { content, role, origin = role, extra, native } = draft
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : content
  return canonical({ role, origin, blocks, extra, native })
}

function ofEntry({ role, origin, blocks, extra, native }: MessageEntry): string {
  return canonical({ role, origin, blocks: blocks.map(withoutId), extra, native })
}

/** Removes the block id, which the log assigns. */
function withoutId(block: Block): Block {
  const { id: _id, ...rest } = block
  return rest
}

function canonical(value: object): string {
  // Messages are plain JSON; the canonical text omits absent fields.
  return canonicalJson(value as Json)
}

/** True if the file has one message per line, so that a torn line is part of the conversation. */
async function hasLooseMessages(source: Source): Promise<boolean> {
  for await (const { text } of source.lines()) {
    if (readValue(parse(text)).type === 'message') return true
  }
  return false
}
