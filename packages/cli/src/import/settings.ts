// Options of `oriel import`.

import { type FormatName, formatNames } from 'oriel'
import { readPath, readText, wrong } from '../doctor/store-options.ts'
import type { RawOptions } from '../inspect/settings.ts'

export interface ImportSettings {
  /** The file to import; `-` is standard input. */
  readonly file: string
  readonly path: string
  /** @default the tenant in the export, else 'default' */
  readonly tenant?: string
  /** @default the id in the export, else one derived from the content */
  readonly thread?: string
  /** The format of a history. @default detected */
  readonly format?: FormatName
  readonly isJson: boolean
}

export function readImportSettings(files: readonly string[], raw: RawOptions): ImportSettings {
  const [file, ...others] = files
  if (file === undefined) throw wrong('name the file to import, or - for standard input.')
  if (others.length > 0) throw wrong('one file is imported at a time; name one.')
  const tenant = readText(raw, 'tenant')
  const thread = readText(raw, 'thread')
  const format = readFormat(raw)
  return {
    file,
    path: readPath(raw),
    isJson: raw.json === true,
    ...(tenant === undefined ? {} : { tenant }),
    ...(thread === undefined ? {} : { thread }),
    ...(format === undefined ? {} : { format }),
  }
}

function readFormat(raw: RawOptions): FormatName | undefined {
  const value = readText(raw, 'format')
  if (value === undefined) return undefined
  const format = formatNames.find((name) => name === value)
  if (format !== undefined) return format
  throw wrong(`--format cannot be '${value}'; allowed: ${formatNames.join(', ')}.`)
}
