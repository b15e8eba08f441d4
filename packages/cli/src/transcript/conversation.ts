// Conversations in a transcript, unwrapped from any container.

import type { FormatName, Frame } from 'oriel'
import { formatNamed } from 'oriel/providers'
import { type Detection, detectFormat, type Fields, isFields, isMessage } from './detect.ts'
import { withLineTime } from './time.ts'
import { fromUiMessages } from './ui-messages.ts'

export interface Conversation {
  /** Number among all conversations read, from 1. */
  readonly number: number
  /** The source file. */
  readonly file: string
  /** The id in the file, if any. */
  readonly id?: string
  readonly detection: Detection
  /** Messages, or items for openai-responses. */
  readonly messages: readonly unknown[]
  /** The request frame. */
  readonly frame: Frame
  /** The request body without its messages; empty for a bare list. */
  readonly body: Fields
}

/** Contents of one JSON value of a transcript. */
export type Reading =
  | { readonly type: 'conversations'; readonly bodies: readonly Body[] }
  | { readonly type: 'message'; readonly message: Fields }
  | { readonly type: 'nothing' }

/** A conversation before format detection. */
export interface Body {
  readonly id?: string
  /** The format, if the file states it. */
  readonly format?: FormatName
  readonly fields: Fields
  readonly messages: readonly unknown[]
}

/**
 * Reads a message list, a request body, a list of either, one message, or a log line that wraps one
 * of these.
 */
export function readValue(value: unknown): Reading {
  if (Array.isArray(value)) return readList(value)
  if (!isFields(value)) return { type: 'nothing' }
  const body = readBody(value)
  if (body !== undefined) return { type: 'conversations', bodies: [body] }
  const message = readMessage(value)
  return message === undefined ? { type: 'nothing' } : { type: 'message', message }
}

/** The conversation of a body, with its format detected or as given. */
export function toConversation(
  body: Body,
  options: {
    readonly number: number
    readonly file: string
    readonly format?: FormatName | undefined
    readonly fallback?: FormatName | undefined
  },
): Conversation {
  const { number, file, format, fallback } = options
  const { fields, messages, id } = body
  const detection = told(format, body) ?? detectFormat(fields, messages, fallback)
  const { messages: _messages, input: _input, items: _items, prompt: _prompt, ...others } = fields
  const { contents: _contents, ...rest } = others
  return {
    number,
    file,
    ...(id === undefined ? {} : { id }),
    detection,
    messages: detection.format === 'ai-sdk' ? fromUiMessages(messages) : messages,
    frame: frameOf(rest, formatNamed(detection.format).fields.system),
    body: rest,
  }
}

/** The format given by the caller, else by the file. */
function told(format: FormatName | undefined, body: Body): Detection | undefined {
  if (format !== undefined) return { format, certainty: 'told', evidence: [] }
  if (body.format === undefined) return undefined
  return { format: body.format, certainty: 'certain', evidence: ['export'] }
}

function readList(values: readonly unknown[]): Reading {
  const bodies = values.map((value) => (isFields(value) ? readBody(value) : undefined))
  if (bodies.length > 0 && bodies.every((body) => body !== undefined)) {
    return { type: 'conversations', bodies }
  }
  if (values.length === 0 || !values.every(isMessage)) return { type: 'nothing' }
  return { type: 'conversations', bodies: [{ fields: {}, messages: values }] }
}

function readBody(value: Fields): Body | undefined {
  // Logs and batch files wrap the request in a field, LangGraph its state.
  const inner = [value.body, value.request, value.values, value.channel_values].find(isFields)
  const own = bodyOf(value)
  const found = own ?? (inner === undefined ? undefined : bodyOf(inner))
  if (found === undefined) return undefined
  const id = value.id ?? value.custom_id
  return typeof id === 'string' || typeof id === 'number' ? { id: String(id), ...found } : found
}

function bodyOf(fields: Fields): Body | undefined {
  if (Array.isArray(fields.messages)) return { fields, messages: fields.messages }
  if (Array.isArray(fields.prompt)) return { fields, messages: fields.prompt }
  if (Array.isArray(fields.input)) return { fields, messages: fields.input }
  if (Array.isArray(fields.contents)) return { fields, messages: fields.contents }
  // `input` of openai-responses may be a string.
  if (typeof fields.input === 'string' && fields.model !== undefined) {
    return { fields, messages: [{ role: 'user', content: fields.input }] }
  }
  if (Array.isArray(fields.items) && fields.items.every(isMessage)) {
    return { fields: { ...fields, input: fields.items }, messages: fields.items }
  }
  return undefined
}

/** A message, or the one inside a line of an agent's session log. */
function readMessage(value: Fields): Fields | undefined {
  const message = [value, value.message, value.payload].find(isMessage)
  return message === undefined || message === value ? message : withLineTime(message, value)
}

function frameOf(fields: Fields, systemField: string): Frame {
  const system = fields[systemField]
  const { tools } = fields
  return {
    ...(system === undefined || system === null ? {} : { system }),
    ...(Array.isArray(tools) && tools.length > 0 ? { tools } : {}),
  }
}
