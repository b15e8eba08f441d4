// Tokens of the next request: what the provider measured, and a calibrated estimate of the rest.

import { settings } from '../../core/log/settings.ts'
import { type Measured, requestTokens } from '../../core/state/weight.ts'
import { frameTokens } from '../../core/tokens/tally.ts'
import type { Journal } from '../journal/journal.ts'
import { type Accuracy, accuracyOf, calibrationOf } from './calibration.ts'
import type { ViewRequest } from './view.ts'

/**
 * Tokens of the next request. A usage sample counts only for the view it measured, and only while nothing but messages came after;
 * else everything that is visible is estimated.
 */
export function estimateOf(journal: Journal): number {
  const around = { frameTokens: recordedFrame(journal), measured: measuredOf(journal) }
  return requestTokens(journal.state, [], around)
}

/** What the provider measured of a request like the newest one, as far as it still holds. */
export function measuredOf(journal: Journal): Measured {
  const { model, frameHash } = journal.facts.newestRequest ?? {}
  return measuredWith(journal, { model, frameHash })
}

/** The same, for a view that is asked for with this frame and model: numbers of another one say nothing about it. */
export function measuredFor(
  journal: Journal,
  { options, framing }: Pick<ViewRequest, 'options' | 'framing'>,
): Measured {
  return measuredWith(journal, { model: options.model, frameHash: framing.hash })
}

/** It holds until something but messages changes the view, whatever views were made since: asking for a view must not change the next. */
function measuredWith(
  { facts }: Journal,
  asked: { readonly model: string | undefined; readonly frameHash: string | undefined },
): Measured {
  const { measured, newestChange, calibrations } = facts
  const factor = calibrationOf(calibrations, asked.model)?.factor ?? 1
  const isValid =
    measured !== undefined &&
    newestChange < measured.seq &&
    measured.model === asked.model &&
    measured.frameHash === asked.frameHash
  return isValid ? { request: { seq: measured.seq, tokens: measured.tokens }, factor } : { factor }
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
