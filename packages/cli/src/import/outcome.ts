// What became of each thread of an imported file, and the text that says so.

import type { ThreadKey } from 'oriel'
import { nameOf } from '../doctor/place.ts'
import type { PlainPaper } from '../doctor/render.ts'
import { plural } from '../render/layout.ts'
import { clean, fit } from '../render/text.ts'

/**
 * - `imported`: a new thread
 * - `continued`: the store had the beginning of it; the rest was added
 * - `already there`: nothing was written
 * - `refused`: nothing was written, and the reason says why
 */
export type Outcome =
  | {
      readonly type: 'imported' | 'continued' | 'already there'
      readonly key: ThreadKey
      /** What was written, or what was there. */
      readonly remark: string
    }
  | { readonly type: 'refused'; readonly what: string; readonly reason: string }

export interface ImportReport {
  readonly file: string
  readonly outcomes: readonly Outcome[]
  readonly notes: readonly string[]
}

/** Ids and reasons are there to be copied and read: they are not cut. */
export function renderImport(report: ImportReport, paper: PlainPaper): string {
  const { colors, width } = paper
  const { file, outcomes, notes } = report
  const name = file === '-' ? 'standard input' : file
  const lines = [
    `${colors.bold('oriel import')}  ${colors.cyan(fit(clean(name), width - 14))}`,
    '',
    ...outcomes.map((outcome) => renderOutcome(outcome, paper)),
    ...notes.map((note) => `  ${colors.yellow('note')}  ${clean(note)}`),
    '',
    `  ${plural(outcomes.filter(({ type }) => type !== 'refused').length, 'thread')} in the store`,
  ]
  return `${lines.join('\n')}\n`
}

function renderOutcome(outcome: Outcome, { colors }: PlainPaper): string {
  if (outcome.type === 'refused') {
    return `  ${colors.red('refused')}  ${clean(`${outcome.what}: ${outcome.reason}`)}`
  }
  const { type, key, remark } = outcome
  const style = type === 'already there' ? colors.dim : colors.green
  return `  ${style(type)}  ${clean(`${nameOf(key)}, ${remark}`)}`
}
