// A client's body without what only the gateway understands.

import { type ClientBody, parseBody } from './client-body.ts'
import { withoutMembers } from './json-outline.ts'
import type { RequestSettings } from './settings.ts'

/** The body without what is only for the gateway, and with the model of the agent that was named as one. */
export function forUpstream(body: ClientBody, { agent }: RequestSettings): ClientBody {
  const model = agent?.template.model
  const range = body.outline.fields.get('model')
  const isAlias = body.value.model === agent?.name || body.value.model === undefined
  const isRenamed = model !== undefined && isAlias
  if (!isRenamed && !('oriel' in body.value)) return body
  let { text } = body
  const { oriel: _own, ...value } = body.value
  const named = { ...value, ...(isRenamed ? { model } : {}) }
  if (isRenamed && range !== undefined) {
    text = text.slice(0, range.start) + JSON.stringify(model) + text.slice(range.end)
  } else if (isRenamed) text = text.replace('{', () => `{"model":${JSON.stringify(model)},`)
  const again = parseBody(Buffer.from(text), { depth: Infinity, nodes: Infinity })
  const own = again.outline.members.get('oriel')
  if (own === undefined) return { ...again, value: named }
  return parseBody(Buffer.from(withoutMembers(text, own)), { depth: Infinity, nodes: Infinity })
}
