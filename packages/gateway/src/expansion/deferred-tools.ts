// Which tool definitions a request carries, where the policy defers them: the client's body with that list, and the search for the others.

import type { Json, Policy, ReadHistory, Thread } from 'oriel'
import { type Deferral, deferralOf } from 'oriel/internal'
import type { Provider } from 'oriel/providers'
import type { ClientBody } from '../call/client-body.ts'
import type { OwnTool } from './own-tools.ts'
import { setMember } from './splice.ts'

export interface DeferredRequest {
  readonly provider: Provider
  readonly body: ClientBody
  readonly history: ReadHistory
  readonly policy: Policy
}

/** The tools of one request of a client, with most definitions deferred. */
export class DeferredTools {
  readonly #request: DeferredRequest
  #deferral: Deferral
  #body: ClientBody | undefined

  constructor(request: DeferredRequest, deferral: Deferral) {
    this.#request = request
    this.#deferral = deferral
  }

  get deferral(): Deferral {
    return this.#deferral
  }

  /** The client's own list. */
  get clientTools(): readonly Json[] {
    return listOf(this.#request)
  }

  /** The client's body with the list to send. Made when first read. */
  get body(): ClientBody {
    const { provider, body } = this.#request
    this.#body ??= setMember(body, provider.tools.listKey, this.#deferral.tools)
    return this.#body
  }

  /** The search, as a tool of ours. What it finds is in the next list. */
  get tool(): OwnTool {
    return {
      name: this.#deferral.shown.find,
      refusal: 'Not found',
      answer: async (_, input) => {
        const { text, names } = this.#deferral.find(input)
        this.#show(names)
        return text
      },
    }
  }

  #show(names: readonly string[]): void {
    const next = this.#deferral.with(names)
    if (next !== this.#deferral) this.#body = undefined
    this.#deferral = next
  }

  /** Writes into the thread what its list has now. */
  async keep(thread: Thread): Promise<void> {
    const { shown } = this.#deferral
    const known = thread.shownTools
    const isKnown = known?.find === shown.find && known.names.length === shown.names.length
    if (!isKnown) await thread.showTools(shown)
  }
}

/**
 * The deferred tools of a request; undefined where it carries all of its definitions: the policy does not defer them, the answer must have
 * a given shape, or reasoning is bound to the list of tools, which would change.
 */
export function deferredTools(thread: Thread, request: DeferredRequest): DeferredTools | undefined {
  const { provider, body, history, policy } = request
  const { tools: settings } = policy
  if (settings === undefined) return undefined
  const { tools: format, request: about } = provider
  const list = listOf(request)
  if (list.length === 0) return undefined
  const stance = format.eligibility(body.value)
  if (stance !== 'open' && stance !== 'forced') return undefined
  const isBound =
    format.bindsReasoning &&
    (about.wantsReasoning(body.value) || format.isBound?.(body.value) === true)
  if (isBound) return undefined
  const used = [...calledIn(history), ...format.chosen(body.value)]
  const deferral = deferralOf({ format, list, settings, known: thread.shownTools, used })
  return deferral && new DeferredTools(request, deferral)
}

function listOf({ provider, body }: DeferredRequest): readonly Json[] {
  const list = body.value[provider.tools.listKey]
  return Array.isArray(list) ? list : []
}

/** The tools that a history calls, in its order. */
function* calledIn({ parts }: ReadHistory): Generator<string> {
  for (const { message } of parts.sent) {
    for (const block of message.blocks) if (block.type === 'tool-call') yield block.name
  }
}
