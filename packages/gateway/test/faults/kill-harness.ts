// Runs a gateway with clients, kills it, and checks afterwards what its clients may rely on.

import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'
import { openPlace } from '../../../oriel/test/faults/place.ts'
import { startUpstream, type Upstream } from '../upstream/upstream.ts'
import { answerTo, type Conversation, sixConversations } from './conversation.ts'
import { problemsIn } from './log-checks.ts'

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
    this.conversations = sixConversations()
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
      await Promise.all(this.conversations.map((one) => one.goOn(url, { isAlive, answers })))
      clearTimeout(timer)
      if (isAlive()) child.kill('SIGTERM')
    }
    await ended
  }

  /** What does not hold, none if all is well. */
  async violations(): Promise<readonly string[]> {
    const store = openPlace(this.#place)
    try {
      return [...(await problemsIn(store, this.conversations)), ...this.#upstream.breaches]
    } finally {
      await store.close()
    }
  }

  close(): Promise<void> {
    return this.#upstream.close()
  }
}

const here = import.meta.dirname
const hooks = pathToFileURL(join(here, '../../../../scripts/sources.ts')).href

/** A gateway in a process of its own, with options for its Node. */
export function startChild(
  place: string,
  upstream: string,
  { fault = '', writes = 'auto' }: Life = {},
  options: readonly string[] = [],
): ChildProcess {
  const command = [...options, '--import', hooks, join(here, 'gateway-child.ts'), place, upstream]
  const env = { ...process.env, ORIEL_FAULT: fault, ORIEL_WRITES: writes }
  return spawn(process.execPath, command, { env, stdio: ['ignore', 'pipe', 'pipe'] })
}

/** Where a child listens, once it does. */
export async function addressOf(child: ChildProcess): Promise<string | undefined> {
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
