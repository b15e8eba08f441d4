// The model's part in a view: asked before it where the schedule waits for jobs, behind it where it never does.

import type { Entry } from '../../core/log/entry.ts'
import { settings } from '../../core/log/settings.ts'
import { noSummary, type SummaryOf } from '../../core/state/summary-request.ts'
import type { Policy } from '../../policy/schema.ts'
import type { Journal, Stamp } from '../journal/journal.ts'
import { proposalsOf, type ViewRequest } from '../view/view.ts'
import {
  type Finished,
  keyOf,
  type Summaries,
  type SummaryPass,
  type SummaryRun,
} from './summaries.ts'

/** Rules may want something else once the first wishes are granted; a third round changes nothing worth waiting for. */
const maxRounds = 2

/** Whether a view waits for jobs: `immediate` does, `cache-aware` never. */
export function waitsForJobs({ schedule = 'immediate' }: Policy): boolean {
  return schedule === 'immediate'
}

/** Answers of models for one pass over a log: from memory, from its edits, from its settings. */
export function askingOf(
  summaries: Summaries | undefined,
  journal: Journal,
  { policy, isTemporary }: Pick<ViewRequest, 'policy' | 'isTemporary'>,
): SummaryPass {
  // A policy for one call keeps nothing, so it has no later view for which a job could be made behind it.
  if (summaries === undefined || (isTemporary && !waitsForJobs(policy))) {
    return { summaryOf: noSummary, wanted: new Map() }
  }
  return summaries.ask(journal.state.step, (key) => recall(journal, key))
}

/** A summary that the log holds. */
function recall(journal: Journal, key: string): string | undefined {
  return journal.state.summaryOf(key) ?? journal.setting(settings.summary.at(key))
}

/** Answers from the log alone, as they were when a past request was made. */
export function askLog(journal: Journal): SummaryOf {
  return (wish) => {
    const key = keyOf(wish)
    const text = recall(journal, key)
    return text === undefined ? { state: 'none' } : { state: 'ready', text, key }
  }
}

/**
 * Runs the jobs that a view needs and waits for them, until `until` at the latest: what is not there then has its deterministic form.
 * Answers what came out, for the log where no edit will hold it.
 */
export async function prepareSummaries(
  summaries: Summaries | undefined,
  journal: Journal,
  {
    request,
    ...run
  }: Pick<SummaryRun, 'caller' | 'until'> & { readonly request: () => ViewRequest },
): Promise<readonly Finished[]> {
  const finished: Finished[] = []
  if (summaries === undefined) return finished
  for (let round = 0; round < maxRounds; round++) {
    const now = request()
    if (!waitsForJobs(now.policy)) return finished
    const { summaryOf, wanted } = askingOf(summaries, journal, now)
    proposalsOf({ ...now, summaryOf })
    const { step } = now.state
    if (wanted.size > 0) finished.push(...(await summaries.run(wanted, { ...run, step })))
    const isBusy = summaries.isBusy
    await summaries.settled(run.until)
    if (wanted.size === 0 && !isBusy) break
  }
  return finished
}

/** Summaries as entries: for a view whose edits are not kept, and for jobs that end behind a view. */
export function summaryEntries(
  journal: Journal,
  finished: readonly Finished[],
  stamp: Stamp,
): readonly Entry[] {
  return finished.flatMap(({ key, text }) =>
    recall(journal, key) === undefined ? [stamp.entry(settings.summary.at(key).body(text))] : [],
  )
}
