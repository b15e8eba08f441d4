// Outcome of an import per thread, and its text report.

import type { ThreadKey } from 'oriel'
import type { PlainPaper } from '../doctor/render.ts'
import { nameOf } from '../doctor/store-options.ts'
import { plural } from '../render/layout.ts'
import { clean, fit } from '../render/text.ts'

/**
 * - `imported`: a new thread
 * - `continued`: the store had its beginning; the rest was appended
 * - `already there`: nothing was written
 * - `refused`: nothing was written, with a reason
 */
export type Outcome =
  | {
      readonly type: 'imported' | 'continued' | 'already there'
      readonly key: ThreadKey
      /** What was written, or what already existed. */
      readonly remark: string
    }
  | { readonly type: 'refused'; readonly what: string; readonly reason: string }

export interface ImportReport {
  readonly file: string
  readonly outcomes: readonly Outcome[]
  readonly notes: readonly string[]
}

/** Ids and reasons are not truncated, so that they can be copied. */
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
