// What a log says beside its state: the newest request and usage, what was learned from them, where the view last changed.

import type { Entry, UsageEntry } from '../core/entry.ts'
import { learn } from './calibration.ts'
import { withRequest, withUsage } from './lanes.ts'
import { inputTokens } from './read-usage.ts'
import type { JournalFacts } from './snapshot.ts'

/** What is known of the log after an entry, beside its state; the same object where the entry says nothing new. */
export function factsOf(entry: Entry, before: JournalFacts): JournalFacts {
  const lastAt = Math.max(before.lastAt, entry.at)
  const { lanes = [] } = before
  switch (entry.type) {
    case 'request':
      return { ...before, newestRequest: entry, lanes: withRequest(lanes, entry), lastAt }
    case 'usage': {
      const calibrations = calibrated(entry, before)
      const facts = { ...before, newestUsage: entry, lanes: withUsage(lanes, entry), lastAt }
      return calibrations === undefined ? facts : { ...facts, calibrations }
    }
    case 'edit':
      return { ...before, newestChange: entry.seq, newestEpoch: entry.epoch, lastAt }
    case 'undo':
    case 'mark':
      return { ...before, newestChange: entry.seq, lastAt }
    default:
      return lastAt === before.lastAt ? before : { ...before, lastAt }
  }
}

/** A sample teaches something only about the request that it measured. */
function calibrated(
  { view, sample }: UsageEntry,
  { newestRequest: request, calibrations }: JournalFacts,
): JournalFacts['calibrations'] {
  const estimated = request?.details?.tokens
  if (request?.view !== view || typeof estimated !== 'number') return calibrations
  const measured = inputTokens(sample)
  return learn(calibrations ?? {}, { model: request.model ?? '', estimated, measured })
}
