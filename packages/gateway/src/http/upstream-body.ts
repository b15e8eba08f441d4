// A client's request without what only the gateway understands: its body, and the model in its path.

import { fillPath, matchPath, type Provider } from 'oriel/providers'
import { type ClientBody, parseBody } from '../call/client-body.ts'
import { withoutMembers } from '../call/json-outline.ts'
import type { RequestSettings } from '../settings/resolve.ts'

/** A path with the model of the agent that was named as one; undefined where paths name no model. */
export function pathForUpstream(
  { request }: Provider,
  path: string,
  { agent }: RequestSettings,
): string | undefined {
  for (const pattern of request.paths.filter((one) => one.includes('{model}'))) {
    const parts = matchPath(pattern, path)
    if (parts === undefined) continue
    const model = agent?.template.model
    return model !== undefined && parts.model === agent?.name
      ? fillPath(pattern, { ...parts, model })
      : path
  }
  return undefined
}

/** The body without what is only for the gateway, and with the model of the agent that was named as one, where bodies name it. */
export function forUpstream(
  body: ClientBody,
  { agent }: RequestSettings,
  { hasModel = true }: { readonly hasModel?: boolean } = {},
): ClientBody {
  const model = hasModel ? agent?.template.model : undefined
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

/** The text with this model wherever it names one: which of two holds is up to the reader. */
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

/** A name without quotes in it, up to its value. */
const fieldName = /^"[^"]*"\s*:\s*/
