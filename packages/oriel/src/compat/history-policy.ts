// Document 002's own function, over `project`.

import { OrielError } from '../core/log/errors.ts'
import { isObject } from '../core/log/json.ts'
import { assertOptions, type OptionNames } from '../core/log/options.ts'
import { describe } from '../policy/schema.ts'
import { project } from '../project.ts'
import type { FormatName } from '../providers/format.ts'
import { toPlain } from '../providers/langchain/rules.ts'
import { history } from '../rules/history.ts'

export interface HistoryPolicyOptions {
  /** @default 'lastN' */
  readonly historyPolicy?: 'lastN' | 'all' | 'none'
  /** User messages that `lastN` keeps; 0 and less mean 1. @default 20 */
  readonly historyLength?: number
  /** @default true */
  readonly preserveSystemMessages?: boolean
}

const policyOptions: OptionNames<HistoryPolicyOptions> = {
  historyPolicy: true,
  historyLength: true,
  preserveSystemMessages: true,
}

const policies: readonly unknown[] = ['lastN', 'all', 'none']

/**
 * The messages that the history policy keeps: the very objects of the input, in their order; `all` gives the very array. Null,
 * undefined and an empty list give an empty list. An exchange that began before the window is dropped whole. Messages of OpenAI chat,
 * Anthropic, the AI SDK and LangChain are distinguished by their shape; a role that none of them knows, such as `data`, is an ordinary message. Fields
 * that an application adds to its messages (ids, dates, attachments) are not looked at.
 *
 * Throws OrielError: 'invalid-option' with the name of the option, 'invalid-input' and 'not-json' for what is no message.
 */
export function applyHistoryPolicy<M>(
  messages: readonly M[] | null | undefined,
  options: HistoryPolicyOptions = {},
): M[] {
  assertOptions(options, policyOptions, 'applyHistoryPolicy')
  const {
    historyPolicy = 'lastN',
    historyLength = history.defaults.length,
    preserveSystemMessages = true,
  } = options
  if (!policies.includes(historyPolicy)) {
    throw invalidOption('historyPolicy', `one of ${policies.join(', ')}`, historyPolicy)
  }
  if (!Number.isInteger(historyLength) && historyLength !== Infinity) {
    throw invalidOption('historyLength', 'a whole number', historyLength)
  }
  if (typeof preserveSystemMessages !== 'boolean') {
    throw invalidOption('preserveSystemMessages', 'true or false', preserveSystemMessages)
  }
  if (!Array.isArray(messages) || messages.length === 0) return []
  if (historyPolicy === 'all') return messages
  const format = formatOf(messages)
  const length = Math.max(1, Math.min(historyLength, messages.length))
  const { trace } = project(
    messages.map((message) => (hasUnknownRole(message) ? ordinary : shapeOf(message, format))),
    { history: { policy: historyPolicy, length, preserveSystemMessages } },
    { format },
  )
  const dropped = new Set(trace.filter(({ rule }) => rule === 'history').map(({ index }) => index))
  return messages.filter((_, index) => !dropped.has(index))
}

/** The format whose shapes are among the messages. Plain texts are the same in all of them. */
function formatOf(messages: readonly unknown[]): FormatName {
  for (const message of messages) {
    if (!isObject(message)) continue
    if (isLangchain(message)) return 'langchain'
    if (!Array.isArray(message.content)) continue
    if (message.content.some(isAiSdkPart)) return 'ai-sdk'
    if (message.content.some(isAnthropicBlock)) return 'anthropic'
  }
  return 'openai-chat'
}

const langchainTypes: readonly unknown[] = ['human', 'ai', 'system', 'tool', 'function', 'generic']

/** An instance of its classes, or one of the ways in which they are written down. */
function isLangchain(message: Readonly<Record<string, unknown>>): boolean {
  if (toPlain(message) !== message || isObject(message.kwargs)) return true
  return message.role === undefined && langchainTypes.includes(message.type)
}

function isAiSdkPart(part: unknown): boolean {
  if (!isObject(part)) return false
  const { type } = part
  if (type === 'image') return part.image !== undefined
  if (type === 'file') return part.data !== undefined
  return type === 'tool-call' || type === 'tool-result' || type === 'reasoning'
}

/** In their messages a result stands in the user role: it starts no turn. */
function isAnthropicBlock(block: unknown): boolean {
  return isObject(block) && (block.type === 'tool_use' || block.type === 'tool_result')
}

const roles: readonly string[] = ['system', 'developer', 'user', 'assistant', 'tool', 'function']
/** Of LangChain, besides those. */
const otherRoles: readonly string[] = ['human', 'ai']

function hasUnknownRole(message: unknown): boolean {
  if (!isObject(message) || typeof message.role !== 'string' || message.type !== undefined) {
    return false
  }
  return !roles.includes(message.role) && !otherRoles.includes(message.role)
}

/** The fields by which messages belong together; whatever else an application keeps with them, dates and all, is its own. */
const fields: readonly string[] = [
  'role',
  'content',
  'name',
  'tool_calls',
  'tool_call_id',
  'function_call',
]

/** What the window needs of a message. LangChain's may be instances of its classes: those are read as they are. */
function shapeOf(message: unknown, format: FormatName): unknown {
  if (format === 'langchain' || !isObject(message)) return message
  return Object.fromEntries(
    fields.flatMap((key) => (message[key] === undefined ? [] : [[key, message[key]]])),
  )
}

/** Stands for a message with a role that no format knows: the window only asks that it is no user message. */
const ordinary = { role: 'assistant', content: '-' }

function invalidOption(path: string, allowed: string, got: unknown): OrielError {
  const message = `${path} must be ${allowed}, got ${describe(got)}.`
  return new OrielError('invalid-option', message, { path })
}
