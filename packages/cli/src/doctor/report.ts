// Findings of `oriel doctor`. Plain data: ids and numbers, never content.

import type { Problem } from 'oriel'
import type { FileSettings } from './store-file.ts'

/**
 * - `corrupt-entry`, `gap`, `log-truncated`, `missing-blob`: as reported by the store
 * - `damaged-file`: SQLite's integrity check failed
 * - `settings`, `file-mode`: another program changed the file, or other users can read it or write
 *   beside it
 * - `file-link`: the path is a symlink to the database
 * - `cannot-open`: the log does not fold into a thread
 * - `cannot-view`: a provider would reject the view, or there is none
 */
export type FindingCode =
  | Problem['code']
  | 'damaged-file'
  | 'settings'
  | 'file-mode'
  | 'file-link'
  | 'cannot-open'
  | 'cannot-view'

/** One problem and its remedy. */
export interface Finding {
  readonly code: FindingCode
  readonly tenant?: string
  readonly thread?: string
  readonly seq?: number
  readonly message: string
  /** What to do, in words. */
  readonly remedy: string
  /** The remedy as a command or a line of code to copy. */
  readonly command?: string
}

export interface ThreadCounts {
  readonly threads: number
  readonly entries: number
  readonly damaged: number
  readonly erased: number
}

export interface DoctorReport {
  readonly file: string
  readonly bytes: number
  readonly sqlite: string
  readonly settings: FileSettings
  readonly counts: ThreadCounts
  readonly findings: readonly Finding[]
  /** Number of findings beyond the limit. */
  readonly more: number
  /** What `--repair` did, one sentence each. */
  readonly repairs: readonly string[]
}

/** Maximum findings kept. */
const maxFindings = 1000

/** Collects findings up to a limit, and counts the rest. */
export class Findings {
  readonly #kept: Finding[] = []
  #more = 0

  get kept(): readonly Finding[] {
    return this.#kept
  }

  get more(): number {
    return this.#more
  }

  add(finding: Finding): void {
    if (this.#kept.length < maxFindings) this.#kept.push(finding)
    else this.#more += 1
  }
}
