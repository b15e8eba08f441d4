// Checks of a store's files: permissions, location, settings, page integrity.

import { lstatSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import type { Finding } from './report.ts'
import { isDamage, type StoreFile } from './store-file.ts'
import { shellWord } from './store-options.ts'

/** Suffixes of the database and its companion files. */
const endings = ['', '-wal', '-shm', '-high-water'] as const

/** Files of the store that other users can read or write. */
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

/** The files that together make a complete copy of the store. */
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

/** Risks outside the files themselves: a symlink in their place, or a world-writable directory. */
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

/** Checks the settings as they were before the store opened the file. */
export function* checkSettings({ settings }: Pick<StoreFile, 'settings'>): Generator<Finding> {
  if (settings.journalMode === 'wal') return
  yield {
    code: 'settings',
    message: `Another program had set the journal mode to ${settings.journalMode}.`,
    remedy: 'nothing: opening the store has set it back; keep other programs away from it',
  }
}

/** Runs SQLite's integrity check. */
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

/** SQLite's message may have several lines. It names tables and pages, not content. */
export function damagedFile(complaint: string): Finding {
  return {
    code: 'damaged-file',
    message: `SQLite finds the file damaged: ${complaint.split('\n').join('; ').slice(0, 300)}`,
    remedy: 'export what is whole and import it into a new store, or put a backup in its place',
    command: 'oriel export --out rescued.jsonl',
  }
}
