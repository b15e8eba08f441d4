// Upstream body: the client's body without Oriel's own fields.

import { type ClientBody, parseBody } from '../call/client-body.ts'
import { withoutMembers } from '../call/json-outline.ts'
import type { RequestSettings } from '../settings/resolve.ts'

/** Removes Oriel's fields, and replaces an agent's name in `model` by the agent's model. */
export function forUpstream(body: ClientBody, { agent }: RequestSettings): ClientBody {
  const model = agent?.template.model
  const isAlias = body.value.model === agent?.name || body.value.model === undefined
  const isRenamed = model !== undefined && isAlias
  if (!isRenamed && !('oriel' in body.value)) return body
  const { oriel: _own, ...value } = body.value
  const named = { ...value, ...(isRenamed ? { model } : {}) }
  const text = isRenamed ? withModel(body, model) : body.text
  const again = parseBody(Buffer.from(text), { depth: Infinity, nodes: Infinity })
  const own = again.outline.members.get('oriel')
  if (own === undefined) return { ...again, value: named }
  return parseBody(Buffer.from(withoutMembers(text, own)), { depth: Infinity, nodes: Infinity })
}

/** Replaces every `model` member: parsers differ on which duplicate wins. */
function withModel({ text, value, outline }: ClientBody, model: string): string {
  const name = JSON.stringify(model)
  const members = outline.members.get('model')
  if (members === undefined) {
    const comma = Object.keys(value).length === 0 ? '' : ','
    return text.replace('{', () => `{"model":${name}${comma}`)
  }
  const parts: string[] = []
  let at = 0
  for (const { start, end } of members) {
    const [key = ''] = fieldName.exec(text.slice(start, end)) ?? []
    parts.push(text.slice(at, start), key, name)
    at = end
  }
  return parts.join('') + text.slice(at)
}

/** A member name without escapes, up to its value. */
const fieldName = /^"[^"]*"\s*:\s*/
