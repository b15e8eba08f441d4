// `oriel import`: imports an export file, or a history in a provider's format. Idempotent.

import { postgresStore, type Store, sqliteStore } from 'oriel'
import { isServer } from '../doctor/store-options.ts'
import { createProgress, type Progress } from '../progress.ts'
import { renderJson } from '../render/json.ts'
import { colorsFor, type Terminal, widthOf } from '../terminal.ts'
import { type Imported, importExport } from './export-file.ts'
import { isExport } from './export-line.ts'
import { importHistories } from './history.ts'
import { renderImport } from './outcome.ts'
import type { FileSettings, ImportSettings } from './settings.ts'
import { checkReadable, Source } from './source.ts'

/** Incremented when a field changes its meaning. docs/guides/keep.md documents the shape. */
const jsonVersion = 1

/**
 * Resolves to the exit code: 0, or 1 if part of the file was not imported. Throws if nothing can be
 * imported.
 */
export async function importThreads(settings: ImportSettings, terminal: Terminal): Promise<number> {
  const { path, files, isJson } = settings
  const { stdout, env } = terminal
  // All files are looked for before the first one is imported.
  for (const file of files) if (file !== '-') checkReadable(file)
  const store = isServer(path) ? postgresStore(path) : sqliteStore(path)
  try {
    const reports: (Imported & { readonly file: string })[] = []
    for (const file of files) reports.push(await importFile(file, settings, { store, terminal }))
    const isComplete = reports.every(
      ({ isWhole, outcomes }) => isWhole && outcomes.every(({ type }) => type !== 'refused'),
    )
    const paper = { colors: colorsFor(stdout, env), width: widthOf(stdout) }
    const shown = reports.map(({ file, outcomes, notes }) => ({ file, outcomes, notes }))
    const body = shown.length === 1 ? shown[0] : { files: shown }
    if (isJson) stdout.write(renderJson({ version: jsonVersion, isComplete, ...body }))
    else for (const report of shown) stdout.write(renderImport(report, paper))
    return isComplete ? 0 : 1
  } finally {
    await store.close()
  }
}

async function importFile(
  file: string,
  settings: ImportSettings,
  around: { readonly store: Store; readonly terminal: Terminal },
): Promise<Imported & { readonly file: string }> {
  const source = await Source.open(file, around.terminal.stdin)
  try {
    return { ...(await read(source, { ...settings, file }, around)), file }
  } finally {
    source.close()
  }
}

async function read(
  source: Source,
  settings: FileSettings,
  { store, terminal }: { readonly store: Store; readonly terminal: Terminal },
): Promise<Imported> {
  const isOurs = isExport(await source.first())
  const progress = createProgress(terminal, source.bytes * (isOurs ? 2 : 1))
  const around = { store, onBytes: (bytes: number) => advance(progress, bytes) }
  try {
    return await (isOurs
      ? importExport(source, settings, around)
      : importHistories(source, settings, around))
  } finally {
    progress.stop()
  }
}

function advance(progress: Progress, bytes: number): void {
  progress.read(bytes)
  progress.work(1)
}
