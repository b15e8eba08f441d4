// Who manages the context where a client asks its provider for it: the upstream, or the gateway in its place.

import type { Json } from 'oriel'
import type { AskedCompaction, Provider } from 'oriel/providers'
import { setMember } from '../expansion/splice.ts'
import type { Upstream } from '../http/client.ts'
import { type ClientBody, parseBody } from './client-body.ts'
import { withoutMembers } from './json-outline.ts'
import { isObject } from './rewrite.ts'

export interface ManagedContext {
  /** The request without what is done here. */
  readonly body: ClientBody
  /** Edits that are made here: the client's own words. @default none */
  readonly edits?: Json
  /** The compaction that is made here. @default none */
  readonly compaction?: AskedCompaction
  /** Whether compaction is asked for and made, by whomever: then the policy makes none. */
  readonly isCompactedOnRequest: boolean
  /** Whether the upstream takes compaction blocks of its own. */
  readonly takesCompaction: boolean
}

/** A conversation that is to be compacted now, with nothing said after it. */
const now: AskedCompaction = { fromTokens: 0, isAlone: true, isDemanded: true }

/** What of a request's context management is left to the upstream, and what is done here. */
export function managedContext(
  body: ClientBody,
  provider: Provider,
  { upstream, isCompacting }: { readonly upstream: Upstream; readonly isCompacting: boolean },
): ManagedContext {
  const { contextEdits, compaction } = provider
  const left = { body, isCompactedOnRequest: false, takesCompaction: true }
  if (contextEdits === undefined) return left
  const mode = upstream.contextManagement(contextEdits.hosts)
  const edits = body.value[contextEdits.key] ?? null
  const asked = isCompacting ? now : compaction?.asked(body.value)
  if (mode === 'delegate') return { ...left, isCompactedOnRequest: asked !== undefined }
  const takesCompaction = false
  if (edits === null && asked === undefined) return { ...left, takesCompaction }
  // What cannot be done here, the upstream may know, or say that it does not.
  const isKnown = edits === null || contextEdits.supports(edits)
  if (mode === 'emulate' && !isKnown) return { ...left, takesCompaction }
  // What is asked for now must be answered with it, whoever is in charge.
  const made = mode === 'emulate' || asked?.isDemanded === true ? asked : undefined
  return {
    body: withoutTrigger(
      withoutFields(body, [contextEdits.key, ...(compaction?.keys ?? [])]),
      provider,
    ),
    ...(edits === null ? {} : { edits: mode === 'own' ? { edits: [] } : edits }),
    ...(made === undefined ? {} : { compaction: made }),
    isCompactedOnRequest: made !== undefined,
    takesCompaction,
  }
}

/** A history that begins with a compaction which nobody here knows, with its summary as a message; undefined where there is none to be read. */
export function withSummaryAsText(body: ClientBody, provider: Provider): ClientBody | undefined {
  const { messages: key } = provider.fields
  const list = body.value[key]
  const [first, ...rest]: readonly Json[] = Array.isArray(list) ? list : []
  const said = first === undefined ? undefined : provider.compaction?.asText(first)
  return said && setMember(body, key, [...said, ...rest])
}

function withoutFields(body: ClientBody, keys: readonly string[]): ClientBody {
  return keys.reduce((rest, key) => {
    const members = rest.outline.members.get(key)
    if (members === undefined) return rest
    const text = withoutMembers(rest.text, members)
    return parseBody(Buffer.from(text), { depth: Infinity, nodes: Infinity })
  }, body)
}

/** An item at the end that asks for a compaction is no part of the conversation. */
function withoutTrigger(body: ClientBody, { fields: { messages: key } }: Provider): ClientBody {
  const list = body.value[key]
  const last: Json | undefined = Array.isArray(list) ? list.at(-1) : undefined
  const isTrigger = isObject(last) && last.type === 'compaction_trigger'
  return isTrigger && Array.isArray(list) ? setMember(body, key, list.slice(0, -1)) : body
}
