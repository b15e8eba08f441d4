// Text layout: tables, bars and sparklines.

import type { Colors } from '../terminal.ts'
import { clean, fit, pad, widthOfText } from './text.ts'

/** Layout options of a report. */
export interface Paper {
  readonly colors: Colors
  readonly width: number
  /** Rows per list. */
  readonly top: number
  /** First lines of results may be shown. */
  readonly showContent: boolean
}

export type Style = (text: string) => string

export interface Cell {
  readonly text: string
  readonly style?: Style
}

export interface Column {
  /** @default 'left' */
  readonly align?: 'left' | 'right'
  /** Takes the remaining width, and is truncated to it. @default false */
  readonly takesRest?: boolean
  /** Longer texts are truncated. @default no limit */
  readonly maxWidth?: number
}

const indent = '  '
const gap = '  '

/** Aligned rows. Sanitizes every text, so that no caller can forget it. */
export function table(
  columns: readonly Column[],
  rows: readonly (readonly (Cell | string)[])[],
  width: number,
): string[] {
  const cells = rows.map((row) => row.map((cell) => toCell(cell)))
  const widths = columns.map(({ maxWidth = Number.POSITIVE_INFINITY }, index) =>
    Math.min(maxWidth, Math.max(0, ...cells.map((row) => widthOfText(row[index]?.text ?? '')))),
  )
  const rest = columns.findIndex((column) => column.takesRest === true)
  if (rest !== -1) {
    const others = widths.reduce((sum, one, index) => sum + (index === rest ? 0 : one), 0)
    const room = width - indent.length - gap.length * (columns.length - 1) - others
    widths[rest] = Math.max(0, Math.min(widths[rest] as number, room))
  }
  return cells.map((row) => {
    const line = columns.map(({ align = 'left' }, index) => {
      const { text, style = plain } = row[index] ?? { text: '' }
      const columnWidth = widths[index] as number
      return style(pad(fit(text, columnWidth), columnWidth, align))
    })
    return (indent + line.join(gap)).trimEnd()
  })
}

/** A section heading with an optional remark. */
export function heading({ colors, width }: Paper, title: string, remark = ''): string[] {
  const text = fit(clean(title), width)
  const room = width - widthOfText(text) - gap.length
  if (remark === '' || room <= 0) return ['', colors.bold(text)]
  return ['', colors.bold(text) + gap + colors.dim(fit(clean(remark), room))]
}

const eighths = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'] as const

/** A bar for a share between 0 and 1. Any share above 0 is visible. */
export function bar(share: number, width: number): string {
  if (share <= 0) return ''
  const units = Math.max(1, Math.round(Math.min(1, share) * width * 8))
  return '█'.repeat(Math.floor(units / 8)) + eighths[units % 8]
}

const levels = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'] as const

/** A sparkline. If there are more values than columns, it shows the maximum of each group. */
export function sparkline(values: readonly number[], width: number): string {
  const count = Math.min(width, values.length)
  const highest = Math.max(1, ...groups(values, count))
  return groups(values, count)
    .map((value) => levels[Math.min(7, Math.floor((value / highest) * 8))])
    .join('')
}

const grouped = new Intl.NumberFormat('en-US')

/** `12,345` */
export function number(value: number): string {
  return grouped.format(value)
}

/** `12.3 million` above a million, else the exact number. */
export function roughly(value: number): string {
  return value < 1_000_000 ? number(value) : `${number(Math.round(value / 100_000) / 10)} million`
}

/** `45%`; small shares above 0 are `<1%`. */
export function percent(share: number): string {
  if (share > 0 && share < 0.005) return '<1%'
  return `${Math.round(share * 100)}%`
}

/** `1 turn`, `2 turns` */
export function plural(count: number, word: string): string {
  return `${number(count)} ${word}${count === 1 ? '' : 's'}`
}

function toCell(cell: Cell | string): Cell {
  return typeof cell === 'string' ? { text: clean(cell) } : { ...cell, text: clean(cell.text) }
}

function plain(text: string): string {
  return text
}

function groups(values: readonly number[], count: number): number[] {
  return Array.from({ length: count }, (_, index) => {
    const from = Math.floor((index * values.length) / count)
    const to = Math.floor(((index + 1) * values.length) / count)
    return values.slice(from, to).reduce((highest, value) => Math.max(highest, value), 0)
  })
}
