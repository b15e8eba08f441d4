// Transcripts in directories.

import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { OrielError } from 'oriel'

/** Expands directories to the transcripts in them, recursively, sorted by name. */
export function expandFolders(files: readonly string[]): readonly string[] {
  return files.flatMap((file) => {
    if (file === '-' || statSync(file, { throwIfNoEntry: false })?.isDirectory() !== true) {
      return [file]
    }
    const found = readdirSync(file, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && /\.(jsonl?|ndjson)$/.test(entry.name))
      .map((entry) => join(entry.parentPath, entry.name))
      .sort()
    if (found.length > 0) return found
    const message = `${file}: the folder has no .json, .jsonl or .ndjson file.`
    throw new OrielError('invalid-option', message)
  })
}
