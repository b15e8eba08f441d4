// Text report of `oriel doctor`. Pure: the same report gives the same text.

import { heading, number, type Paper, plural, table } from '../render/layout.ts'
import { clean, fit, wrap } from '../render/text.ts'
import type { DoctorReport, Finding } from './report.ts'
import { nameOf } from './store-options.ts'

/** Layout options of a report without content. */
export type PlainPaper = Pick<Paper, 'colors' | 'width'>

/** Maximum problems printed; `--json` has them all. */
const shownFindings = 20
const margin = '      '
const noteLines = 4

export function renderDoctor(report: DoctorReport, paper: PlainPaper): string {
  const { colors, width } = paper
  const lines = [
    `${colors.bold('oriel doctor')}  ${colors.cyan(fit(clean(report.file), width - 14))}`,
    '',
    ...table([{}, { takesRest: true }], facts(report, paper), width),
    // File names are never truncated, so that they can be copied.
    ...report.repairs.map((text) => `  ${colors.yellow('repaired')}  ${clean(text)}`),
    ...renderFindings(report, paper),
  ]
  return `${lines.join('\n')}\n`
}

function facts(
  { bytes, sqlite, settings, counts }: DoctorReport,
  { colors }: PlainPaper,
): { readonly text: string }[][] {
  const { schema, journalMode, pageSize } = settings
  const erased = counts.erased === 0 ? '' : `, ${number(counts.erased)} erased`
  const rows = [
    ['sqlite', sqlite],
    [
      'file',
      `${number(bytes)} bytes, schema ${schema}, journal ${journalMode}, pages of ${pageSize}`,
    ],
    ['threads', `${number(counts.threads)}${erased}`],
    ['entries', number(counts.entries)],
  ]
  return rows.map(([name = '', text = '']) => [{ text: name, style: colors.dim }, { text }])
}

function renderFindings({ findings, more, counts }: DoctorReport, paper: PlainPaper): string[] {
  const { colors } = paper
  if (findings.length === 0) {
    const text = 'every entry is there, matches its hash and can be shown in every format'
    return ['', `  ${colors.green('sound')}  ${text}`]
  }
  const total = findings.length + more
  const damaged = counts.damaged === 0 ? '' : damagedText(counts.damaged)
  const hidden = total - Math.min(findings.length, shownFindings)
  return [
    ...heading({ ...paper, top: 0, showContent: false }, plural(total, 'problem'), damaged),
    ...findings.slice(0, shownFindings).flatMap((finding) => renderFinding(finding, paper)),
    ...(hidden === 0 ? [] : [`  ${colors.dim(`and ${number(hidden)} more: --json`)}`]),
  ]
}

export function entriesText(count: number): string {
  return count === 1 ? '1 entry' : `${number(count)} entries`
}

function damagedText(count: number): string {
  return `in ${plural(count, 'thread')}; all others can be used`
}

function renderFinding(finding: Finding, { colors, width }: PlainPaper): string[] {
  const { code, message, remedy, command } = finding
  const title = `  ${code}  `
  return [
    colors.red(title) + fit(clean(placeOf(finding)), width - title.length),
    ...wrap(clean(message), width - margin.length, noteLines).map((line) => margin + line),
    ...wrap(clean(`To do: ${remedy}.`), width - margin.length, noteLines).map(
      (line) => margin + colors.green(line),
    ),
    // Not truncated either.
    ...(command === undefined ? [] : [`${margin}  ${clean(command)}`]),
  ]
}

function placeOf({ tenant, thread, seq }: Finding): string {
  if (tenant === undefined || thread === undefined) return 'the store'
  const where = nameOf({ tenant, thread })
  return seq === undefined ? where : `${where}, entry ${number(seq)}`
}
