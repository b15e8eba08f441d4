// Repairs of `--repair`: only those that lose nothing more. Each is described and confirmed first.

import { chmodSync, constants, copyFileSync, statSync } from 'node:fs'
import { basename } from 'node:path'
import type { Terminal } from '../terminal.ts'
import { readLines } from '../transcript/lines.ts'
import { filesToCopy, openFiles } from './file-check.ts'
import type { StoreFile } from './store-file.ts'

export interface Repair {
  /** What will be done, for the confirmation. */
  readonly plan: string
  /** Makes the repair and returns what was done. */
  run(): Promise<string>
}

/** Accepts a truncated log as complete, after copying all files. */
export function acceptTruncated(file: StoreFile): Repair {
  const copy = `${file.path}.bak-${timestamp()}`
  return {
    plan: `take what is left as the whole log, after a copy of the store as it is to ${basename(copy)}`,
    async run() {
      file.frozen(() => copyStore(file.path, copy))
      await file.openTruncated()
      return `What is left is now the whole log. The store as it was is kept as ${copy}.`
    },
  }
}

/** Removes the permissions of other users. */
export function makePrivate(path: string): Repair {
  return {
    plan: `make ${openFiles(path)
      .map((file) => basename(file))
      .join(', ')} readable by the owner alone`,
    async run() {
      // Some files may be gone: SQLite removes its write-ahead log on close.
      const files = openFiles(path)
      for (const file of files) chmodSync(file, statSync(file).mode & 0o700)
      return `Only the owner may read ${files.map((file) => basename(file)).join(', ')} now.`
    },
  }
}

/** Prints the plan and waits for a `y`. No answer means no. */
export async function isConfirmed(
  repairs: readonly Repair[],
  { stdin, stderr }: Terminal,
): Promise<boolean> {
  const lines = repairs.map(({ plan }) => `  - ${plan}\n`).join('')
  stderr.write(`oriel doctor can:\n${lines}Go on? [y/N] `)
  for await (const { text } of readLines(stdin)) return /^y(es)?$/i.test(text.trim())
  return false
}

/** The copy is a complete store: companion files get the names that SQLite and Oriel expect. */
function copyStore(path: string, copy: string): void {
  for (const { from, ending } of filesToCopy(path)) {
    const to = `${copy}${ending}`
    copyFileSync(from, to, constants.COPYFILE_EXCL)
    chmodSync(to, 0o600)
  }
}

/** `20260131T235959Z`, without characters that some file systems reject. */
function timestamp(): string {
  return new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '')
}
