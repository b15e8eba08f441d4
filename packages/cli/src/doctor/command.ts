// `oriel doctor`: checks a store, from its files to every view, and repairs what is safe to repair.

import { statSync } from 'node:fs'
import { OrielError, type ThreadState } from 'oriel'
import { createProgress } from '../progress.ts'
import { colorsFor, type Terminal, widthOf } from '../terminal.ts'
import { checkModes, checkPages, checkPlace, checkSettings, damagedFile } from './file-check.ts'
import { toJson } from './json.ts'
import { doctorServer } from './postgres-command.ts'
import { renderDoctor } from './render.ts'
import { acceptTruncated, isConfirmed, makePrivate, type Repair } from './repair.ts'
import { type DoctorReport, type Finding, Findings, type ThreadCounts } from './report.ts'
import type { DoctorSettings } from './settings.ts'
import { isDamage, StoreFile } from './store-file.ts'
import { type Choice, commandFor, isServer, nameOf, wrong } from './store-options.ts'
import { checkChain, checkReadable, checkViews } from './thread-check.ts'

/**
 * Resolves to the exit code: 0 if the store is sound, 1 if problems remain. Throws if it cannot be
 * checked.
 */
export async function doctor(settings: DoctorSettings, terminal: Terminal): Promise<number> {
  if (isServer(settings.path)) return doctorServer(settings, terminal)
  const file = new StoreFile(settings.path)
  let isOpen = false
  try {
    const visit = new StoreCheck(file, settings, terminal)
    isOpen = await visit.open()
    const counts = await visit.checkThreads(isOpen)
    const report: DoctorReport = {
      file: file.path,
      bytes: statSync(file.path).size,
      sqlite: process.versions.sqlite ?? 'unknown',
      settings: file.settings,
      counts,
      findings: visit.findings.kept,
      more: visit.findings.more,
      repairs: visit.repairs,
    }
    print(report, settings, terminal)
    return report.findings.length === 0 ? 0 : 1
  } finally {
    await (isOpen ? file.close() : file.leave())
  }
}

/** One check of one store. */
class StoreCheck {
  readonly findings = new Findings()
  readonly repairs: string[] = []
  readonly #file: StoreFile
  readonly #settings: DoctorSettings
  readonly #terminal: Terminal

  constructor(file: StoreFile, settings: DoctorSettings, terminal: Terminal) {
    this.#file = file
    this.#settings = settings
    this.#terminal = terminal
  }

  /**
   * Checks the files and opens the store. Returns false if it does not open, so that its threads
   * can only be read.
   */
  async open(): Promise<boolean> {
    const file = this.#file
    for (const finding of checkPlace(file.path)) this.#add(finding)
    const modes = [...checkModes(file.path)]
    if (file.isReadOnly) {
      // Skip the settings: with a read-only connection SQLite does not report the journal mode.
      for (const finding of modes) this.#add(finding)
      this.#terminal.stderr.write(
        'oriel doctor: nothing can be written there, so the store was not opened: entries are checked, views are not\n',
      )
      return false
    }
    const opened = await openingProblem(file)
    const repairs: Repair[] = []
    if (opened?.code === 'log-truncated') repairs.push(acceptTruncated(file))
    if (modes.length > 0) repairs.push(makePrivate(file.path))
    const isRepaired = await this.#repair(repairs)
    for (const finding of checkSettings(file)) this.#add(finding)
    if (!isRepaired) for (const finding of modes) this.#add(finding)
    const isOpen = opened === undefined || (isRepaired && opened.code === 'log-truncated')
    if (opened !== undefined && !isOpen) this.#add(opened)
    return isOpen
  }

  async checkThreads(isOpen: boolean): Promise<ThreadCounts> {
    const { choice } = this.#settings
    const size = statSync(this.#file.path).size
    const progress = createProgress(this.#terminal, size + 2 * this.#bytes())
    const advance = (bytes: number): void => {
      progress.read(bytes)
      progress.work(1)
    }
    const counts = { threads: 0, entries: 0, damaged: 0, erased: 0 }
    try {
      for (const finding of checkPages(this.#file)) this.#add(finding)
      advance(size)
      for (const state of this.#file.threads(choice)) {
        counts.threads += 1
        counts.entries += state.version
        if (state.salt === undefined) counts.erased += 1
        const problems = await this.#checkThread(state, isOpen, () => advance(state.bytes))
        if (problems > 0) counts.damaged += 1
        advance(state.bytes)
      }
    } catch (error) {
      if (!isDamage(error)) throw error
      this.#add(damagedFile('the list of threads cannot be read to its end'))
    } finally {
      progress.stop()
    }
    if (counts.threads === 0 && this.findings.kept.length === 0) checkFound(choice)
    return counts
  }

  /** Returns the number of problems of a thread. */
  async #checkThread(state: ThreadState, isOpen: boolean, onHalf: () => void): Promise<number> {
    const { store } = this.#file
    const count = await this.#take(
      isOpen ? checkChain(store, state.key) : checkReadable(this.#file, state),
    )
    onHalf()
    return count > 0 || !isOpen ? count : this.#take(checkViews(store, state))
  }

  /** Returns true if every requested repair was made. */
  async #repair(repairs: readonly Repair[]): Promise<boolean> {
    const { isRepairing, isSure } = this.#settings
    if (!isRepairing || repairs.length === 0) return false
    if (!isSure && !(await isConfirmed(repairs, this.#terminal))) return false
    for (const repair of repairs) this.repairs.push(await repair.run())
    return true
  }

  async #take(findings: AsyncIterable<Finding>): Promise<number> {
    let count = 0
    for await (const finding of findings) {
      count += 1
      this.#add(finding)
    }
    return count
  }

  #add(finding: Finding): void {
    const { command } = finding
    const path = this.#file.path
    this.findings.add(
      command === undefined ? finding : { ...finding, command: commandFor(command, path) },
    )
  }

  #bytes(): number {
    let bytes = 0
    try {
      for (const state of this.#file.threads(this.#settings.choice)) bytes += state.bytes
    } catch (error) {
      if (!isDamage(error)) throw error
    }
    return bytes
  }
}

/** Why the store does not open, if the file itself is the problem. Rethrows other errors. */
async function openingProblem(file: StoreFile): Promise<Finding | undefined> {
  try {
    await file.open()
    return undefined
  } catch (error) {
    if (OrielError.is(error, 'log-truncated')) {
      const { position, found } = error.details ?? {}
      if (found === 0) {
        return {
          code: 'log-truncated',
          message: error.message,
          remedy: 'put the database back, or remove the mark, or let the repair write a new one',
          command: 'oriel doctor --repair',
        }
      }
      const which = position === undefined ? '' : ` (number ${String(position)} of the store)`
      return {
        code: 'log-truncated',
        message: `The newest acknowledged entry${which} is missing: the write-ahead log was damaged, or an older copy was put back.`,
        remedy:
          'put the newest copy back, or take what is left as the whole log, which keeps a copy first',
        command: 'oriel doctor --repair',
      }
    }
    if (isDamage(error)) return damagedFile('the store cannot be opened')
    throw error
  }
}

/** A store without threads is sound, but a thread named by the user must exist. */
function checkFound({ tenant, threads }: Choice): void {
  const [thread] = threads
  if (thread === undefined) return
  throw wrong(
    `there is no ${nameOf({ tenant: tenant ?? 'default', thread })}; leave --thread out to check all.`,
  )
}

function print(report: DoctorReport, { isJson }: DoctorSettings, terminal: Terminal): void {
  const { stdout, env } = terminal
  stdout.write(
    isJson
      ? toJson(report)
      : renderDoctor(report, { colors: colorsFor(stdout, env), width: widthOf(stdout) }),
  )
}
