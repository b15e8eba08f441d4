// When is a message that a client sends again the one that is already in the log? Decided by what it visibly says: see
// docs/decisions/0002-what-clients-resend.md for what real clients change on the way.

import { hash } from 'node:crypto'
import {
  type Block,
  type ToolCallBlock,
  type ToolResultBlock,
  textOf,
} from '../../core/log/block.ts'
import {
  canonicalJson,
  isObject,
  type Json,
  type JsonObject,
  parseJson,
} from '../../core/log/json.ts'

export interface Matchable {
  readonly role: string
  readonly blocks: readonly Block[]
}

/**
 * The key of a message: role, visible text, calls (id and name), results (id), pictures and files, and whatever else the client's own
 * side shows. Reasoning, nulls, cache markers, reminders and unknown fields do not count: clients drop and add them freely, and of an
 * answer the blocks that they do not know.
 */
export function keyOf({ role, blocks }: Matchable): string {
  const shown: string[] = []
  const results: string[] = []
  // Clients split and join texts, and trim their ends.
  let text = ''
  for (const block of blocks) {
    // Clients never get what plugins added, so they never send it again.
    if (block.plugin !== undefined) continue
    if (block.type === 'text') text += isReminder(block.text) ? '' : block.text
    else if (block.type === 'tool-result') results.push(block.callId)
    else if (block.type === 'tool-call') shown.push(block.callId, block.name)
    else if (block.type !== 'opaque' || role !== 'assistant') shown.push(...mediaKey(block))
  }
  const parts = [role, text.trim(), ...shown, ...results.sort()]
  return hash('sha256', JSON.stringify(parts), 'base64url').slice(0, 22)
}

/** The key of the newest compaction in a message: the same for the same block, cache marks aside; undefined where there is none. */
export function compactionKeyOf({ role, blocks }: Matchable): string | undefined {
  if (role !== 'assistant') return undefined
  const found = blocks.findLast(
    (block) => block.type === 'opaque' && block.compaction !== undefined,
  )
  if (found?.type !== 'opaque') return undefined
  return hash('sha256', gist(found.value), 'base64url').slice(0, 22)
}

/** What the key leaves out and `compare` looks at: arguments and results. Equal details need no comparison. */
export function detailsOf({ blocks }: Matchable): string {
  const parts = blocks.flatMap((block) => {
    if (block.type === 'tool-call') return [block.callId, canonicalArguments(block.arguments)]
    return block.type === 'tool-result'
      ? [block.callId, resultText(block), ...resultSights(block)]
      : []
  })
  if (parts.length === 0) return ''
  return hash('sha256', JSON.stringify(parts), 'base64url').slice(0, 16)
}

function canonicalArguments(text: string): string {
  const value = objectOf(text)
  return value === undefined ? text : canonicalJson(value as JsonObject)
}

/** Coding agents put notes to the model beside the user's words, and move or drop them later. */
function isReminder(text: string): boolean {
  const trimmed = text.trim()
  return trimmed.startsWith('<system-reminder>') && trimmed.endsWith('</system-reminder>')
}

/** What a block shows that is no text: where it is, what it holds, or what else names it. */
function mediaKey(block: Block): readonly string[] {
  if (block.type === 'opaque') return [gist(block.value)]
  if (block.type !== 'image' && block.type !== 'file') return []
  return [block.url ?? block.data ?? gist(block.extra ?? {})]
}

/** Canonical JSON without nulls and cache markers. */
function gist(value: Json): string {
  return canonicalJson(lean(value))
}

function lean(value: Json): Json {
  if (Array.isArray(value)) return value.map(lean)
  if (!isObject(value)) return value
  const kept = Object.entries(value as JsonObject).filter(
    ([name, field]) => name !== 'cache_control' && field !== null,
  )
  return Object.fromEntries(kept.map(([name, field]) => [name, lean(field as Json)]))
}

/**
 * Whether a client says all that the log has of a message, and nothing else: then its own form of it may be sent. Reasoning may be left
 * out, fields of its own may come and go, and a person's words may have other blanks around them.
 */
export function saysAll(logged: Matchable, sent: Matchable): boolean {
  if (logged.blocks === sent.blocks) return true
  if (logged.role !== sent.role) return false
  const saying = sayingOf(sent)
  if (saying !== sayingOf(logged)) return false
  const thoughts = thoughtsOf(sent)
  // What is nothing but reasoning is known by it.
  const isLeftOut = thoughts === '' && saying !== '[]'
  return isLeftOut || thoughts === thoughtsOf(logged)
}

/** The reasoning of a message: its signatures, or what else there is of it; empty where there is none. */
function thoughtsOf({ blocks }: Matchable): string {
  return blocks
    .flatMap((block) => {
      if (block.type !== 'reasoning') return []
      return [block.signature ?? gist({ ...block.extra, text: block.text ?? null })]
    })
    .join('\n')
}

/** Everything else that it says, in order. Texts that follow each other say what one text says. */
function sayingOf({ role, blocks }: Matchable): string {
  const said: string[][] = []
  for (const block of blocks) {
    if (block.type === 'reasoning') continue
    const [kind, text, ...more] = partOf(block)
    const last = said.at(-1)
    if (kind === 'text' && last?.[0] === 'text' && more.length === 0 && last.length === 2) {
      last[1] += text ?? ''
    } else if (kind !== 'text' || text !== '') said.push([kind, text ?? '', ...more])
  }
  const [first, end] = [said[0], said.at(-1)]
  if (role === 'user' && first?.[0] === 'text') first[1] = (first[1] ?? '').trimStart()
  if (role === 'user' && end?.[0] === 'text') end[1] = (end[1] ?? '').trimEnd()
  return JSON.stringify(said)
}

function partOf(block: Block): readonly [string, ...string[]] {
  if (block.type === 'text') {
    return block.plugin === undefined ? ['text', block.text] : ['text', block.text, block.plugin]
  }
  if (block.type === 'tool-call') {
    return ['call', block.callId, block.name, canonicalArguments(block.arguments)]
  }
  if (block.type !== 'tool-result') return [block.type, ...mediaKey(block)]
  const { callId, content, isError = false } = block
  const blocks = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content
  return ['result', callId, String(isError), sayingOf({ role: 'tool', blocks })]
}

/** A result whose text the client now shows shorter than it was. */
export interface Revision {
  readonly block: number
  readonly text: string
}

/**
 * Whether two messages of one key are the same message. Undefined: they contradict each other. Else what the client reduced of its
 * results: such a client means the model to see less, it does not start another conversation.
 */
export function compare(logged: Matchable, sent: Matchable): readonly Revision[] | undefined {
  const revisions: Revision[] = []
  for (const block of sent.blocks) {
    if (block.type === 'tool-call') {
      const other = logged.blocks.find((one) => isCallOf(one, block.callId))
      if (other !== undefined && !agree(other.arguments, block.arguments)) return undefined
    } else if (block.type === 'tool-result') {
      const position = logged.blocks.findIndex((one) => isResultOf(one, block.callId))
      if (position === -1) continue
      const before = logged.blocks[position] as ToolResultBlock
      const text = resultText(block)
      // Clients leave pictures out later; they do not put others in their place.
      const seen = new Set(resultSights(before))
      if (!resultSights(block).every((sight) => seen.has(sight))) return undefined
      if (text === resultText(before)) continue
      if (!isReduced(before, block)) return undefined
      revisions.push({ block: position, text })
    }
  }
  return revisions
}

/** Whether a client shows less of a result: at most half of it, or a shorter word for a failure. */
function isReduced(before: ToolResultBlock, after: ToolResultBlock): boolean {
  const [was, is] = [resultText(before).length, resultText(after).length]
  const isFailure = before.isError === true && after.isError === true
  return is * 2 <= was || (isFailure && is < was)
}

function isCallOf(block: Block, callId: string): block is ToolCallBlock {
  return block.type === 'tool-call' && block.callId === callId
}

function isResultOf(block: Block, callId: string): boolean {
  return block.type === 'tool-result' && block.callId === callId
}

function resultText({ content }: ToolResultBlock): string {
  return typeof content === 'string' ? content.trim() : textOf(content).trim()
}

function resultSights({ content }: ToolResultBlock): readonly string[] {
  return typeof content === 'string' ? [] : content.flatMap(mediaKey)
}

/**
 * Whether arguments do not contradict each other: on every key that both have, the values are the same. Clients write them anew,
 * leave out what their schema does not know and add its defaults; text that is no JSON object contradicts nothing.
 */
function agree(a: string, b: string): boolean {
  if (a === b) return true
  const [left, right] = [objectOf(a), objectOf(b)]
  if (left === undefined || right === undefined) return true
  return Object.keys(left).every(
    (key) =>
      !Object.hasOwn(right, key) ||
      canonicalJson(left[key] as Json) === canonicalJson(right[key] as Json),
  )
}

function objectOf(text: string): Readonly<Record<string, unknown>> | undefined {
  const value = parseJson(text)
  return isObject(value) ? value : undefined
}
