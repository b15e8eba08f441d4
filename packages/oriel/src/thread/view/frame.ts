// What stands around the messages of a view: named, counted and recorded, and the same in most requests.

import type { Block } from '../../core/log/block.ts'
import type { MessageEntry } from '../../core/log/entry.ts'
import { canonicalJson, type Json, type JsonObject } from '../../core/log/json.ts'
import type { Counter } from '../../core/tokens/counter.ts'
import { frameTokens } from '../../core/tokens/tally.ts'
import type { Frame } from '../../core/view/view.ts'
import { sha256 } from '../../sha256.ts'

export interface FramingParts {
  /** What the caller sends around the messages. */
  readonly frame: Frame | undefined
  /** Leading system messages that a client resends with its history. */
  readonly leading: readonly MessageEntry[]
  /** What plugins say in the system prompt. */
  readonly pluginSystem: readonly Block[]
}

/** The frame of one view with everything that the view itself puts into the system prompt; named and counted once. */
export class Framing {
  readonly frame: Frame | undefined
  #hash: string | undefined
  #tokens: number | undefined

  constructor(parts: FramingParts) {
    this.frame = frameOf(parts)
  }

  /** Names it. */
  get hash(): string {
    this.#hash ??= frameHash((this.frame ?? {}) as JsonObject)
    return this.#hash
  }

  /** Its tokens, by the thread's counter. */
  tokens(counter: Counter): number {
    this.#tokens ??= frameTokens(counter, this.frame)
    return this.#tokens
  }
}

function frameOf({ frame, leading, pluginSystem }: FramingParts): Frame | undefined {
  if (leading.length === 0 && pluginSystem.length === 0) return frame
  const own = [
    ...leading.map(({ blocks }) => blocks),
    ...(pluginSystem.length > 0 ? [pluginSystem] : []),
  ]
  const system = own as unknown as readonly Json[]
  return { ...frame, system: frame?.system === undefined ? system : [frame.system, ...system] }
}

/** Frames hardly ever change from request to request. */
const known = new Map<string, string>()
const maxKnown = 64

function frameHash(frame: JsonObject): string {
  const text = JSON.stringify(frame)
  const found = known.get(text)
  if (found !== undefined) return found
  const hash = sha256(canonicalJson(frame))
  if (known.size >= maxKnown) known.delete(known.keys().next().value as string)
  known.set(text, hash)
  return hash
}
