// The AI SDK's pruneMessages with the same arguments, and a result that the SDK accepts.

import { OrielError } from '../core/log/errors.ts'
import { isObject } from '../core/log/json.ts'
import { assertOptions, type OptionNames } from '../core/log/options.ts'
import { project } from '../project.ts'
import { validateAiSdkBody } from '../providers/ai-sdk/rules.ts'

/** Where pruning ends: everywhere, or before the newest messages. */
export type PruneBefore = 'all' | 'before-last-message' | `before-last-${number}-messages`

export interface PruneMessagesOptions<M> {
  readonly messages: readonly M[]
  /** Which reasoning leaves. @default 'none' */
  readonly reasoning?: 'all' | 'before-last-message' | 'none'
  /** Which calls leave, with their results and approvals: everywhere, or of the tools named. @default 'none' */
  readonly toolCalls?:
    | PruneBefore
    | 'none'
    | readonly { readonly type: PruneBefore; readonly tools?: readonly string[] }[]
  /** What becomes of messages that have nothing left. @default 'remove' */
  readonly emptyMessages?: 'keep' | 'remove'
}

const pruneOptions: OptionNames<PruneMessagesOptions<unknown>> = {
  messages: true,
  reasoning: true,
  toolCalls: true,
  emptyMessages: true,
}

/**
 * The AI SDK's `pruneMessages`: the same arguments, and the same result wherever that is valid. Where it is not (a history that was
 * interrupted, results without calls, ids that are used twice), it is repaired as `project` does.
 *
 * Throws OrielError 'invalid-option' for a value that it does not know.
 */
export function pruneMessages<M>(options: PruneMessagesOptions<M>): M[] {
  assertOptions<PruneMessagesOptions<M>>(options, pruneOptions, 'pruneMessages')
  const { messages, reasoning = 'none', toolCalls = 'none', emptyMessages = 'remove' } = options
  if (!Array.isArray(messages)) throw wrongChoice('messages', ['a list of messages'])
  oneOf('reasoning', reasoning, ['all', 'before-last-message', 'none'])
  oneOf('emptyMessages', emptyMessages, ['keep', 'remove'])
  const scopes = scopesOf(toolCalls)
  const reasoned = reasoning === 'none' ? [...messages] : withoutReasoning(messages, reasoning)
  const pruned = scopes.reduce<M[]>(withoutCalls, reasoned)
  const left = emptyMessages === 'keep' ? pruned : pruned.filter((one) => !isEmpty(one))
  if (left.length === 0 || validateAiSdkBody(left).length === 0) return left
  return project<M>(left, {}, { format: 'ai-sdk' }).messages
}

/** One rule for calls: how many of the newest messages it spares, and which tools it is about. */
interface Scope {
  readonly spared: number
  readonly tools: readonly string[] | undefined
}

function scopesOf(toolCalls: PruneMessagesOptions<unknown>['toolCalls']): readonly Scope[] {
  if (toolCalls === undefined || toolCalls === 'none') return []
  if (typeof toolCalls === 'string') return [{ spared: sparedBy(toolCalls), tools: undefined }]
  if (!Array.isArray(toolCalls)) throw wrongChoice('toolCalls', befores)
  return toolCalls.map((one: unknown) => {
    if (!isObject(one)) throw wrongChoice('toolCalls', ['a list of { type, tools }'])
    const { type, tools } = one
    if (tools !== undefined && !Array.isArray(tools)) {
      throw wrongChoice('toolCalls.tools', ['a list of names'])
    }
    return { spared: sparedBy(type), tools }
  })
}

const befores = ['all', 'before-last-message', 'before-last-<n>-messages', 'none']

function sparedBy(type: unknown): number {
  if (type === 'all') return 0
  if (type === 'before-last-message') return 1
  const count = /^before-last-(\d+)-messages$/.exec(String(type))?.[1]
  if (count === undefined) throw wrongChoice('toolCalls', befores)
  return Number(count)
}

type Part = Readonly<Record<string, unknown>>

function withoutReasoning<M>(messages: readonly M[], which: string): M[] {
  return messages.map((message, index) => {
    const isSpared = which === 'before-last-message' && index === messages.length - 1
    if (isSpared || roleOf(message) !== 'assistant') return message
    return keeping(message, (part) => !isReasoning(part))
  })
}

function withoutCalls<M>(messages: readonly M[], { spared, tools }: Scope): M[] {
  const end = spared === 0 ? messages.length : Math.max(0, messages.length - spared)
  const parts = messages.flatMap(toolPartsOf)
  const toolOfCall = new Map(
    parts.filter(isCallOrResult).map((part) => [part.toolCallId, part.toolName]),
  )
  const requests = parts.filter(({ type }) => type === 'tool-approval-request')
  const callOfApproval = new Map(requests.map((part) => [part.approvalId, part.toolCallId]))
  const kept = messages.slice(end).flatMap(toolPartsOf)
  const approvals = new Set(
    kept.filter((part) => !isCallOrResult(part)).map((part) => part.approvalId),
  )
  const calls = new Set(kept.filter(isCallOrResult).map((part) => part.toolCallId))
  for (const approval of approvals) {
    if (callOfApproval.has(approval)) calls.add(callOfApproval.get(approval))
  }
  const stays = (part: Part): boolean => {
    if (!toolTypes.has(part.type)) return true
    const isOfCall = isCallOrResult(part)
    if (isOfCall ? calls.has(part.toolCallId) : approvals.has(part.approvalId)) return true
    const tool = isOfCall ? part.toolName : toolOfCall.get(callOfApproval.get(part.approvalId))
    return tools !== undefined && typeof tool === 'string' && !tools.includes(tool)
  }
  return messages.map((message, index) => {
    const role = roleOf(message)
    if (index >= end || (role !== 'assistant' && role !== 'tool')) return message
    const leaving =
      role === 'assistant' ? reasoningOfLeaving(partsOf(message), stays) : new Set<Part>()
    return keeping(message, (part) => stays(part) && !leaving.has(part))
  })
}

/** Reasoning leads to what follows it, and leaves when all of that does. */
function reasoningOfLeaving(
  parts: readonly Part[],
  stays: (part: Part) => boolean,
): ReadonlySet<Part> {
  const leaving = new Set<Part>()
  let run: Part[] = []
  let results: Part[] = []
  const close = (): void => {
    if (results.length > 0 && !results.some(stays)) for (const part of run) leaving.add(part)
    run = []
    results = []
  }
  for (const part of parts) {
    if (!isReasoning(part)) results.push(part)
    else {
      if (results.length > 0) close()
      run.push(part)
    }
  }
  close()
  return leaving
}

const toolTypes: ReadonlySet<unknown> = new Set([
  'tool-call',
  'tool-result',
  'tool-approval-request',
  'tool-approval-response',
])

function isCallOrResult({ type }: Part): boolean {
  return type === 'tool-call' || type === 'tool-result'
}

function isReasoning({ type }: Part): boolean {
  return type === 'reasoning' || type === 'reasoning-file'
}

function toolPartsOf(message: unknown): readonly Part[] {
  const role = roleOf(message)
  if (role !== 'assistant' && role !== 'tool') return []
  return partsOf(message).filter(({ type }) => toolTypes.has(type))
}

function roleOf(message: unknown): unknown {
  return isObject(message) ? message.role : undefined
}

function partsOf(message: unknown): readonly Part[] {
  const content = isObject(message) ? message.content : undefined
  return Array.isArray(content) ? content.filter(isObject) : []
}

/** The message with some of its parts; the very message where all of them stay. */
function keeping<M>(message: M, stays: (part: Part) => boolean): M {
  const content: unknown = isObject(message) ? message.content : undefined
  if (!Array.isArray(content)) return message
  const left = content.filter((part) => !isObject(part) || stays(part))
  // Only its content is another one: the type stays.
  return left.length === content.length ? message : ({ ...message, content: left } as M)
}

function isEmpty(message: unknown): boolean {
  const content: unknown = isObject(message) ? message.content : undefined
  return (typeof content === 'string' || Array.isArray(content)) && content.length === 0
}

function oneOf(path: string, value: unknown, allowed: readonly string[]): void {
  if (!allowed.includes(value as string)) throw wrongChoice(path, allowed)
}

function wrongChoice(path: string, allowed: readonly string[]): OrielError {
  return new OrielError('invalid-option', `${path} must be one of: ${allowed.join(', ')}.`, {
    path,
  })
}
