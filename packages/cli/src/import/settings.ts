// Options of `oriel import`.

import { type FormatName, formatNames } from 'oriel'
import { readPath, readText, wrong } from '../doctor/store-options.ts'
import type { RawOptions } from '../inspect/settings.ts'
import { expandFolders } from '../transcript/folders.ts'

export interface ImportSettings {
  /** The files to import; `-` is standard input. */
  readonly files: readonly string[]
  readonly path: string
  /** @default the tenant in the export, else 'default' */
  readonly tenant?: string
  /** @default the id in the export, else one derived from the content */
  readonly thread?: string
  /** The format of a history. @default detected */
  readonly format?: FormatName
  readonly isJson: boolean
}

/** Settings for one of the files. */
export type FileSettings = Omit<ImportSettings, 'files'> & { readonly file: string }

export function readImportSettings(files: readonly string[], raw: RawOptions): ImportSettings {
  if (files.length === 0) throw wrong('name the file to import, or - for standard input.')
  const expanded = expandFolders(files)
  const tenant = readText(raw, 'tenant')
  const thread = readText(raw, 'thread')
  const format = readFormat(raw)
  if (thread !== undefined && expanded.length > 1) {
    throw wrong(`--thread names one thread, and these are ${expanded.length} files; name one.`)
  }
  return {
    files: expanded,
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
