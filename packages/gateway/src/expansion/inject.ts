// Whether a request gets the tool, and the client's body with it.

import { expandTool, expandToolNames, type Json, type Thread } from 'oriel'
import type { Provider, ToolDefinition, ToolEligibility, ToolFormat } from 'oriel/providers'
import type { ClientBody } from '../call/client-body.ts'
import { isObject } from '../call/rewrite.ts'
import { addElements, addMember, setMember } from './splice.ts'

export interface InjectedTool {
  readonly name: string
  /** The client's body with the tool. */
  readonly body: ClientBody
  /** Whether the model may call it; false where it is listed only because the history needs a list. */
  readonly isOpen: boolean
  /** Whether the client gets no text of rounds that it does not see. */
  readonly isQuiet: boolean
  /** Whether the model must call a tool, so that the last round is asked for one of the client's. */
  readonly isForced: boolean
  /** What the last round has in its place. @default nothing: it goes without the tool */
  readonly last?: InjectedTool
  /** Whether the request may carry reasoning. @default true */
  readonly hasReasoning?: boolean
}

/** What is decided before a request is made. */
export interface InjectionDecision {
  readonly offer?: InjectedTool
  /** A name that the thread does not know yet. */
  readonly newName?: string
}

export interface OfferRequest {
  readonly provider: Provider
  readonly body: ClientBody
  /** Whether expansion is on. */
  readonly isOn: boolean
}

/** The most tools that a provider takes: a full list stays the client's. */
const maxTools = 128

/** Where a thread remembers the tool's name. */
const setting = 'expand'

/**
 * A thread has the tool from its first request on, under one name, or never: a list of tools that changes breaks the provider's cache.
 * A later request in which it could do harm lists it and forbids its use, or goes without where that cannot be said.
 */
export function offerTool(
  thread: Thread,
  { provider, body, isOn }: OfferRequest,
): InjectionDecision {
  const known = nameIn(thread.setting(setting))
  if (known === undefined && !(isOn && thread.isEmpty)) return {}
  const { tools: format } = provider
  const list = body.value[format.listKey] ?? null
  if (list !== null && !Array.isArray(list)) return {}
  const own: readonly Json[] = list ?? []
  if (own.length >= maxTools) return {}
  const stance = format.eligibility(body.value)
  if (known === undefined && stance !== 'open') return {}
  const taken = format.names(own)
  const name = [known, ...expandToolNames].find((one) => one !== undefined && !taken.includes(one))
  if (name === undefined) return {}
  const listed = addElements(body, format.listKey, [format.define(toolDefinition(name))])
  const offer = offerOf(format, {
    ...{ name, stance, body, listed, isOn },
    isAlone: own.length === 0 && !isGiven(body.value[format.choiceKey]),
  })
  return { ...(offer && { offer }), ...(name === known ? {} : { newName: name }) }
}

interface Considered {
  readonly name: string
  readonly stance: ToolEligibility
  readonly body: ClientBody
  /** The body with the tool. */
  readonly listed: ClientBody
  readonly isOn: boolean
  /** Whether the client has no tools, and so nothing to say about them. */
  readonly isAlone: boolean
}

function offerOf(format: ToolFormat, considered: Considered): InjectedTool | undefined {
  const { name, stance, listed, isOn, isAlone } = considered
  const base = { name, isQuiet: false, isForced: false }
  if (isOn && stance === 'forced') return forcedOffer(format, considered)
  if (isOn && stance === 'open') return { ...base, body: listed, isOpen: true }
  if (isAlone && stance !== 'closed') {
    const body = addMember(listed, format.choiceKey, format.noChoice)
    return { ...base, body, isOpen: false }
  }
  if (!isOn || stance !== 'structured' || !format.bindsReasoning) return undefined
  return { ...base, body: listed, isOpen: true, isQuiet: true }
}

/** The model must call a tool: in the last round one of the client's, whatever its reasoning is bound to. */
function forcedOffer(format: ToolFormat, { name, body, listed }: Considered): InjectedTool {
  const offer = { name, body: listed, isOpen: true, isQuiet: false, isForced: true }
  if (format.isBound?.(listed.value) !== true) return offer
  const forcing = format.forcing?.(body.value)
  if (forcing === undefined) return { ...offer, isForced: false }
  const last =
    forcing === 'without-reasoning'
      ? { ...offer, body, hasReasoning: false }
      : { ...offer, body: setMember(listed, format.choiceKey, forcing.choice) }
  return { ...offer, last }
}

/** Lets a thread remember the tool's name. */
export async function rememberName(thread: Thread, name: string): Promise<void> {
  await thread.set(setting, { tool: name })
}

function nameIn(value: Json | undefined): string | undefined {
  return isObject(value) && typeof value.tool === 'string' ? value.tool : undefined
}

function isGiven(value: Json | undefined): boolean {
  return value !== undefined && value !== null
}

const { definition } = expandTool({
  expand: async () => ({ ok: false, reason: 'Not expanded: there is no thread.' }),
})

const description = [
  definition.description,
  'Shortened parts say so: [Omitted: ...], [Compacted: ...], [AI Summary of N chars ...] or [... left out ...], with an id such as e7k2.',
  'Use it when you need exact details, quotes or values of such a part, or are asked about it; not to be on the safe side.',
  'If the result says that it was not expanded, do not ask for the same again.',
].join(' ')

function toolDefinition(name: string): ToolDefinition {
  return { name, description, parameters: definition.parameters }
}
