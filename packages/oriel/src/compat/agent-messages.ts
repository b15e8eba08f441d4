// Messages and settings of document 001's system: `AgentChatMessageMetadata`, its rows of actions, and its override for a run.

import type { Draft, Expiry } from '../core/log/entry.ts'
import { OrielError } from '../core/log/errors.ts'
import { cloneJson, isObject, type Json } from '../core/log/json.ts'
import {
  anyText,
  anything,
  boolean,
  choice,
  count,
  type Infer,
  integer,
  object,
  positive,
  text,
} from '../core/schema/schema.ts'
import type { Policy } from '../policy/schema.ts'
import { formatNamed } from '../providers/registry.ts'
import { defined, readConfig, readList, setting } from './read-config.ts'

const mode = choice('None', 'Remove', 'Compact')
const compactMode = choice('First N Chars', 'AI Summary')
const id = text
const length = positive

const metadataSchema = object({
  messageType: setting(
    choice('action-result', 'sub-agent-result', 'user-input', 'retry-context', 'system'),
  ),
  actionId: setting(id),
  agentActionId: setting(id),
  turnAdded: setting(count),
  expirationTurns: setting(count),
  expirationMode: setting(mode),
  compactMode: setting(compactMode),
  compactLength: setting(length),
  compactPromptId: setting(id),
  wasCompacted: setting(boolean),
  isExpired: setting(boolean),
  originalContent: anything,
  originalLength: setting(count),
  // What the source records is negative where the compacted form is longer.
  tokensSaved: setting(integer),
  timestamp: anything,
  stepId: setting(anyText),
  canExpand: setting(boolean),
})

/** The `AgentChatMessageMetadata` of a message, as its interface declares it. */
export type AgentChatMessageMetadata = Infer<typeof metadataSchema>

export interface AgentChatMessage {
  readonly role: string
  readonly content: unknown
  readonly metadata?: AgentChatMessageMetadata | null | undefined
}

/** Kinds of messages that are no user's words: they begin no turn. */
const kinds = {
  'action-result': { kind: 'tool-result', origin: 'tool' },
  'sub-agent-result': { kind: 'sub-agent-result', origin: 'host' },
  'retry-context': { kind: 'retry-context', origin: 'host' },
  system: { kind: 'system', origin: 'host' },
  'user-input': {},
} as const

/**
 * The messages as messages for `thread.append`.
 *
 * - `expirationTurns`, `expirationMode`, `compactMode`, `compactLength` and `compactPromptId` become the message's own `expiry`, in steps:
 *   the document counts iterations of the agent.
 * - A compacted message gets its `originalContent` back: the log keeps it, and the view compacts it again when it is due.
 * - `messageType` becomes `kind`; results and the host's messages begin no user turn.
 * - The whole metadata stays with the message as `meta`.
 *
 * Throws OrielError: 'invalid-option' for a field of the metadata that the document does not have or whose value does not fit,
 * 'invalid-input' for what is no message.
 */
export function importAgentMessages(messages: readonly AgentChatMessage[]): readonly Draft[] {
  return readList(messages, 'messages', 'invalid-input').flatMap((message, index) => {
    assertMessage(message, `messages[${index}]`)
    const { metadata: given, ...own } = message
    if (given === undefined || given === null) return decodeOne(own, index)
    const path = `messages[${index}].metadata`
    const metadata = readConfig(metadataSchema, given, path)
    const { messageType, originalContent, wasCompacted } = metadata
    const isOriginal = wasCompacted === true && originalContent != null
    const drafts = decodeOne(isOriginal ? { ...own, content: originalContent } : own, index)
    const expiry = expiryOf(metadata)
    const meta = cloneJson(JSON.parse(JSON.stringify(given)), path) as Json
    return drafts.map((draft) => ({
      ...draft,
      ...(messageType == null || draft.role !== 'user' ? {} : kinds[messageType]),
      ...(expiry === undefined ? {} : { expiry }),
      meta,
    }))
  })
}

/** Fields of the source's messages, and those with which OpenAI's name calls and results. */
const messageFields = ['role', 'content', 'metadata', 'name', 'tool_calls', 'tool_call_id']

function assertMessage(message: unknown, path: string): void {
  if (!isObject(message)) {
    throw new OrielError('invalid-input', `${path} must be a message.`, { path })
  }
  const unknown = Object.keys(message).find((name) => !messageFields.includes(name))
  if (unknown === undefined) return
  const at = `${path}.${unknown}`
  const text = `${at} is not known; a message has role, content and metadata.`
  throw new OrielError('invalid-input', text, { path: at })
}

/** The document's content blocks are OpenAI's. */
function decodeOne(message: object, index: number): readonly Draft[] {
  // Before it stand as many as stood before it, so that errors name its place.
  const before = Array.from({ length: index }, () => ({ role: 'user', content: '' }))
  const decoded = formatNamed('openai-chat').decode([...before, message], 'messages')
  return decoded.slice(index).map(({ draft: { native: _, ...draft } }) => draft)
}

interface Row {
  readonly turns?: number | null | undefined
  readonly mode?: Infer<typeof mode> | null | undefined
  readonly compactMode?: Infer<typeof compactMode> | null | undefined
  readonly compactLength?: number | null | undefined
  readonly promptId?: string | null | undefined
}

const modes = { None: 'none', Remove: 'remove', Compact: 'compact' } as const
const compactModes = { 'First N Chars': 'first-chars', 'AI Summary': 'summary' } as const

function expiryOf(metadata: Infer<typeof metadataSchema>): Expiry | undefined {
  const { expirationTurns, expirationMode, compactMode, compactLength, compactPromptId } = metadata
  if (expirationMode == null && expirationTurns == null) return undefined
  return settingOf({
    turns: expirationTurns,
    mode: expirationMode,
    compactMode,
    compactLength,
    promptId: compactPromptId,
  })
}

/** A row as a setting: without turns a result never expires, without a mode nothing happens to it. */
function settingOf({ turns, mode, compactMode, compactLength, promptId }: Row): Expiry {
  return {
    after: turns ?? null,
    mode: mode == null ? 'none' : modes[mode],
    ...defined({
      compact: compactMode == null ? undefined : compactModes[compactMode],
      length: compactLength,
      prompt: promptId,
    }),
  }
}

const actionSchema = object({
  Action: id,
  ResultExpirationTurns: setting(count),
  ResultExpirationMode: setting(mode),
  CompactMode: setting(compactMode),
  CompactLength: setting(length),
  CompactPromptID: setting(id),
  DefaultCompactPromptID: setting(id),
})

/** A row of `AIAgentAction`, with its action's name and that action's default prompt. */
export type AgentActionRow = Infer<typeof actionSchema>

/** The rows of an agent's actions as a policy. Throws OrielError 'invalid-option' with the path of what does not fit. */
export function importAgentActions(rows: readonly AgentActionRow[]): Policy {
  const read = readList(rows, 'rows', 'invalid-option').map((row, index) =>
    readConfig(actionSchema, row, `rows[${index}]`),
  )
  const tools = read.map((row) => [
    row.Action,
    settingOf({
      turns: row.ResultExpirationTurns,
      mode: row.ResultExpirationMode,
      compactMode: row.CompactMode,
      compactLength: row.CompactLength,
      promptId: row.CompactPromptID,
    }),
  ])
  const prompts = read.flatMap(({ Action, DefaultCompactPromptID: prompt }) =>
    prompt == null ? [] : [[Action, { prompt }]],
  )
  return {
    expiry: {
      tools: Object.fromEntries(tools),
      ...(prompts.length === 0 ? {} : { toolDefaults: Object.fromEntries(prompts) }),
    },
  }
}

const overrideSchema = object({
  expirationTurns: setting(count),
  expirationMode: setting(mode),
  compactMode: setting(compactMode),
  compactLength: setting(length),
  compactPromptId: setting(id),
  disableExpiration: setting(boolean),
  preserveOriginalContent: setting(boolean),
})

/** A `messageExpirationOverride` of a run. */
export type MessageExpirationOverride = Infer<typeof overrideSchema>

/** The override of a run as a policy for its views. Throws OrielError 'invalid-option' with the path of what does not fit. */
export function importExpirationOverride(override: MessageExpirationOverride): Policy {
  const read = readConfig(overrideSchema, override, 'messageExpirationOverride')
  const fields = defined({
    after: read.expirationTurns,
    mode: read.expirationMode == null ? undefined : modes[read.expirationMode],
    compact: read.compactMode == null ? undefined : compactModes[read.compactMode],
    length: read.compactLength,
    prompt: read.compactPromptId,
  })
  return {
    expiry: {
      ...(Object.keys(fields).length === 0 ? {} : { override: fields }),
      ...defined({
        disable: read.disableExpiration,
        preserveOriginals: read.preserveOriginalContent,
      }),
    },
  }
}
