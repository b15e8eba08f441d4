// One conversation of a transcript, whatever it was wrapped in.

import type { FormatName, Frame } from 'oriel'
import { formatNamed } from 'oriel/providers'
import { type Detection, detectFormat, type Fields, isFields, isMessage } from './detect.ts'
import { withLineTime } from './time.ts'
import { fromUiMessages } from './ui-messages.ts'

export interface Conversation {
  /** Its place among all conversations that are read, from 1. */
  readonly number: number
  /** The file it comes from. */
  readonly file: string
  /** The id that the file gives it, if it gives one. */
  readonly id?: string
  readonly detection: Detection
  /** Messages, or items for openai-responses. */
  readonly messages: readonly unknown[]
  /** What stands around the messages. */
  readonly frame: Frame
  /** The request body without its messages; empty for a bare list. */
  readonly body: Fields
}

/** What one JSON value of a transcript holds. */
export type Reading =
  | { readonly type: 'conversations'; readonly bodies: readonly Body[] }
  | { readonly type: 'message'; readonly message: Fields }
  | { readonly type: 'nothing' }

/** A conversation before its format is looked for. */
export interface Body {
  readonly id?: string
  /** The format, where the file itself tells. */
  readonly format?: FormatName
  readonly fields: Fields
  readonly messages: readonly unknown[]
}

/** Reads a list of messages, a request body, a list of either, one message, or a line of a log that wraps one of these. */
export function readValue(value: unknown): Reading {
  if (Array.isArray(value)) return readList(value)
  if (!isFields(value)) return { type: 'nothing' }
  const body = readBody(value)
  if (body !== undefined) return { type: 'conversations', bodies: [body] }
  const message = readMessage(value)
  return message === undefined ? { type: 'nothing' } : { type: 'message', message }
}

/** The conversation of a body, with its format found or as told. */
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
  const { messages: _messages, input: _input, items: _items, prompt: _prompt, ...rest } = fields
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

/** The format that the caller names, else the file itself. */
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
  // Logs and batch files put the request into a field of its own, LangGraph its state.
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
  // A request to openai-responses may be one string.
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
