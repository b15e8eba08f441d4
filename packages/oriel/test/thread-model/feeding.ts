// Feeding a thread message by message, and comparing its view with a projection.

import { blockId, fixedSalt } from '../../src/core/log/ids.ts'
import { isObject } from '../../src/core/log/json.ts'
import type { FormatName } from '../../src/providers/format.ts'
import { formatNamed } from '../../src/providers/registry.ts'
import type { Thread } from '../../src/thread/thread.ts'

/** What a client would append at a time: a message, or the items of one response. */
export function rangesOf(
  format: FormatName,
  messages: readonly unknown[],
): ReadonlyMap<number, number> {
  const decoded = formatNamed(format).decode(messages, 'messages')
  return new Map(decoded.map(({ from, to }) => [from, to]))
}

/**
 * A thread's ids in messages, replaced by those that `project` gives the same blocks. Only in texts that differ from those of the
 * projection: a word that somebody said may look like an id.
 */
export async function withProjectedIds(
  thread: Thread,
  messages: readonly unknown[],
  projection: readonly unknown[],
): Promise<unknown> {
  const [header, ...log] = await thread.log()
  const value = header?.type === 'setting' && isObject(header.value) ? header.value : {}
  const projected = new Map<string, string>()
  const entries = log.filter((entry) => entry.type === 'message')
  entries.forEach(({ seq, blocks }, index) => {
    blocks.forEach((_, block) => {
      const own = blockId(String(value.salt), seq, block)
      projected.set(own, blockId(fixedSalt, index + 1, block))
    })
  })
  return withIds(messages, projection, projected)
}

/** A value with the ids replaced in every text that differs from the one at the same place of the other value. */
export function withIds(value: unknown, other: unknown, ids: ReadonlyMap<string, string>): unknown {
  if (typeof value === 'string') {
    if (value === other) return value
    const id = /(?<![0-9a-z])e[0-9a-z]+(?:_[0-9a-z]+)?/g
    return value.replaceAll(id, (one) => ids.get(one) ?? one)
  }
  if (Array.isArray(value)) {
    const others: readonly unknown[] = Array.isArray(other) ? other : []
    return value.map((one, index) => withIds(one, others[index], ids))
  }
  if (!isObject(value)) return value
  const others = isObject(other) ? other : {}
  const entries = Object.entries(value).map(([key, one]) => {
    const known = Object.hasOwn(others, key) ? others[key] : undefined
    return [key, withIds(one, known, ids)] as const
  })
  return Object.fromEntries(entries)
}
