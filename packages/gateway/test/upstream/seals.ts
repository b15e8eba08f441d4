// Signed thinking and encrypted reasoning: given with every answer, checked when it comes back.

import { createHmac } from 'node:crypto'
import type { JsonObject, WireFormat } from 'oriel'
import type { Breach } from './laws.ts'
import { isThinking, type WireMessage, wireMessages } from './laws-anthropic.ts'
import { inputItems } from './laws-responses.ts'

/**
 * `prefix`: a signature is bound to everything before it, as newer models have it; `text`: to the thinking alone; `none`: signatures
 * are not checked, for conversations that another upstream signed.
 */
export type Binding = 'prefix' | 'text' | 'none'

/** Remembers what was given out. */
export class Seals {
  readonly #binding: Binding
  /** Prefixes after which thinking was given. */
  readonly #thought = new Set<string>()
  readonly #redacted = new Set<string>()
  /** The encrypted form that each reasoning item was given with. */
  readonly #reasoning = new Map<string, string>()
  /** The reasoning item that an item was given with. */
  readonly #required = new Map<string, string>()

  constructor(binding: Binding = 'prefix') {
    this.#binding = binding
  }

  /** Makes the seals for the answer to a request. */
  forAnswer(format: WireFormat, body: JsonObject): (text: string) => string {
    if (format !== 'anthropic') return (text) => sign('reasoning', text)
    const before = this.#prefix(body, askedBy(body))
    return (text) => sign(before, text)
  }

  /** Takes note of what was said in answer to a request. */
  remember(format: WireFormat, body: JsonObject, answer: JsonObject): void {
    if (format === 'anthropic') {
      const content = answer.content as readonly { readonly type: string; readonly data?: string }[]
      if (!content.some(isThinking)) return
      this.#thought.add(prefixOf(body, askedBy(body)))
      for (const { type, data } of content) {
        if (type === 'redacted_thinking' && data !== undefined) this.#redacted.add(data)
      }
    }
    if (format !== 'openai-responses') return
    let reasoning: string | undefined
    for (const item of answer.output as unknown as readonly GivenItem[]) {
      if (item.type === 'reasoning') {
        reasoning = item.id
        this.#reasoning.set(item.id, item.encrypted_content ?? '')
      } else if (reasoning !== undefined) this.#required.set(item.id, reasoning)
    }
  }

  /** What a request did to the seals that it carries. */
  breaches(format: WireFormat, body: JsonObject): readonly Breach[] {
    if (this.#binding === 'none') return []
    if (format === 'anthropic') return this.#thinkingBreaches(body)
    return format === 'openai-responses' ? this.#reasoningBreaches(body) : []
  }

  #thinkingBreaches(body: JsonObject): readonly Breach[] {
    const messages = wireMessages(body)
    const breaches: Breach[] = []
    let hasKept = false
    messages.forEach(({ role, blocks }, index) => {
      if (role !== 'assistant') return
      const before = messages.slice(0, index)
      const prefix = this.#prefix(body, before)
      const has = blocks.some(isThinking)
      if (!has && hasKept && this.#thought.has(prefixOf(body, before))) {
        const message = `messages.${index}.content: thinking may be left out from the beginning of a conversation, not from its middle`
        breaches.push({ rule: 'A14', message })
      }
      hasKept ||= has
      blocks.forEach((block, place) => {
        const at = `messages.${index}.content.${place}`
        if (block.type === 'redacted_thinking' && !this.#redacted.has(String(block.data))) {
          const message = `${at}: Invalid \`data\` in \`redacted_thinking\` block`
          breaches.push({ rule: 'A14', message })
        }
        if (block.type === 'thinking' && block.signature !== sign(prefix, String(block.thinking))) {
          breaches.push({
            rule: 'A14',
            message: `${at}: Invalid \`signature\` in \`thinking\` block`,
          })
        }
      })
    })
    return breaches
  }

  #reasoningBreaches(body: JsonObject): readonly Breach[] {
    const items = inputItems(body) as readonly GivenItem[]
    const ids = new Set(items.map(({ id }) => id))
    return items.flatMap((item): readonly Breach[] => {
      const required = this.#required.get(item.id)
      if (required !== undefined && !ids.has(required)) {
        const message = `Item '${item.id}' of type '${item.type}' was provided without its required 'reasoning' item: '${required}'.`
        return [{ rule: 'R3', message, param: 'input' }]
      }
      if (item.type !== 'reasoning') return []
      if (item.encrypted_content === this.#reasoning.get(item.id)) return []
      const message = `The encrypted content for item ${item.id} could not be verified.`
      return [{ rule: 'R2', message, param: 'input' }]
    })
  }

  #prefix(body: JsonObject, before: readonly WireMessage[]): string {
    return this.#binding === 'text' ? '' : prefixOf(body, before)
  }
}

/** What is answered: an answer that continues with the last message is a part of it. */
function askedBy(body: JsonObject): readonly WireMessage[] {
  const messages = wireMessages(body)
  return messages.at(-1)?.role === 'assistant' ? messages.slice(0, -1) : messages
}

interface GivenItem {
  readonly id: string
  readonly type: string
  readonly encrypted_content?: string
}

/** System, tools and earlier messages as one text; cache markers and earlier thinking are no part of it. */
function prefixOf(body: JsonObject, before: readonly WireMessage[]): string {
  const { model = null, system = null, tools = null } = body
  const messages = before.map(({ role, blocks }) => [
    role,
    blocks.filter((block) => !isThinking(block)),
  ])
  return JSON.stringify([model, system, tools, messages], (key, value) =>
    key === 'cache_control' ? undefined : value,
  )
}

function sign(prefix: string, text: string): string {
  return createHmac('sha256', 'scripted upstream')
    .update(prefix)
    .update('\0')
    .update(text)
    .digest('base64')
}
