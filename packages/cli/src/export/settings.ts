// Options of `oriel export`.

import { type Choice, readChoice, readPath, readText, wrong } from '../doctor/store-options.ts'
import type { RawOptions } from '../inspect/settings.ts'

export interface ExportSettings {
  readonly path: string
  readonly choice: Choice
  /** The last entry to export. @default the newest */
  readonly until?: number
  /** Output file; `-` is standard output. */
  readonly out: string
  readonly isJson: boolean
}

export function readExportSettings(raw: RawOptions): ExportSettings {
  const choice = readChoice(raw)
  const until = readSeq(raw)
  if (until !== undefined && choice.threads.length !== 1) {
    throw wrong('--until is about one thread; name it with --thread.')
  }
  return {
    path: readPath(raw),
    choice,
    ...(until === undefined ? {} : { until }),
    out: readText(raw, 'out') ?? '-',
    isJson: raw.json === true,
  }
}

function readSeq(raw: RawOptions): number | undefined {
  const value = raw.until
  if (value === undefined) return undefined
  if (typeof value === 'number' && Number.isSafeInteger(value) && value > 0) return value
  throw wrong(
    `--until must be the seq of an entry, a whole number above 0; got '${String(value)}'.`,
  )
}
