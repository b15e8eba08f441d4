// Everything that a session left behind, as text: the same operations give the same text in every world.

import type { Entry } from '../../src/core/log/entry.ts'
import { canonicalJson, type Json } from '../../src/core/log/json.ts'
import { formatNames } from '../../src/providers/registry.ts'
import { bytesOf, dryView, type Session } from './session.ts'

/** Everything that two runs of the same operations must have in common. */
export async function worldOf(session: Session): Promise<string> {
  const parts: string[] = []
  for (const id of session.branches) {
    parts.push(...(await session.log(id)).map(lineOf))
    const { thread } = await session.openActor(id)
    for (const format of formatNames) {
      parts.push(bytesOf(await dryView(thread, { format }), session.scenario))
    }
  }
  return withoutRandomIds(parts.join('\n'))
}

/** An entry without the mark of its writer, which is random. */
function lineOf(entry: Entry): string {
  const { by: _by, ...rest } = entry
  return canonicalJson(rest as unknown as Json)
}

/** Forks have random ids: each becomes the number of its first appearance. */
function withoutRandomIds(text: string): string {
  const known = new Map<string, string>()
  return text.replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, (id) => {
    if (!known.has(id)) known.set(id, `fork-${known.size + 1}`)
    return known.get(id) as string
  })
}
