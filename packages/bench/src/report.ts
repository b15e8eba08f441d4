// Benchmark output: tables for people, JSON for machines, progress on stderr.

import { readFileSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

/** A number as machines read it and as people do. */
export interface Figure {
  readonly value: number
  readonly text: string
}

export type Cell = string | Figure
export type Row = Readonly<Record<string, Cell>>

export interface Table {
  readonly title: string
  readonly rows: readonly Row[]
  /** Notes that a reader needs to interpret the table. */
  readonly notes?: readonly string[]
}

export interface Settings {
  readonly json: boolean
  /** Write the tables to docs/numbers.md, in their marked section. */
  readonly write: boolean
  /** Directory for disk measurements. */
  readonly directory: string | undefined
}

/** The command line of every benchmark: `--json`, and `--dir` for those that write files. */
export function readSettings(): Settings {
  const { values } = parseArgs({
    options: {
      json: { type: 'boolean', default: false },
      write: { type: 'boolean', default: false },
      dir: { type: 'string' },
    },
  })
  return { json: values.json, write: values.write, directory: values.dir }
}

/** Prints what a benchmark found, to the standard output; with `--write` also into docs/numbers.md, behind `before`. */
export function report(
  bench: string,
  tables: readonly Table[],
  { json, write }: Settings,
  before = '',
): void {
  if (write) publish(bench, tables, before)
  if (json) {
    const plain = tables.map(({ rows, ...table }) => ({ ...table, rows: rows.map(plainRow) }))
    const body = { bench, ...machine(), tables: plain }
    process.stdout.write(`${JSON.stringify(body, undefined, 2)}\n`)
    return
  }
  const { node, cpu, cores, memoryGb, date } = machine()
  process.stdout.write(`# ${bench}: ${date}, Node ${node}, ${cores} x ${cpu}, ${memoryGb} GB\n\n`)
  for (const table of tables) process.stdout.write(`${tableText(table)}\n`)
}

const numbers = join(import.meta.dirname, '../../../docs/numbers.md')

/**
 * Replaces a benchmark's tables in docs/numbers.md, between its marks. The surrounding text is
 * written by people.
 */
export function publish(
  bench: string,
  tables: readonly Table[],
  before = '',
  command = `bench:${bench}`,
): void {
  const [start, end] = [`<!-- bench:${bench} -->`, `<!-- /bench:${bench} -->`]
  const text = readFileSync(numbers, 'utf8')
  const [from, to] = [text.indexOf(start), text.indexOf(end)]
  if (from === -1 || to < from) throw new Error(`docs/numbers.md has no place marked ${start}.`)
  const { node, cpu, cores, date } = machine()
  const body = tables.map((table) => tableText(table).replace(/^## /, '### ')).join('\n')
  const head = `\`npm run ${command}\` in \`packages/bench\`, ${date}, Node ${node}, ${cores} x ${cpu}.`
  const section = `${start}\n${head}\n\n${before}${body}`
  writeFileSync(numbers, `${text.slice(0, from)}${section}${text.slice(to)}`)
}

/** Interval of progress lines if they cannot be overwritten, as in a log file. */
const quietMs = 5000
let lastProgress = Number.NEGATIVE_INFINITY

/** Shows progress on stderr, so that it never mixes with the results. */
export function progress(text: string): void {
  const now = performance.now()
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[2K${text}`)
  else if (now - lastProgress > quietMs) {
    process.stderr.write(`${text}\n`)
    lastProgress = now
  }
}

/** Removes the line of progress. */
export function endProgress(): void {
  if (process.stderr.isTTY) process.stderr.write('\r\u001b[2K')
}

/** A number with three significant digits: milliseconds, bytes per byte. */
export function figure(value: number): Figure {
  return { value, text: significant(value) }
}

/** A ratio such as `1.2x`. */
export function ratio(value: number): Figure {
  return { value, text: Number.isFinite(value) ? `${significant(value)}x` : '-' }
}

export function percent(share: number): Figure {
  return { value: share, text: Number.isFinite(share) ? `${(share * 100).toFixed(1)} %` : '-' }
}

/** A whole number. */
export function count(value: number): Figure {
  return { value, text: words(value) }
}

/** A whole number inside a sentence. */
export function words(value: number): string {
  return Math.round(value).toLocaleString('en-US')
}

function significant(value: number): string {
  if (!Number.isFinite(value)) return '-'
  return value >= 1000 ? words(value) : String(Number(value.toPrecision(3)))
}

export function machine() {
  return {
    node: process.versions.node,
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: cpus().length,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    date: new Date().toISOString().slice(0, 10),
  }
}

function plainRow(row: Row): Readonly<Record<string, string | number>> {
  const cells = Object.entries(row).map(([name, cell]) => [
    name,
    typeof cell === 'string' ? cell : cell.value,
  ])
  return Object.fromEntries(cells) as Record<string, string | number>
}

function textOf(cell: Cell | undefined): string {
  return typeof cell === 'object' ? cell.text : (cell ?? '')
}

/** A Markdown table, aligned, numbers to the right. */
function tableText({ title, rows, notes = [] }: Table): string {
  const columns = Object.keys(rows[0] ?? {})
  const lines = [columns, ...rows.map((row) => columns.map((column) => textOf(row[column])))]
  const widths = columns.map((_, at) =>
    Math.max(3, ...lines.map((line) => (line[at] ?? '').length)),
  )
  const write = (line: readonly string[]): string => {
    const cells = line.map((cell, at) => {
      const width = widths[at] as number
      return at === 0 ? cell.padEnd(width) : cell.padStart(width)
    })
    return `| ${cells.join(' | ')} |`
  }
  const rule = `|${widths.map((width, at) => `${'-'.repeat(width + (at === 0 ? 2 : 1))}${at === 0 ? '' : ':'}`).join('|')}|`
  const [head = [], ...body] = lines
  const table = [write(head), rule, ...body.map(write)].join('\n')
  const below = notes.length === 0 ? '' : `\n${notes.map((note) => `- ${note}`).join('\n')}\n`
  return `## ${title}\n\n${table}\n${below}`
}
