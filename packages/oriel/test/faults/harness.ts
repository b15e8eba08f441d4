// Runs a writing process with a fault, and checks afterwards what the store promised.

import { spawn } from 'node:child_process'
import { hash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Entry, EntryId } from '../../src/core/entry.ts'
import { sqliteStore } from '../../src/stores/sqlite.ts'
import { canaryOf } from './canary.ts'

process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), 'oriel-compile-cache')

/** What was acknowledged: per thread, the hash of each entry by position; and the threads that were erased. */
export interface Acknowledged {
  readonly threads: Map<string, Map<number, string>>
  readonly erased: Set<string>
}

export interface ChildOptions {
  readonly path: string
  readonly seed: number
  readonly mode?: 'append' | 'steady' | 'race' | 'same' | 'erase'
  /** `<point>:<n>:<kill|exit>`, see fault-worker.ts. */
  readonly fault?: string
  /** Kills the process when it has said this many lines. */
  readonly killAfterLines?: number
  /** A command in front of node, such as strace with its options. */
  readonly wrapper?: readonly string[]
}

export interface ChildEnd {
  readonly lines: readonly string[]
  readonly signal: NodeJS.Signals | null
  readonly status: number | null
  readonly errors: string
}

export function createAcknowledged(): Acknowledged {
  return { threads: new Map(), erased: new Set() }
}

/** A directory that is removed when `use` is over. */
export async function withDirectory<T>(use: (directory: string) => Promise<T>): Promise<T> {
  const directory = mkdtempSync(join(tmpdir(), 'oriel-fault-'))
  try {
    return await use(directory)
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

/** Runs child.ts to its end, adding what it acknowledged. */
export async function runChild(
  options: ChildOptions,
  acknowledged: Acknowledged,
): Promise<ChildEnd> {
  const { path, seed, mode = 'append', fault = '', killAfterLines, wrapper = [] } = options
  const file = fileURLToPath(new URL('./child.ts', import.meta.url))
  const [command = '', ...args] = [...wrapper, process.execPath, file, path, String(seed), mode]
  const env = { ...process.env, ORIEL_FAULT: fault }
  const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text
  })
  const lines: string[] = []
  const ended = once(child, 'close')
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line)
    record(line, acknowledged)
    if (lines.length === killAfterLines) child.kill('SIGKILL')
  }
  await ended
  return { lines, signal: child.signalCode, status: child.exitCode, errors }
}

function record(line: string, { threads, erased }: Acknowledged): void {
  const [word, thread = '', seq, digest] = line.split(' ')
  if (word === 'erased') erased.add(thread)
  // A line that the kill cut short says nothing.
  if (word !== 'ack' || digest?.length !== 64) return
  const known = threads.get(thread) ?? new Map<number, string>()
  known.set(Number(seq), digest)
  threads.set(thread, known)
}

/**
 * The violations of what an acknowledgement promises, none if all is well: every acknowledged entry is there with its hash,
 * positions are contiguous, the file is sound, the chains hold, and the next append works.
 */
export async function violations(
  path: string,
  { threads, erased }: Acknowledged,
): Promise<string[]> {
  const found: string[] = []
  const store = sqliteStore(path)
  try {
    for await (const problem of store.verify()) found.push(`verify: ${JSON.stringify(problem)}`)
    for (const [thread, entries] of threads) {
      const key = { tenant: 'acme', thread }
      const read: Entry[] = []
      for await (const entry of store.read(key)) read.push(entry)
      read.forEach((entry, index) => {
        if (entry.seq !== index + 1)
          found.push(`${thread}: entry ${index + 1} has seq ${entry.seq}`)
      })
      const isGone = read.length === 0 && (await store.info(key)) === undefined
      if (erased.has(thread) && !isGone) found.push(`${thread}: erased and still there`)
      if (thread.startsWith('erase-') && isGone) {
        // Killed after the erasure and before it was acknowledged: then it must be complete.
        erased.add(thread)
        continue
      }
      for (const [seq, digest] of entries) {
        const entry = read[seq - 1]
        const own = entry === undefined ? 'nothing' : hash('sha256', JSON.stringify(entry))
        if (own !== digest) found.push(`${thread}: entry ${seq} was acknowledged, found ${own}`)
      }
      const next = read.length + 1
      const entry = {
        type: 'x-next',
        id: `e${next}` as EntryId,
        seq: next,
        at: next,
        value: next,
      } as const
      const result = await store.append(key, [entry], read.length)
      if (result.version !== next) found.push(`${thread}: the next append gave ${result.version}`)
      entries.set(next, hash('sha256', JSON.stringify(entry)))
    }
  } finally {
    await store.close()
  }
  return found
}

/** The files that still hold what an erased thread said. */
export function filesWithErased(directory: string, { erased }: Acknowledged): string[] {
  return readdirSync(directory).filter((name) => {
    const bytes = readFileSync(join(directory, name))
    return [...erased].some((thread) => bytes.includes(canaryOf(thread)))
  })
}

/** How many entries were acknowledged. */
export function countAcknowledged({ threads }: Acknowledged): number {
  return [...threads.values()].reduce((sum, entries) => sum + entries.size, 0)
}
