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

/** A thread's ids in messages, replaced by those that `project` gives the same blocks. */
export async function withProjectedIds(
  thread: Thread,
  messages: readonly unknown[],
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
  const text = JSON.stringify(messages)
  const replaced = text.replaceAll(
    /(?<![0-9a-z])e[0-9a-z]+(?:_[0-9a-z]+)?/g,
    (id) => projected.get(id) ?? id,
  )
  return JSON.parse(replaced) as unknown
}
