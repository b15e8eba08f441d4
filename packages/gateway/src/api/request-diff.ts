// Diff of the request at a step with the previous one.

import { canonicalJson, type Json, OrielError, type RebuiltRequest, type Thread } from 'oriel'

export interface StepRequest extends RebuiltRequest {
  readonly difference: Difference
}

export interface Difference {
  /** Absent for the first request. */
  readonly previousStep?: number
  /** Length of the common prefix, in messages. */
  readonly same: number
  /** Messages of the previous request after the common prefix. */
  readonly removed: readonly Json[]
  /** Messages of this request after the common prefix. */
  readonly added: readonly Json[]
}

export async function differenceOf(thread: Thread, step: number): Promise<StepRequest> {
  const now = await thread.requestAt(step)
  const messages = listOf(now)
  const before = await previous(thread, now)
  if (before === undefined) return { ...now, difference: { same: 0, removed: [], added: messages } }
  const old = listOf(before)
  const changed = messages.findIndex((one, at) => {
    const other = old[at]
    return other === undefined || canonicalJson(one) !== canonicalJson(other)
  })
  const same = changed === -1 ? Math.min(messages.length, old.length) : changed
  return {
    ...now,
    difference: {
      previousStep: before.request.step,
      same,
      removed: old.slice(same),
      added: messages.slice(same),
    },
  }
}

/** The newest request of an earlier step. */
async function previous(
  thread: Thread,
  { request }: RebuiltRequest,
): Promise<RebuiltRequest | undefined> {
  for (let step = request.step - 1; step >= 1 && step > request.step - 5; step--) {
    try {
      return await thread.requestAt(step)
    } catch (error) {
      // A step may have no request, for example if its answer was imported.
      if (!OrielError.is(error, 'not-found')) throw error
    }
  }
  return undefined
}

function listOf({ body }: RebuiltRequest): readonly Json[] {
  const list = body.messages ?? body.input
  return Array.isArray(list) ? list : []
}
