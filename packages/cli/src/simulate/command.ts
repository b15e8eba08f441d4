// `oriel simulate`: replays recorded conversations under several policies and reports their cost
// and the facts they keep.

import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { OrielError } from 'oriel'
import { type Simulation, simulate } from 'oriel/simulate'
import { createProgress } from '../progress.ts'
import { colorsFor, type Terminal, widthOf } from '../terminal.ts'
import { expandFolders } from '../transcript/folders.ts'
import { failureOf, measure } from './condition.ts'
import { renderHtml } from './html.ts'
import { toJson } from './json.ts'
import { readRecordings } from './recordings.ts'
import type { SimulateSettings } from './settings.ts'
import { renderTables } from './tables.ts'

const samples = ['coding-agent.json', 'support-chat.jsonl'].map((name) =>
  fileURLToPath(new URL(`../../samples/${name}`, import.meta.url)),
)

/** Data of a report. */
export interface SimulateReport {
  readonly isSample: boolean
  readonly simulation: Simulation
  readonly settings: SimulateSettings
  /** The recordings have timestamps. */
  readonly hasTimes: boolean
  readonly notes: readonly string[]
  /** Policies that meet the condition of `--fail-if`, and why. */
  readonly failures: readonly { readonly policy: string; readonly why: string }[]
}

/** Steps of the progress bar. */
const barSteps = 1000

/**
 * Resolves to the exit code: 1 if a policy meets `--fail-if`. Throws OrielError if there is nothing
 * to replay.
 */
export async function simulateCommand(
  files: readonly string[],
  settings: SimulateSettings,
  terminal: Terminal,
): Promise<number> {
  const { stdout, stderr, stdin, env } = terminal
  const isSample = files.length === 0
  const notes: string[] = []
  const recordings = await readRecordings(isSample ? samples : expandFolders(files), {
    format: settings.format,
    stdin,
    onNote: (note) => notes.push(note),
  })
  const progress = createProgress(terminal, barSteps)
  progress.read(barSteps)
  let shown = 0
  let simulation: Simulation
  const { format: _format, html: _html, isJson: _isJson, failIf, ...asked } = settings
  try {
    simulation = await simulate(recordings, {
      ...asked,
      onProgress(share) {
        progress.work(Math.min(0.999, share) - shown)
        shown = Math.min(0.999, share)
      },
    })
  } finally {
    progress.stop()
  }
  const failures =
    failIf === undefined
      ? []
      : simulation.outcomes.flatMap((outcome) => {
          const why = failureOf(failIf, measure(outcome, simulation))
          return why === undefined ? [] : [{ policy: outcome.name, why }]
        })
  const hasTimes = recordings.some(({ times }) => times !== undefined)
  const report = { isSample, simulation, settings, hasTimes, notes, failures }
  if (settings.html !== undefined) writeReport(settings.html, renderHtml(report))
  if (settings.isJson) stdout.write(toJson(report))
  else
    stdout.write(renderTables(report, { colors: colorsFor(stdout, env), width: widthOf(stdout) }))
  for (const { policy, why } of failures) stderr.write(`oriel: ${policy} fails: ${why}.\n`)
  return failures.length > 0 ? 1 : 0
}

function writeReport(file: string, html: string): void {
  try {
    writeFileSync(file, html)
  } catch (cause) {
    const message = `--html: ${file} cannot be written; check that its folder exists and may be written to.`
    throw new OrielError('invalid-option', message, { cause })
  }
}
