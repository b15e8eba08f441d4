// What a log says beside its state: the newest request and usage, what was learned from them, where the view last changed.

import type { Entry, UsageEntry } from '../core/entry.ts'
import { learn } from './calibration.ts'
import { withRequest, withUsage } from './lanes.ts'
import { inputTokens } from './read-usage.ts'
import type { JournalFacts } from './snapshot.ts'

/** What an entry says about the log beside its state; undefined where it says nothing. */
export function factsOf(entry: Entry, before: JournalFacts): Partial<JournalFacts> | undefined {
  if (entry.type === 'message' || entry.type === 'setting') return undefined
  const { lanes = [] } = before
  if (entry.type === 'request') return { newestRequest: entry, lanes: withRequest(lanes, entry) }
  if (entry.type === 'usage') {
    return { newestUsage: entry, lanes: withUsage(lanes, entry), ...calibrated(entry, before) }
  }
  if (entry.type === 'edit') return { newestChange: entry.seq, newestEpoch: entry.epoch }
  return entry.type === 'undo' || entry.type === 'mark' ? { newestChange: entry.seq } : undefined
}

/** A sample teaches something only about the request that it measured. */
function calibrated(
  { view, sample }: UsageEntry,
  { newestRequest: request, calibrations = {} }: JournalFacts,
): Partial<JournalFacts> {
  const estimated = request?.details?.tokens
  if (request?.view !== view || typeof estimated !== 'number') return {}
  const measured = inputTokens(sample)
  return {
    calibrations: learn(calibrations, { model: request.model ?? '', estimated, measured }),
  }
}
