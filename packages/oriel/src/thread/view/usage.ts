// Tokens of the next request: what the provider measured, and a calibrated estimate of the rest.

import { settings } from '../../core/log/settings.ts'
import { type Measured, requestTokens } from '../../core/state/weight.ts'
import { frameTokens } from '../../core/tokens/tally.ts'
import type { Journal } from '../journal/journal.ts'
import { type Accuracy, accuracyOf, calibrationOf } from './calibration.ts'
import { inputTokens } from './read-usage.ts'
import type { ViewRequest } from './view.ts'

/**
 * Tokens of the next request. A usage sample counts only for the view it measured, and only while nothing but messages came after;
 * else everything that is visible is estimated.
 */
export function estimateOf(journal: Journal): number {
  const around = { frameTokens: recordedFrame(journal), measured: measuredOf(journal) }
  return requestTokens(journal.state, [], around)
}

/** What the provider measured of the newest request, as far as it still holds. */
export function measuredOf(journal: Journal): Measured {
  const { newestRequest: request, newestUsage: usage, newestChange, calibrations } = journal.facts
  const factor = calibrationOf(calibrations, request?.model)?.factor ?? 1
  const tokens = inputTokens(usage?.sample)
  const isValid =
    request !== undefined &&
    usage?.view === request.view &&
    newestChange < request.seq &&
    tokens > 0
  return isValid ? { request: { seq: request.seq, tokens }, factor } : { factor }
}

/** The same, for a view that is asked for with this frame and model: numbers of another one say nothing about it. */
export function measuredFor(journal: Journal, request: ViewRequest): Measured {
  const measured = measuredOf(journal)
  const { newestRequest: newest } = journal.facts
  const isSame =
    newest?.model === request.options.model && newest?.frameHash === request.framing.hash
  return isSame ? measured : { factor: measured.factor }
}

/** How estimates compare with what the provider measured, for the model of the newest request. */
export function accuracy({ facts }: Journal): Accuracy {
  return accuracyOf(calibrationOf(facts.calibrations, facts.newestRequest?.model))
}

/** Tokens of the frame that the newest request had. */
export function recordedFrame(journal: Journal): number {
  const hash = journal.facts.newestRequest?.frameHash
  if (hash === undefined) return 0
  return frameTokens(journal.state.counter, journal.setting(settings.frame.at(hash)))
}
