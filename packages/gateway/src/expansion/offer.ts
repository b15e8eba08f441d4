// Whether a request gets the tool, and the client's body with it.

import { expandToolNames, type Json, type JsonObject, type Thread } from 'oriel'
import type { Endpoint } from '../endpoints.ts'
import { type ClientBody, isObject } from '../rewrite.ts'
import type { ExpansionFormat } from './format.ts'
import { expansionFormats } from './formats.ts'
import { addElements, addMember } from './splice.ts'
import { toolDefinition } from './tool.ts'

export interface Offer {
  readonly name: string
  /** The client's body with the tool. */
  readonly body: ClientBody
  /** Whether the model may call it; false where it is listed only because the history needs a list. */
  readonly isOpen: boolean
}

export interface OfferRequest {
  readonly endpoint: Endpoint
  readonly body: ClientBody
  /** Whether expansion is on. */
  readonly isOn: boolean
  /** Whether this is the first request of the thread. */
  readonly isFirst: boolean
}

/** Where a thread remembers the tool's name. */
const setting = 'expand'

/**
 * A thread has the tool from its first request on, under one name, or never: a list of tools that changes breaks the provider's cache.
 * Single requests in which it could do harm go without.
 */
export async function offerTool(thread: Thread, request: OfferRequest): Promise<Offer | undefined> {
  const { endpoint, body, isOn, isFirst } = request
  const known = nameIn(thread.setting(setting))
  if (known === undefined && !(isOn && isFirst)) return undefined
  const format = expansionFormats[endpoint.format]
  const { tools = null } = body.value
  const own: readonly Json[] | undefined =
    tools === null ? [] : Array.isArray(tools) ? tools : undefined
  if (own === undefined) return undefined
  const taken = format.toolNames(own)
  const name = [known, ...expandToolNames].find((one) => one !== undefined && !taken.includes(one))
  if (name === undefined) return undefined
  if (name !== known) await thread.set(setting, { tool: name })
  const tool = format.define(toolDefinition(name))
  if (isOn && format.canOffer(body.value)) {
    return { name, body: addElements(body, 'tools', [tool]), isOpen: true }
  }
  if (known === undefined || own.length > 0) return undefined
  return muted(format, { name, body, tool })
}

function nameIn(value: Json | undefined): string | undefined {
  return isObject(value) && typeof value.tool === 'string' ? value.tool : undefined
}

/** The history may hold calls of the tool, and then some providers demand a list of tools. */
function muted(
  { noChoice }: ExpansionFormat,
  {
    name,
    body,
    tool,
  }: { readonly name: string; readonly body: ClientBody; readonly tool: JsonObject },
): Offer | undefined {
  if (noChoice === undefined || body.value.tool_choice !== undefined) return undefined
  const listed = addElements(body, 'tools', [tool])
  return { name, body: addMember(listed, 'tool_choice', noChoice), isOpen: false }
}
