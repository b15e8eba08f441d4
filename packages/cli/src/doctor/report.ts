// What `oriel doctor` found. Plain data: ids and numbers, never content.

import type { Problem } from 'oriel'
import type { FileSettings } from './store-file.ts'

/**
 * - `corrupt-entry`, `gap`, `log-truncated`, `missing-blob`: as the store reports them
 * - `damaged-file`: SQLite's own check of the file complains
 * - `settings`, `file-mode`: the file was changed by another program, or others may read it or write beside it
 * - `file-link`: the path is a link to the database
 * - `cannot-open`: the log does not fold into a thread
 * - `cannot-view`: a provider would refuse the view, or there is none
 */
export type FindingCode =
  | Problem['code']
  | 'damaged-file'
  | 'settings'
  | 'file-mode'
  | 'file-link'
  | 'cannot-open'
  | 'cannot-view'

/** One problem, and what to do about it. */
export interface Finding {
  readonly code: FindingCode
  readonly tenant?: string
  readonly thread?: string
  readonly seq?: number
  readonly message: string
  /** What to do, in words. */
  readonly remedy: string
  /** The same as a command or a line of code, to be copied. */
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
  /** Findings beyond those that are kept. */
  readonly more: number
  /** What `--repair` did, one sentence each. */
  readonly repairs: readonly string[]
}

/** A store with more problems than this has one problem. */
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
