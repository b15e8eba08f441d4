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
import type { ImportSettings } from './settings.ts'
import { Source } from './source.ts'

/** Incremented when a field changes its meaning. docs/guides/keep.md documents the shape. */
const jsonVersion = 1

/**
 * Resolves to the exit code: 0, or 1 if part of the file was not imported. Throws if nothing can be
 * imported.
 */
export async function importThreads(settings: ImportSettings, terminal: Terminal): Promise<number> {
  const source = await Source.open(settings.file, terminal.stdin)
  try {
    const { path } = settings
    const store = isServer(path) ? postgresStore(path) : sqliteStore(path)
    try {
      const { outcomes, notes, isWhole } = await read(source, settings, { store, terminal })
      const { stdout, env } = terminal
      const isComplete = isWhole && outcomes.every(({ type }) => type !== 'refused')
      const report = { file: settings.file, outcomes, notes }
      const paper = { colors: colorsFor(stdout, env), width: widthOf(stdout) }
      if (settings.isJson) stdout.write(renderJson({ version: jsonVersion, isComplete, ...report }))
      else stdout.write(renderImport(report, paper))
      return isComplete ? 0 : 1
    } finally {
      await store.close()
    }
  } finally {
    source.close()
  }
}

async function read(
  source: Source,
  settings: ImportSettings,
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
