// Tags in the content of a conversation, so that a test can tell what became of each block of it, whatever format it went to.

import { type Block, textOf } from '../src/core/log/block.ts'
import type { Draft } from '../src/core/log/entry.ts'
import { blockId, fixedSalt } from '../src/core/log/ids.ts'
import { isObject, type Json, type JsonObject } from '../src/core/log/json.ts'
import { State } from '../src/core/state/state.ts'
import { frameTokens } from '../src/core/tokens/tally.ts'
import { resolveCounter } from '../src/counters.ts'
import { feed } from '../src/feed.ts'
import { parsePolicy } from '../src/policy/schema.ts'
import type { ProjectOptions } from '../src/project.ts'
import type { FormatName } from '../src/providers/format.ts'
import { formatNamed } from '../src/providers/registry.ts'
import { sha256 } from '../src/sha256.ts'
import type { Conversation } from '../src/testing/arbitraries.ts'
import { type WildPolicy, wildRules } from './wild-rule.ts'

/** Texts get their tag in front, where clipping leaves it. */
const textKeys = [
  ...['text', 'content', 'output', 'value', 'refusal', 'result', 'error'],
  ...['thinking', 'reasoning', 'reasoning_content'],
]
/** Addresses and sealed data get it at the end, where nobody looks. */
const sealedKeys = [
  ...['url', 'image_url', 'file_url', 'file_id', 'file_data', 'data'],
  ...['signature', 'encrypted_content', 'fileUri', 'thoughtSignature'],
]
const argumentKeys = ['arguments', 'input', 'args']

/** A copy in which every piece of content that is not blank has a tag of its own. */
export function tagged(messages: Conversation): Conversation {
  let count = 0
  const nextTag = (): string => `Tq${count++}z`
  const walk = (value: Json, key: string): Json => {
    if (typeof value === 'string') return tagString(value, key, nextTag)
    if (typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) return value.map((item: Json) => walk(item, ''))
    if (key === 'input' || key === 'args') return { ...(value as JsonObject), tag: nextTag() }
    if (key.startsWith('x')) return value
    const fields = Object.entries(value).map(([name, field]) => [name, walk(field, name)])
    const copy = Object.fromEntries(fields) as JsonObject
    // A response of Gemini is read as JSON, so it says something also where none of its texts does.
    const isText = fields.length === 1 && typeof Object.values(copy)[0] === 'string'
    const isUnsaid = key === 'response' && tagsIn(JSON.stringify(copy)).length === 0
    return isUnsaid && !isText ? { ...copy, tag: nextTag() } : copy
  }
  return messages.map((message) => walk(message, '') as JsonObject)
}

function tagString(text: string, key: string, nextTag: () => string): string {
  if (text.trim() === '') return text
  if (textKeys.includes(key)) return `${nextTag()} ${text}`
  if (sealedKeys.includes(key)) return `${text}${nextTag()}`
  if (!argumentKeys.includes(key)) return text
  if (!text.startsWith('{')) return `${nextTag()} ${text}`
  const isEmpty = text.slice(1).trim() === '}'
  return `{"tag":"${nextTag()}"${isEmpty ? '' : ','}${text.slice(1)}`
}

/** A block of a tagged conversation. */
export interface TaggedBlock {
  readonly id: string
  /** Index of the message it came from. */
  readonly index: number
  readonly type: string
  readonly tags: readonly string[]
  /** Those of a result's own text, or all: pictures may stay where the text of a result is omitted. */
  readonly ownTags: readonly string[]
  /** Characters of its text, for texts and results. */
  readonly length: number
  /** Whether a picture, a file or something unknown is in it. */
  readonly hasMedia: boolean
}

/** What of a call of `project` decides where its messages stand in the log that it makes. */
export interface Projected {
  readonly policy: WildPolicy | undefined
  readonly options: ProjectOptions & { readonly format: FormatName }
}

/** Every block that `project` reads in a tagged conversation, with the id that the trace gives it. */
export function blocksOf(messages: Conversation, projected: Projected): readonly TaggedBlock[] {
  const decoded = formatNamed(projected.options.format).decode(messages, 'messages')
  const seqs = seqsOf(
    decoded.map(({ draft }) => draft),
    projected,
  )
  return decoded.flatMap(({ draft, from }, position) => {
    const blocks =
      typeof draft.content === 'string'
        ? [{ type: 'text', text: draft.content } as const]
        : draft.content
    return blocks.map((block, index) => ({
      id: blockId(fixedSalt, seqs[position] as number, index),
      index: from,
      type: block.type,
      tags: tagsIn(JSON.stringify(contentOf(block))),
      ownTags: tagsIn(block.type === 'tool-result' ? textOf(block.content) : JSON.stringify(block)),
      length: lengthOf(block),
      hasMedia: /"type":"(image|file|opaque)"/.test(JSON.stringify(block)),
    }))
  })
}

/** Where each message stands in the log: a schedule that looks back puts edits between them. */
function seqsOf(drafts: readonly Draft[], { policy, options }: Projected): readonly number[] {
  const counter = resolveCounter(options.tokens)
  const state = new State({ counter, salt: fixedSalt })
  const around = frameTokens(counter, options.frame)
  feed(state, drafts, parsePolicy(policy, 'policy', wildRules), {
    now: 0,
    sha256,
    frameTokens: around,
    rules: wildRules,
  })
  const seqs = Array.from({ length: state.version }, (_, index) => index + 1)
  return seqs.filter((seq) => state.item(seq) !== undefined)
}

/** What a block says. Other fields of a call are replayed only to the format that they came from. */
function contentOf(block: Block): Block {
  if (block.type !== 'tool-call') return block
  const { extra: _, ...rest } = block
  return rest
}

function lengthOf(block: Block): number {
  if (block.type === 'text') return block.text.length
  return block.type === 'tool-result' ? textOf(block.content).length : 0
}

export function tagsIn(text: string): readonly string[] {
  return text.match(/Tq\d+z/g) ?? []
}

/** Tags of what a projection shows. Notes of Oriel's own may quote a tag, and show nothing. */
export function shownTags(projection: {
  readonly messages: readonly unknown[]
  readonly system?: unknown
}): readonly string[] {
  return stringsIn([projection.system ?? [], projection.messages])
    .filter((text) => !text.startsWith('[Omitted: ') && !isDigest(text) && !isCheckpoint(text))
    .flatMap(tagsIn)
}

/** Whether a text is the summary of a checkpoint. */
export function isCheckpoint(text: string): boolean {
  return text.startsWith('[Previous conversation summary]')
}

/** Whether a text is the note that stands for messages which were folded away; the user's instructions among them stand before it, word for word. */
export function isDigest(text: string): boolean {
  return /^(?:Standing instructions of the user[\s\S]*\n\n)?\[\d+ earlier messages? left out/.test(
    text,
  )
}

/** Every string in a value, in order. */
export function stringsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value]
  if (Array.isArray(value)) return value.flatMap(stringsIn)
  return isObject(value) ? Object.values(value).flatMap(stringsIn) : []
}
