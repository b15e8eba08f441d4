// Messages that document 000's system saved: LangChain messages whose `additional_kwargs` say how long each block stays.

import type { Block } from '../core/log/block.ts'
import type { Draft } from '../core/log/entry.ts'
import { OrielError } from '../core/log/errors.ts'
import { cloneJson, isObject, type Json, type JsonObject } from '../core/log/json.ts'
import { assertNoSlip } from '../core/log/options.ts'
import { toPlain } from '../providers/langchain/rules.ts'
import { unwrap, wrap } from '../providers/langchain/wrap.ts'
import { formatNamed } from '../providers/registry.ts'
import { readList } from './read-config.ts'

/**
 * The saved messages as messages for `thread.append`.
 *
 * - `additional_kwargs.original_content` becomes the content, and each block gets the lifetime at its place in
 *   `additional_kwargs.persistentMessageRetentionPolicy`: null stays for ever, N is `{ newer: N }`.
 * - `additional_kwargs.original_ai_content` becomes the content of an AI message.
 * - A message without them is read as LangChain's.
 *
 * Takes instances of LangChain's classes and every way in which they are written down. Throws OrielError: 'invalid-input' with the path
 * of what does not fit, such as a policy that is shorter than its content.
 */
export function importRetainedMessages(messages: readonly unknown[]): readonly Draft[] {
  const list = readList(messages, 'messages', 'invalid-input')
  const restored = list.map((message, index) => restore(message, `messages[${index}]`))
  const drafts = formatNamed('langchain')
    .decode(
      restored.map(({ message }) => message),
      'messages',
    )
    .map(({ draft }) => draft)
  return drafts.map((draft, index) => withLifetimes(draft, restored[index]?.policy))
}

type RetentionPolicy = readonly (number | null)[]

interface Restored {
  readonly message: JsonObject
  readonly policy: RetentionPolicy | undefined
}

function restore(message: unknown, path: string): Restored {
  if (!isObject(message)) throw wrong(path, 'a message', message)
  const value = cloneJson(toPlain(message), path) as JsonObject
  const { wrapping, role, fields, around } = unwrap({ value, path })
  // An instance of a class has its fields at the top, however it is written down.
  const isInstance = typeof (message as { readonly _getType?: unknown })._getType === 'function'
  const at = `${isInstance ? path : fields.path}.additional_kwargs`
  const { additional_kwargs: kwargs, ...others } = fields.value
  refuseOutside(others, isInstance ? path : fields.path)
  if (!isObject(kwargs)) return { message: value, policy: undefined }
  const {
    original_content: original,
    persistentMessageRetentionPolicy: policy,
    original_ai_content: replayed,
    ...rest
  } = kwargs as JsonObject
  assertNoSlip(rest, { known: retentionFields }, { of: 'A saved message', at })
  const content = role === 'assistant' ? replayed : original
  checkLengths(original, policy, at)
  if (content !== undefined && !Array.isArray(content) && typeof content !== 'string') {
    const name = role === 'assistant' ? 'original_ai_content' : 'original_content'
    throw wrong(`${at}.${name}`, 'a list of blocks', content)
  }
  const restored: JsonObject = {
    ...others,
    additional_kwargs: rest,
    ...(content === undefined ? {} : { content }),
  }
  return {
    message: wrap(wrapping, { fields: restored, around }),
    policy: role === 'assistant' ? undefined : readPolicy(policy, at),
  }
}

const retentionFields = [
  'original_content',
  'persistentMessageRetentionPolicy',
  'original_ai_content',
]

/** The three fields do nothing outside of `additional_kwargs`. */
function refuseOutside(fields: JsonObject, path: string): void {
  const found = retentionFields.find((name) => Object.hasOwn(fields, name))
  if (found === undefined) return
  const at = `${path}.${found}`
  const text = `${at} belongs in additional_kwargs.`
  throw new OrielError('invalid-input', text, { path: at })
}

/** The source's first invariant: both lists have the same length. */
function checkLengths(original: Json | undefined, policy: Json | undefined, at: string): void {
  if (policy === undefined) return
  const name = `${at}.persistentMessageRetentionPolicy`
  if (!Array.isArray(policy)) throw wrong(name, 'a list of numbers and nulls', policy)
  if (!Array.isArray(original)) throw wrong(`${at}.original_content`, 'a list of blocks', original)
  if (original.length === policy.length) return
  const message = `${name} has ${policy.length} entries, original_content has ${original.length}. Each block needs one.`
  throw new OrielError('invalid-input', message, { path: name })
}

function readPolicy(policy: Json | undefined, at: string): RetentionPolicy | undefined {
  if (!Array.isArray(policy)) return undefined
  return policy.map((entry, index) => {
    if (entry === null || (Number.isSafeInteger(entry) && Number(entry) >= 0)) {
      return entry as number | null
    }
    const path = `${at}.persistentMessageRetentionPolicy[${index}]`
    throw wrong(path, 'null or a whole number, 0 or more', entry)
  })
}

function withLifetimes(draft: Draft, policy: RetentionPolicy | undefined): Draft {
  if (policy === undefined || policy.every((entry) => entry === null)) return draft
  // What is written back has changed: the lifetimes are on Oriel's blocks.
  const { native: _, ...fields } = draft
  const content = typeof draft.content === 'string' ? [] : draft.content
  const mark = (block: Block, index: number): Block => {
    const entry = policy[index]
    return typeof entry === 'number' ? { ...block, lifetime: { newer: entry } } : block
  }
  const [first] = content
  if (first?.type !== 'tool-result' || typeof first.content === 'string') {
    return { ...fields, content: content.map(mark) }
  }
  return { ...fields, content: [{ ...first, content: first.content.map(mark) }] }
}

function wrong(path: string, expected: string, got: unknown): OrielError {
  const kind = Array.isArray(got) ? 'a list' : got === null ? 'null' : typeof got
  return new OrielError('invalid-input', `${path} must be ${expected}, got ${kind}.`, { path })
}
