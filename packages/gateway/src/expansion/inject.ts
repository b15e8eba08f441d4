// Whether a request gets the tool, and the client's body with it.

import {
  type ExpandOffer,
  expandToolNames,
  type Json,
  type JsonObject,
  type Policy,
  type Thread,
} from 'oriel'
import { injectedTools, searchToolBeside } from 'oriel/internal'
import type { Provider, ToolEligibility, ToolFormat } from 'oriel/providers'
import type { ClientBody } from '../call/client-body.ts'
import { isObject } from '../call/rewrite.ts'
import type { ExpandMode } from '../options.ts'
import { expandingTool, type OwnTool, searchingTool } from './own-tools.ts'
import { addElements, addMember, setMember } from './splice.ts'

export interface InjectedTool {
  readonly own: readonly OwnTool[]
  /** The client's body with the tool. */
  readonly body: ClientBody
  /** The client's own list of tools, where the body carries another. @default the body's */
  readonly clientTools?: readonly Json[]
  /** Fields of an answer that repeat the request, as the client sent them. @default as they come */
  readonly echo?: JsonObject
  /** Fields that the answer has beside the upstream's. @default none */
  readonly added?: JsonObject
  /** Blocks (or items) that the gateway made, with which the answer begins. @default none */
  readonly begun?: readonly JsonObject[]
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

/** The tool as a request could carry it. Whether it does is decided with the view. */
export interface ToolCandidate {
  readonly name: string
  /** The tools, as they answer calls. */
  readonly own: readonly OwnTool[]
  /** What the request says with it. */
  readonly value: JsonObject
  /** Whether the request carries it whatever its view shows. */
  readonly isDue: boolean
  /** Puts it into the body, which costs the body's size: most requests go without. */
  inject(): InjectedTool
}

export interface OfferRequest {
  readonly provider: Provider
  readonly body: ClientBody
  readonly expand: ExpandMode
  readonly policy: Policy
  /** The client's whole list, where the body carries another: names in it are taken. @default the body's */
  readonly clientTools?: readonly Json[] | undefined
}

/** The most tools that a provider takes: a full list stays the client's. */
const maxTools = 128

/**
 * With 'auto': where tools and system text are so many times as long as our two tools, the thread has these from its first request on. A
 * list that grew would make them be written again at the first fold; short ones cost less to write again than our tools cost to carry.
 */
const longFrame = 12

/** Where gateways before kept the tool's name. */
const formerSetting = 'expand'

/**
 * The expand tool and the search tool beside it for a request of a thread; undefined where it must go without. A thread gets it once, under one name, and keeps it: a list of
 * tools that changes breaks the provider's cache. A later request in which it could do harm lists it and forbids its use, or goes without
 * where that cannot be said.
 */
export function candidateFor(
  thread: Thread,
  { provider, body, expand, policy, clientTools = [] }: OfferRequest,
): ToolCandidate | undefined {
  const former = nameIn(thread.setting(formerSetting))
  const known = thread.expandTool ?? former
  const isOn = expand !== false
  if (known === undefined && !isOn) return undefined
  const { tools: format } = provider
  const list = body.value[format.listKey] ?? null
  if (list !== null && !Array.isArray(list)) return undefined
  const own: readonly Json[] = list ?? []
  if (own.length + 2 > maxTools) return undefined
  const stance = format.eligibility(body.value)
  const isCacheAware = isOn && policy.schedule === 'cache-aware'
  const isNew =
    thread.isEmpty && (expand === true || (isCacheAware && isLong(own, provider, body.value)))
  const mayBegin = stance === 'open' || (stance === 'forced' && !isNew)
  if (known === undefined && !mayBegin) return undefined
  const taken = format.names([...own, ...clientTools])
  const isFree = (one: string): boolean =>
    !taken.includes(one) && !taken.includes(searchToolBeside(one))
  const name = [known, ...expandToolNames].find((one) => one !== undefined && isFree(one))
  if (name === undefined) return undefined
  const isAlone = own.length === 0 && !isGiven(body.value[format.choiceKey])
  const way = wayOf(format, { stance, isOn, isAlone })
  if (way === undefined) return undefined
  const tools = injectedTools(name).map(format.define)
  const answering = [expandingTool(name), searchingTool(searchToolBeside(name))]
  const choice = way === 'listed' ? { [format.choiceKey]: format.noChoice } : {}
  return {
    name,
    own: answering,
    value: { ...body.value, [format.listKey]: [...own, ...tools], ...choice },
    isDue: isNew || former !== undefined,
    inject: () => injected(format, way, { own: answering, body, tools }),
  }
}

/** An agent's frame: tools and system text, long together. */
function isLong(tools: readonly Json[], provider: Provider, body: JsonObject): boolean {
  if (tools.length === 0) return false
  const { system = systemAmong(provider, body) } = provider.request.frame(body)
  if (system === undefined) return false
  const [name] = expandToolNames
  const length = JSON.stringify([tools, system]).length
  return length >= longFrame * JSON.stringify(injectedTools(name)).length
}

/** The system text where it is the first of the messages. */
function systemAmong({ request, decode }: Provider, body: JsonObject): Json | undefined {
  const [first] = request.list(body)
  if (first === undefined) return undefined
  const [opening] = decode([first], 'messages')
  return opening?.draft.role === 'system' ? first : undefined
}

/** What a view must know of it. */
export function offerOf({ request }: Provider, { name, value, isDue }: ToolCandidate): ExpandOffer {
  return { tool: name, frame: request.frame(value), isDue }
}

/** How a request has the tool: the model may call it, must call some tool, gets it only listed, or its answer is one document. */
type Way = 'open' | 'forced' | 'listed' | 'quiet'

function wayOf(
  format: ToolFormat,
  request: {
    readonly stance: ToolEligibility
    readonly isOn: boolean
    /** Whether the client has no tools, and so nothing to say about them. */
    readonly isAlone: boolean
  },
): Way | undefined {
  const { stance, isOn, isAlone } = request
  if (isOn && (stance === 'forced' || stance === 'open')) return stance
  if (isAlone && stance !== 'closed') return 'listed'
  return isOn && stance === 'structured' && format.bindsReasoning ? 'quiet' : undefined
}

interface Injecting {
  readonly own: readonly OwnTool[]
  readonly body: ClientBody
  readonly tools: readonly JsonObject[]
}

function injected(format: ToolFormat, way: Way, { own, body, tools }: Injecting): InjectedTool {
  const listed = addElements(body, format.listKey, tools)
  const base = { own, body: listed, isOpen: true, isQuiet: way === 'quiet', isForced: false }
  if (way === 'forced') return forcedOffer(format, { own, body, listed })
  if (way !== 'listed') return base
  return { ...base, body: addMember(listed, format.choiceKey, format.noChoice), isOpen: false }
}

/** The model must call a tool: in the last round one of the client's, whatever its reasoning is bound to. */
function forcedOffer(
  format: ToolFormat,
  { own, body, listed }: Pick<InjectedTool, 'own' | 'body'> & { readonly listed: ClientBody },
): InjectedTool {
  const offer = { own, body: listed, isOpen: true, isQuiet: false, isForced: true }
  if (format.isBound?.(listed.value) !== true) return offer
  const forcing = format.forcing?.(body.value)
  if (forcing === undefined) return { ...offer, isForced: false }
  const last =
    forcing === 'without-reasoning'
      ? { ...offer, body, hasReasoning: false }
      : { ...offer, body: setMember(listed, format.choiceKey, forcing.choice) }
  return { ...offer, last }
}

function nameIn(value: Json | undefined): string | undefined {
  return isObject(value) && typeof value.tool === 'string' ? value.tool : undefined
}

function isGiven(value: Json | undefined): boolean {
  return value !== undefined && value !== null
}
