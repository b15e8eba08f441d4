// Runs a gateway with clients, kills it, and checks afterwards what its clients may rely on.

import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'
import { type Store, wireFormats } from 'oriel'
import { openPlace } from '../../../oriel/test/faults/place.ts'
import { startUpstream, type Upstream } from '../upstream/upstream.ts'
import { answerTo, Conversation, halvesIn, marksIn } from './conversation.ts'

process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), 'oriel-compile-cache')

export interface Life {
  /** `<point>:<n>:<kill|late>` in the store, see fault.ts. */
  readonly fault?: string
  /** Who writes to SQLite. @default 'auto' */
  readonly writes?: 'auto' | 'worker'
  /** Kills the process this long after the first request. */
  readonly killAfterMs?: number
  /** Without a kill: answers that each client waits for. */
  readonly answers?: number
}

/** A place, the clients that use it, and what they saw. */
export class Scene {
  readonly #place: string
  readonly #upstream: Upstream
  readonly conversations: readonly Conversation[]
  /** What the gateways wrote to their standard error. */
  errors = ''

  private constructor(place: string, upstream: Upstream) {
    this.#place = place
    this.#upstream = upstream
    const kinds = wireFormats.flatMap((format) =>
      [false, true].flatMap((isStream) => [{ format, isStream }]),
    )
    this.conversations = kinds.map(
      (kind, index) => new Conversation({ ...kind, id: index + 1, isNamed: index % 2 === 1 }),
    )
  }

  static async open(place: string): Promise<Scene> {
    return new Scene(place, await startUpstream({ answer: answerTo }))
  }

  /** Answers that clients saw whole. */
  get answered(): number {
    const marks = this.conversations.flatMap(({ seen }) => seen)
    return marks.filter((mark) => mark.startsWith('a')).length
  }

  /** One process from its start to its end. */
  async live(life: Life): Promise<void> {
    const { killAfterMs, answers = Infinity } = life
    const child = startChild(this.#place, this.#upstream.url, life)
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.errors += text
    })
    const ended = once(child, 'exit')
    const url = await Promise.race([addressOf(child), ended.then(() => undefined)])
    if (url !== undefined) {
      const timer =
        killAfterMs === undefined ? undefined : setTimeout(() => child.kill('SIGKILL'), killAfterMs)
      const isAlive = (): boolean => child.exitCode === null && child.signalCode === null
      await Promise.all(this.conversations.map((one) => converse(one, url, { isAlive, answers })))
      clearTimeout(timer)
      if (isAlive()) child.kill('SIGTERM')
    }
    await ended
  }

  /** What does not hold, none if all is well. */
  async violations(): Promise<readonly string[]> {
    const store = openPlace(this.#place)
    try {
      const found: string[] = []
      for await (const problem of store.verify()) found.push(`verify: ${JSON.stringify(problem)}`)
      const logs = await logsOf(store)
      for (const log of logs) found.push(...log.problems)
      for (const one of this.conversations) found.push(...lost(one, logs))
      return [...found, ...this.#upstream.breaches]
    } finally {
      await store.close()
    }
  }

  close(): Promise<void> {
    return this.#upstream.close()
  }
}

/** Asks until there are enough answers, or the gateway is gone. */
async function converse(
  conversation: Conversation,
  url: string,
  { isAlive, answers }: { readonly isAlive: () => boolean; readonly answers: number },
): Promise<void> {
  let left = answers
  let failures = 0
  while (left > 0 && isAlive()) {
    if (await conversation.ask(url)) left -= 1
    else if (isAlive()) {
      failures += 1
      if (failures > 50) throw new Error(`${conversation.name} gets no answers.`)
      // The process may be gone already, and its end not be known yet.
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
}

const here = import.meta.dirname
const hooks = pathToFileURL(join(here, '../../../../scripts/sources.ts')).href

function startChild(
  place: string,
  upstream: string,
  { fault = '', writes = 'auto' }: Life,
): ChildProcess {
  const command = ['--import', hooks, join(here, 'gateway-child.ts'), place, upstream]
  const env = { ...process.env, ORIEL_FAULT: fault, ORIEL_WRITES: writes }
  return spawn(process.execPath, command, { env, stdio: ['ignore', 'pipe', 'pipe'] })
}

async function addressOf(child: ChildProcess): Promise<string | undefined> {
  for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream })) {
    const [word, url] = line.split(' ')
    if (word === 'listening') return url
  }
  return undefined
}

/** `oriel doctor` over a store, in a process of its own: what it prints when it finds something. */
export function doctor(place: string): Promise<string | undefined> {
  const command = join(here, '../../../cli/test/serve-child.ts')
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      ['--import', hooks, command, 'doctor', '--store', place],
      (error, stdout, stderr) => resolve(error === null ? undefined : stdout + stderr),
    )
  })
}

interface Log {
  readonly thread: string
  /** Its first entry, which a fork has too. */
  readonly header: string
  /** The forks that it knows of. */
  readonly forks: readonly string[]
  /** Marks of the messages that the model sees, in order. */
  readonly marks: readonly string[]
  readonly problems: readonly string[]
}

async function logsOf(store: Store): Promise<readonly Log[]> {
  const logs: Log[] = []
  for (const tenant of (await store.tenants?.({ limit: 100 })) ?? []) {
    for (const { thread } of await store.list(tenant, { limit: 1000 })) {
      logs.push(await readLog(store, { tenant, thread }))
    }
  }
  return logs
}

async function readLog(
  store: Store,
  key: { readonly tenant: string; readonly thread: string },
): Promise<Log> {
  const marks: string[] = []
  const problems: string[] = []
  const problem = (text: string): number => problems.push(`${key.thread}: ${text}`)
  const forks: string[] = []
  const lines: string[] = []
  let header = ''
  for await (const entry of store.read(key)) {
    header ||= JSON.stringify(entry)
    lines.push(JSON.stringify(entry).slice(0, 400))
    if (entry.type === 'setting' && entry.name.startsWith('fork/')) forks.push(entry.name.slice(5))
    // Answers that broke off are kept for people only.
    if (entry.type !== 'message' || entry.kind === 'interrupted') continue
    const text = JSON.stringify(entry)
    marks.push(...marksIn(text))
    for (const half of halvesIn(text)) problem(`${half} is not whole`)
  }
  for (const mark of marks) {
    if (marks.indexOf(mark) !== marks.lastIndexOf(mark))
      problem(`${mark} is there twice; the log ends with\n${lines.slice(-20).join('\n')}`)
  }
  if (new Set(marks.map((mark) => mark.split('-')[1])).size > 1) problem('holds two conversations')
  return { thread: key.thread, header, forks, marks, problems }
}

/**
 * What a client saw must stand in one log, in its order, from the beginning. There is one log for each conversation, and one more for
 * each answer that was kept and that the client never got to see: asked again, it went on without it. A client without a name that asks its
 * first question again looks like another client with the same question, and begins anew. A kill while a fork is copied leaves a copy that
 * its parent does not know of, and nobody uses.
 */
function lost(conversation: Conversation, logs: readonly Log[]): readonly string[] {
  const { seen, id, name } = conversation
  const own = logs.filter(({ marks }) => marks[0]?.split('-')[1] === String(id))
  const found: string[] = []
  const isKept = own.some(({ marks }) => seen.every((mark, index) => marks[index] === mark))
  const shown = own.map(({ thread, marks }) => `\n    ${thread}: ${marks.join(' ')}`).join('')
  if (seen.length > 0 && !isKept) {
    found.push(`${name} saw ${seen.join(' ')}, and no log has that:${shown}`)
  }
  const answers = new Set(own.flatMap(({ marks }) => marks.filter((mark) => mark.startsWith('a'))))
  const unseen = [...answers].filter((mark) => !seen.includes(mark))
  const begun = own.filter(({ marks }) => marks.length > 1 || conversation.isNamed)
  const families = new Set(begun.map(({ header }) => header))
  const forks = new Set(begun.flatMap((log) => log.forks))
  if (families.size + forks.size > 1 + unseen.length) {
    found.push(
      `${name} saw ${seen.join(' ')}, and has ${families.size} threads with ${forks.size} forks:${shown}`,
    )
  }
  return found
}
