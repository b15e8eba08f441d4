// `oriel doctor` for PostgreSQL: checks the hash chain, fold and views of every thread. The
// server's files are out of scope.

import { createProgress } from '../progress.ts'
import { renderJson } from '../render/json.ts'
import { plural } from '../render/layout.ts'
import { clean } from '../render/text.ts'
import type { Terminal } from '../terminal.ts'
import { StoreServer } from './postgres-threads.ts'
import { Findings } from './report.ts'
import type { DoctorSettings } from './settings.ts'
import { commandFor, nameOf, wrong } from './store-options.ts'
import { checkChain, checkViews } from './thread-check.ts'

/** Maximum problems printed; `--json` has them all. */
const shown = 20

/** Resolves to the exit code: 0 if the store is sound, 1 if there are problems. */
export async function doctorServer(settings: DoctorSettings, terminal: Terminal): Promise<number> {
  if (settings.isRepairing) throw wrong('--repair works on files; there is nothing to repair here.')
  const server = new StoreServer(settings.path)
  const findings = new Findings()
  const counts = { threads: 0, entries: 0, damaged: 0 }
  const progress = createProgress(terminal, 0)
  try {
    for await (const thread of server.threads(settings.choice)) {
      counts.threads += 1
      counts.entries += thread.version
      const before = findings.kept.length + findings.more
      for await (const finding of checkChain(server.store, thread.key)) findings.add(finding)
      const isWhole = findings.kept.length + findings.more === before
      if (isWhole)
        for await (const finding of checkViews(server.store, thread)) findings.add(finding)
      if (findings.kept.length + findings.more > before) counts.damaged += 1
      progress.work(1)
    }
  } finally {
    progress.stop()
    await server.close()
  }
  print({ findings, counts }, settings, terminal)
  return findings.kept.length === 0 ? 0 : 1
}

function print(
  {
    findings,
    counts,
  }: {
    readonly findings: Findings
    readonly counts: object & { threads: number; entries: number }
  },
  settings: DoctorSettings,
  { stdout }: Terminal,
): void {
  const { kept, more } = findings
  const problems = kept.map(({ command, ...finding }) =>
    command === undefined ? finding : { ...finding, command: commandFor(command, settings.path) },
  )
  if (settings.isJson) {
    const value = {
      version: 1,
      isSound: kept.length === 0,
      store: 'postgres',
      counts,
      problems,
      moreProblems: more,
    }
    stdout.write(renderJson(value))
    return
  }
  const lines = problems.slice(0, shown).map(({ code, tenant, thread, seq, message, remedy }) => {
    const where =
      tenant === undefined || thread === undefined ? '' : ` ${nameOf({ tenant, thread })}`
    return `  ${code}${where}${seq === undefined ? '' : `, entry ${seq}`}: ${message} ${remedy}`
  })
  const count = problems.length + more
  const verdict = count === 0 ? 'sound' : plural(count, 'problem')
  const head = `oriel doctor  PostgreSQL: ${plural(counts.threads, 'thread')}, ${counts.entries} entries, ${verdict}`
  stdout.write(`${[head, ...lines].map((line) => clean(line)).join('\n')}\n`)
}
