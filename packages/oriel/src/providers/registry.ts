// The providers and formats by name: one line for each.

import type { Draft, EntryId } from '../core/log/entry.ts'
import type { JsonObject } from '../core/log/json.ts'
import type { ViewMessage } from '../core/view/view.ts'
import { aiSdk } from './ai-sdk/index.ts'
import { anthropic } from './anthropic/index.ts'
import { codecNamed, type FormatName, formatNames, isFormatName } from './codecs.ts'
import type { Decoded, Encoded, Format, Violation } from './format.ts'
import { gemini } from './gemini/index.ts'
import { langchain } from './langchain/index.ts'
import { decodeNeutral } from './neutral/index.ts'
import { openaiChat } from './openai-chat/index.ts'
import { openaiResponses } from './openai-responses/index.ts'
import { matchPath, type Provider } from './provider.ts'

/** The HTTP APIs. */
export const providers = {
  'openai-chat': openaiChat,
  'openai-responses': openaiResponses,
  anthropic,
  gemini,
}

/** All message formats: those of the APIs, and those of libraries. */
const formats: Readonly<Record<FormatName, Format>> = {
  ...providers,
  'ai-sdk': aiSdk,
  langchain,
}

export { type FormatName, formatNames, isFormatName }

/** Formats that travel over HTTP. */
export type WireFormat = keyof typeof providers
export const wireFormats: readonly WireFormat[] = Object.keys(providers) as WireFormat[]

/** The format of that name, or OrielError 'unknown-format'. */
export function formatNamed(name: string): Format {
  // The codec's name is one of the formats, or it throws.
  return formats[codecNamed(name).name]
}

/** The provider's rules that a request body breaks, by rule id; an empty list means the provider will accept it. */
export function validate(format: FormatName, body: unknown): readonly Violation[] {
  return formatNamed(format).validate(body)
}

/** Foreign messages as drafts: what the log would keep of each, and which foreign messages it came from. */
export function decode(format: FormatName, messages: readonly unknown[]): readonly Decoded[] {
  return formatNamed(format).decode(messages, 'messages')
}

/**
 * Drafts as foreign messages: the way back from `decode`. Nothing is reduced or repaired. Throws OrielError 'invalid-input' (or
 * 'not-json', 'too-deep', 'too-large') with the path of what is no draft.
 */
export function encode(
  format: FormatName,
  drafts: readonly Draft[],
): Pick<Encoded, 'messages' | 'system'> {
  const target = formatNamed(format)
  const checked = decodeNeutral(drafts, 'drafts').map(({ draft }) => draft)
  const { messages, system } = target.encode(checked.map(asShown))
  return { messages, ...(system === undefined ? {} : { system }) }
}

/** A draft as an encoder takes it, outside any log. */
function asShown(draft: Draft): ViewMessage {
  const { role, origin = role, content, source, extra, native } = draft
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content } as const] : content
  const entry = {
    type: 'message' as const,
    id: 'draft' as EntryId,
    seq: 0,
    at: 0,
    turn: 0,
    step: 0,
    role,
    origin,
    blocks,
    ...(source === undefined ? {} : { source }),
    ...(extra === undefined ? {} : { extra }),
    ...(native === undefined ? {} : { native }),
  }
  return { role, origin, blocks, entry }
}

/** The provider of a format; undefined for formats of libraries, and for names of none. */
export function providerNamed(name: string): Provider | undefined {
  return all.find((one) => one.name === name)
}

/** The provider that answers model calls at a path. */
export function providerAt(path: string): Provider | undefined {
  return all.find(({ request }) => request.paths.some((one) => matchPath(one, path) !== undefined))
}

/** The provider whose API a body shows. */
export function providerOfBody(body: JsonObject): Provider | undefined {
  return all.findLast(({ request }) => request.recognizes(body))
}

/** The first part of every path that a provider answers, with the slashes around it: `/v1/`. Everything below is the upstream's. */
export const apiRoots: readonly string[] = [
  ...new Set(Object.values(providers).flatMap(({ request }) => request.paths.map(rootOf))),
]

/** Whether a path is one of an upstream. */
export function isApiPath(path: string): boolean {
  return apiRoots.some((root) => path.startsWith(root))
}

/** The provider whose words are spoken at a path below one of the roots: that of the endpoint it belongs to, else the first. */
export function speakerAt(path: string): Provider | undefined {
  const isBelow = (one: string): boolean => path === one || path.startsWith(`${one}/`)
  return (
    providerAt(path) ??
    all.find(({ request }) => request.paths.some(isBelow)) ??
    all.find(({ request }) => request.paths.some((one) => path.startsWith(rootOf(one))))
  )
}

/** The headers in which callers send their keys. */
export const keyHeaders: readonly string[] = [
  ...new Set(Object.values(providers).map(({ request }) => request.keyHeader)),
]

const all: readonly Provider[] = Object.values(providers)

function rootOf(path: string): string {
  return `/${path.split('/')[1]}/`
}
