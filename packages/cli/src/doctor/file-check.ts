// What can be said about a store without looking into its threads: who may read its files, and how they were set.

import { lstatSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { shellWord } from './place.ts'
import type { Finding } from './report.ts'
import { isDamage, type StoreFile } from './store-file.ts'

/** The database and the files that stand beside it. */
const endings = ['', '-wal', '-shm', '-high-water'] as const

/** Files of the store that others than their owner may read or write. */
export function openFiles(path: string): readonly string[] {
  // Windows has no such modes.
  if (process.platform === 'win32') return []
  return endings
    .map((ending) => `${path}${ending}`)
    .filter((file) => {
      const stat = statSync(file, { throwIfNoEntry: false })
      return stat !== undefined && (stat.mode & 0o077) !== 0
    })
}

/** Copied together, these are the store as it is. */
export function filesToCopy(path: string): readonly { from: string; ending: string }[] {
  return endings
    .filter((ending) => ending !== '-shm')
    .map((ending) => ({ from: `${path}${ending}`, ending }))
    .filter(({ from }) => statSync(from, { throwIfNoEntry: false }) !== undefined)
}

export function* checkModes(path: string): Generator<Finding> {
  const files = openFiles(path).map((file) => {
    const mode = (statSync(file).mode & 0o777).toString(8)
    return `${basename(file)} (mode ${mode})`
  })
  if (files.length === 0) return
  yield {
    code: 'file-mode',
    message: `Others than the owner may read or write ${files.join(', ')}.`,
    remedy: 'make them private',
    command: 'oriel doctor --repair',
  }
}

/** What others could do to the store without touching its files: a link in its place, or a folder that everybody may write to. */
export function* checkPlace(path: string): Generator<Finding> {
  if (process.platform === 'win32') return
  if (lstatSync(path).isSymbolicLink()) {
    yield {
      code: 'file-link',
      message: `${basename(path)} is a link to ${realpathSync(path)}: whoever can change the link decides which database is used, and the files that belong together are in two folders.`,
      remedy: 'name the database itself',
    }
  }
  const folder = dirname(realpathSync(path))
  const { mode } = statSync(folder)
  if ((mode & 0o002) === 0) return
  yield {
    code: 'file-mode',
    message: `Everybody may write to the folder ${folder} (mode ${(mode & 0o777).toString(8)}), and so remove or replace the files of the store.`,
    remedy: 'make the folder private',
    command: `chmod 700 ${shellWord(folder)}`,
  }
}

/** Compares settings as they were before the store opened the file. */
export function* checkSettings({ settings }: Pick<StoreFile, 'settings'>): Generator<Finding> {
  if (settings.journalMode === 'wal') return
  yield {
    code: 'settings',
    message: `Another program had set the journal mode to ${settings.journalMode}.`,
    remedy: 'nothing: opening the store has set it back; keep other programs away from it',
  }
}

/** SQLite's own check of all pages and indexes. */
export function* checkPages(file: StoreFile): Generator<Finding> {
  let complaint: string | undefined
  try {
    complaint = file.complaint()
  } catch (error) {
    if (!isDamage(error)) throw error
    complaint = 'the check itself fails on a damaged page'
  }
  if (complaint !== undefined) yield damagedFile(complaint)
}

/** The message of SQLite may run over several lines; it names tables and pages, no content. */
export function damagedFile(complaint: string): Finding {
  return {
    code: 'damaged-file',
    message: `SQLite finds the file damaged: ${complaint.split('\n').join('; ').slice(0, 300)}`,
    remedy: 'export what is whole and import it into a new store, or put a backup in its place',
    command: 'oriel export --out rescued.jsonl',
  }
}
