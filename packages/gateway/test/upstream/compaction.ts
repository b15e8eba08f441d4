// Compaction as the real providers do it and refuse it, written without the library's own.

import type { JsonObject, WireFormat } from 'oriel'
import type { WrittenAnswer, WrittenEvent } from 'oriel/providers'
import type { Breach } from './laws.ts'
import { type WireBlock, wireMessages } from './laws-anthropic.ts'
import { inputItems } from './laws-responses.ts'

type Body = Readonly<Record<string, unknown>>

const threshold = 'compact-2026-01-12'
const onDemand = 'compact-2026-09-04'

/** What a provider that compacts remembers of the blocks that it gave. */
export class Compactions {
  readonly #given = new Map<string, string>()

  /** Rules that a request breaks at a provider that compacts. */
  breaches(format: WireFormat, body: Body, headers: Readonly<Record<string, string>>) {
    if (format === 'anthropic') return this.#anthropic(body, headers['anthropic-beta'] ?? '')
    return format === 'openai-responses' ? this.#responses(body) : []
  }

  #anthropic(body: Body, flags: string): readonly Breach[] {
    const edits = ((body.context_management as Body | undefined)?.edits ?? []) as readonly Body[]
    const found: string[] = []
    edits.forEach((edit, at) => {
      const { value } = (edit.trigger ?? { value: 150_000 }) as { readonly value: number }
      const place = `context_management.edits.${at}`
      if (edit.type !== 'compact_20260112') return
      if (!flags.includes(threshold)) {
        found.push(
          `${place}: Input tag 'compact_20260112' found using 'type' does not match any of the expected tags`,
        )
      }
      if (value < 50_000) {
        found.push(
          `${place}.compact_20260112.trigger.value: Input should be greater than or equal to 50000`,
        )
      }
    })
    if (body.compaction !== undefined && !flags.includes(onDemand)) {
      found.push(`compaction: requires anthropic-beta: ${onDemand}`)
    }
    const blocks = wireMessages(body).flatMap(({ blocks: own }) => own.filter(isCompaction))
    for (const { content, signature } of blocks) {
      if (!flags.includes(threshold) && !flags.includes(onDemand)) {
        found.push(
          "messages.0.content.0: 'compaction' is not one of the expected content block types",
        )
      } else if (typeof signature === 'string' && !this.#given.has(signature)) {
        found.push("The `compaction` block's `signature` does not verify.")
      } else if (typeof signature === 'string' && this.#given.get(signature) !== content) {
        found.push(
          "The `compaction` block's `content` differs from the text its `signature` recorded.",
        )
      }
    }
    return found.map((message) => ({ rule: 'A19', message }))
  }

  #responses(body: Body): readonly Breach[] {
    const asked = (body.context_management ?? []) as readonly Body[]
    const low = asked.find((one) => Number(one.compact_threshold ?? 1000) < 1000)
    const below = `Invalid 'context_management[0].compact_threshold': integer below minimum value. Expected a value >= 1000, but got ${low?.compact_threshold} instead.`
    const sealed = (inputItems(body) as readonly Body[]).filter(({ type }) => type === 'compaction')
    const foreign = sealed.filter((one) => !this.#given.has(String(one.encrypted_content)))
    return [
      ...(low === undefined ? [] : [{ rule: 'R6', message: below, param: 'context_management' }]),
      ...foreign.map(({ encrypted_content: content }) => ({
        rule: 'R6',
        message: `The encrypted content ${String(content).slice(0, 4)}... could not be verified.`,
      })),
    ]
  }

  /** The block with which the answer to a request begins; undefined where the request has not grown that long. */
  due(format: WireFormat, body: Body, tokens: number, index: number): JsonObject | undefined {
    if (format === 'anthropic') {
      const edits = ((body.context_management as Body | undefined)?.edits ?? []) as readonly Body[]
      const edit = edits.find(({ type }) => type === 'compact_20260112')
      const { value = 150_000 } = (edit?.trigger ?? {}) as { readonly value?: number }
      const isDemanded = (body.compaction ?? null) !== null
      if (!isDemanded && (edit === undefined || tokens < value)) return undefined
      const content = `Summary ${index} by the provider.`
      const signature = `signed-${index}`
      this.#given.set(signature, content)
      const own = { type: 'compaction', content, encrypted_content: null }
      return isDemanded ? { ...own, signature } : own
    }
    const asked = (body.context_management ?? []) as readonly Body[]
    const least = asked.find(({ type }) => type === 'compaction')?.compact_threshold
    if (typeof least !== 'number' || tokens < least) return undefined
    return this.item(index)
  }

  item(index: number): JsonObject {
    const content = `gAAAAA-${index}`
    this.#given.set(content, '')
    return { id: `cmp_${index}`, type: 'compaction', encrypted_content: content }
  }
}

function isCompaction(
  block: WireBlock,
): block is WireBlock & { readonly content?: unknown; readonly signature?: unknown } {
  return block.type === 'compaction'
}

/** An answer that begins with a compaction; nothing but it where the request asks for that. */
export function beginning(
  format: WireFormat,
  said: WrittenAnswer,
  block: JsonObject,
  body: Body,
): WrittenAnswer {
  if (format === 'anthropic') return anthropicAnswer(said, block, body)
  const { body: whole, events } = said
  const output = [block, ...(whole.output as readonly JsonObject[])]
  const added = ['added', 'done'].map((phase): WrittenEvent => {
    const type = `response.output_item.${phase}`
    return { event: type, data: { type, output_index: 0, item: block } }
  })
  const shifted = events.map(({ event, data }): WrittenEvent => {
    const isEnd = data.type === 'response.completed'
    const index =
      data.output_index === undefined ? {} : { output_index: Number(data.output_index) + 1 }
    const response = isEnd ? { response: { ...(data.response as JsonObject), output } } : {}
    return { ...(event && { event }), data: { ...data, ...index, ...response } }
  })
  const all = [...shifted.slice(0, 2), ...added, ...shifted.slice(2)]
  return {
    ...said,
    body: { ...whole, output },
    events: all.map(({ event, data }, at) => ({
      ...(event && { event }),
      data: { ...data, sequence_number: at },
    })),
  }
}

function anthropicAnswer(said: WrittenAnswer, block: JsonObject, body: Body): WrittenAnswer {
  const edits = ((body.context_management as Body | undefined)?.edits ?? []) as readonly Body[]
  const isSigned = block.signature !== undefined
  const isAlone = isSigned || edits.some((edit) => edit.pause_after_compaction === true)
  const { body: whole, events } = said
  const counts = { input_tokens: 180_000, output_tokens: 3500 }
  const compacted = { type: 'compaction', ...counts }
  const usage = whole.usage as JsonObject
  const iterations = [compacted, ...(isAlone ? [] : [{ type: 'message', ...usage }])]
  const stop = isAlone ? { stop_reason: 'compaction' } : {}
  const none = isAlone ? { input_tokens: 0, output_tokens: 0 } : {}
  const own = isSigned ? block : { type: 'compaction', content: null }
  const begun: readonly JsonObject[] = [
    { type: 'content_block_start', index: 0, content_block: own },
    ...(isSigned
      ? []
      : [
          {
            ...{ type: 'content_block_delta', index: 0 },
            delta: {
              type: 'compaction_delta',
              content: block.content ?? null,
              encrypted_content: null,
            },
          },
        ]),
    { type: 'content_block_stop', index: 0 },
  ]
  const shifted = events.flatMap(({ event, data }): readonly WrittenEvent[] => {
    if (data.index !== undefined) {
      return isAlone
        ? []
        : [{ ...(event && { event }), data: { ...data, index: Number(data.index) + 1 } }]
    }
    if (data.type !== 'message_delta') return [{ ...(event && { event }), data }]
    const delta = { ...(data.delta as JsonObject), ...stop }
    const counted = { ...(data.usage as JsonObject), ...none, iterations }
    return [{ ...(event && { event }), data: { ...data, delta, usage: counted } }]
  })
  const content = isAlone ? [block] : [block, ...(whole.content as readonly JsonObject[])]
  return {
    ...said,
    body: { ...whole, ...stop, content, usage: { ...usage, ...none, iterations } },
    events: [
      ...shifted.slice(0, 1),
      ...begun.map((data) => ({ event: String(data.type), data })),
      ...shifted.slice(1),
    ],
  }
}
