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

/** What is decided before a request is made. */
export interface Decision {
  readonly offer?: Offer
  /** A name that the thread does not know yet. */
  readonly newName?: string
}

export interface OfferRequest {
  readonly endpoint: Endpoint
  readonly body: ClientBody
  /** Whether expansion is on. */
  readonly isOn: boolean
}

/** Where a thread remembers the tool's name. */
const setting = 'expand'

/**
 * A thread has the tool from its first request on, under one name, or never: a list of tools that changes breaks the provider's cache.
 * Single requests in which it could do harm go without.
 */
export function offerTool(thread: Thread, { endpoint, body, isOn }: OfferRequest): Decision {
  const known = nameIn(thread.setting(setting))
  if (known === undefined && !(isOn && thread.isEmpty)) return {}
  const format = expansionFormats[endpoint.format]
  const { tools = null } = body.value
  if (tools !== null && !Array.isArray(tools)) return {}
  const own: readonly Json[] = tools ?? []
  const taken = format.toolNames(own)
  const name = [known, ...expandToolNames].find((one) => one !== undefined && !taken.includes(one))
  if (name === undefined) return {}
  const remembered = name === known ? {} : { newName: name }
  const tool = format.define(toolDefinition(name))
  if (isOn && format.canOffer(body.value)) {
    const offer = { name, body: addElements(body, 'tools', [tool]), isOpen: true }
    return { offer, ...remembered }
  }
  if (known === undefined || own.length > 0) return remembered
  const offer = muted(format, { name, body, tool })
  return { ...(offer && { offer }), ...remembered }
}

/** Lets a thread remember the tool's name. */
export async function rememberName(thread: Thread, name: string | undefined): Promise<void> {
  if (name !== undefined) await thread.set(setting, { tool: name })
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
