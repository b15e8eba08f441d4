// Contents of generateContent that clients resend: in pieces, without thoughts and signatures, with other blanks around a person's words.

import {
  canonicalJson,
  equalJson,
  isJsonObject,
  type Json,
  type JsonObject,
} from '../../core/log/json.ts'
import type { Gist } from '../gist.ts'
import type { ResendFormat } from '../provider.ts'
import { objectsIn } from '../stream.ts'
import { innerOf, isThought, namedOf } from './parts.ts'

export const resend: ResendFormat = {
  gistOf(content): Gist {
    if (!isJsonObject(content)) {
      return { text: canonicalJson(content), reasoning: '', hasId: false }
    }
    const { role = 'user', parts, ...rest } = content
    const list = objectsIn(parts)
    const said = joined(list.filter((part) => !isThought(part)).map(withoutSignature))
    const shown = role === 'user' ? trimmed(said) : said
    const seals = list.flatMap((part) =>
      isThought(part) || part.thoughtSignature !== undefined
        ? [part.thoughtSignature ?? part.text ?? null]
        : [],
    )
    return {
      text: canonicalJson({ ...rest, role, parts: shown }),
      reasoning: seals.length === 0 ? '' : canonicalJson(seals),
      hasId: false,
    }
  },
  isAlike: (a, b) => b !== undefined && equalJson(a, b),
  callsIn: (content) =>
    objectsIn(isJsonObject(content) ? content.parts : undefined).flatMap((part) => {
      const call = innerOf(part, 'functionCall')
      const response = innerOf(part, 'functionResponse')
      if (call !== undefined) return [`c${nameOf(call)}`]
      return response === undefined ? [] : [`r${nameOf(response)}`]
    }),
}

function nameOf(inner: Parameters<typeof namedOf>[0]): string {
  const { id, name } = namedOf(inner)
  return id ?? String(name)
}

function withoutSignature({ thoughtSignature: _, ...part }: JsonObject): JsonObject {
  return part as JsonObject
}

/** Texts that follow each other say what one text says. */
function joined(parts: readonly JsonObject[]): readonly Json[] {
  const list: JsonObject[] = []
  for (const part of parts) {
    const before = list.at(-1)
    if (isText(part) && before !== undefined && isText(before)) {
      list[list.length - 1] = { text: `${before.text}${part.text}` }
    } else if (!(isText(part) && part.text === '')) list.push(part)
  }
  return list
}

function isText(part: JsonObject): boolean {
  return typeof part.text === 'string' && Object.keys(part).length === 1
}

function trimmed(parts: readonly Json[]): readonly Json[] {
  return parts.map((part, at) => {
    if (!isJsonObject(part) || typeof part.text !== 'string') return part
    const text = at === 0 ? part.text.trimStart() : part.text
    return { ...part, text: at === parts.length - 1 ? text.trimEnd() : text }
  })
}
