// Runs a writing process with a fault, and checks afterwards what the store promised.

import { spawn } from 'node:child_process'
import { hash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Entry, EntryId } from '../../src/core/log/entry.ts'
import { validate } from '../../src/providers/registry.ts'
import type { Store } from '../../src/stores/store.ts'
import { openThread } from '../../src/thread/thread.ts'
import { canaryOf } from './canary.ts'
import { openPlace } from './place.ts'

process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), 'oriel-compile-cache')

/** What was acknowledged: per thread, the hash of each entry by position; and the threads that were erased. */
export interface Acknowledged {
  readonly threads: Map<string, Map<number, string>>
  readonly erased: Set<string>
  /** Ids of messages that were said on the thread `talk`. */
  readonly said: Set<string>
}

export interface ChildOptions {
  readonly path: string
  readonly seed: number
  readonly mode?: 'append' | 'steady' | 'soon' | 'race' | 'same' | 'erase' | 'talk'
  /** `<point>:<n>:<kill|exit>`, see fault.ts. */
  readonly fault?: string
  /** Who writes to SQLite. @default 'auto' */
  readonly writes?: 'auto' | 'worker'
  /** Kills the process when it has said this many lines. */
  readonly killAfterLines?: number
  /** Kills the process when it says this, so many times. */
  readonly killAt?: string
  /** @default 1 */
  readonly killAtCount?: number
  /** Called with every line. */
  readonly onLine?: (line: string) => void
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
  return { threads: new Map(), erased: new Set(), said: new Set() }
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
  const { killAt, killAtCount = 1, onLine, writes = 'auto' } = options
  const file = fileURLToPath(new URL('./child.ts', import.meta.url))
  const [command = '', ...args] = [...wrapper, process.execPath, file, path, String(seed), mode]
  const env = { ...process.env, ORIEL_FAULT: fault, ORIEL_WRITES: writes }
  const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text
  })
  const lines: string[] = []
  let saidCount = 0
  const ended = once(child, 'close')
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line)
    record(line, acknowledged)
    onLine?.(line)
    if (line === killAt) saidCount += 1
    if (lines.length === killAfterLines || saidCount === killAtCount) child.kill('SIGKILL')
  }
  await ended
  return { lines, signal: child.signalCode, status: child.exitCode, errors }
}

function record(line: string, { threads, erased, said }: Acknowledged): void {
  const [word, thread = '', seq, digest] = line.split(' ')
  if (word === 'said' && /-\d+-[qa]$/.test(thread)) said.add(thread)
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
  { threads, erased, said }: Acknowledged,
): Promise<string[]> {
  const found: string[] = []
  const store = openPlace(path)
  try {
    if (said.size > 0) found.push(...(await talkViolations(store, said)))
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

/** What was said on the thread `talk` is in its log, once; one checkpoint at most is live; its view is valid, and it continues. */
async function talkViolations(store: Store, said: Set<string>): Promise<string[]> {
  const found: string[] = []
  const thread = await openThread({ store, id: 'talk' })
  const ids = (await thread.log()).flatMap((entry) =>
    entry.type === 'message' && entry.externalId !== undefined ? [entry.externalId] : [],
  )
  if (new Set(ids).size !== ids.length) found.push('talk: a message is there twice')
  for (const id of said) if (!ids.includes(id)) found.push(`talk: ${id} was said and is lost`)
  const { messages } = await thread.view()
  const live = messages.filter((message) =>
    JSON.stringify(message).includes('[Previous conversation summary]'),
  )
  if (live.length > 1) found.push(`talk: ${live.length} checkpoints are live`)
  for (const problem of validate('openai-chat', { messages })) found.push(`talk: ${problem.rule}`)
  const next = `next-${ids.length}-q`
  await thread.append({ id: next, role: 'user', content: 'next' })
  said.add(next)
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
