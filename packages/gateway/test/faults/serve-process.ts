// `oriel serve` in a process of its own, from the sources, with a configuration file in a folder that is removed with it.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'

process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), 'oriel-compile-cache')

const here = import.meta.dirname
const hooks = pathToFileURL(join(here, '../../../../scripts/sources.ts')).href

export interface ServeProcess {
  readonly url: string
  readonly child: ChildProcess
  readonly isAlive: boolean
  /** What it wrote to standard error. */
  readonly errors: string
  /** Resolves when the text is in what it wrote to standard error. */
  wrote(text: string): Promise<void>
  /** The value of a metric, with its labels as they are printed; 0 where it is not printed. */
  metric(name: string): Promise<number>
  /** Stops it with SIGTERM. Resolves to the exit code, or the signal that ended it. */
  stop(): Promise<number | string | null>
}

export interface ServeProcessOptions {
  /** The configuration file. */
  readonly config: object
  /** Modules that are loaded before the command. */
  readonly imports?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** File descriptors that it may have open. @default the system's */
  readonly maxFiles?: number
}

/** Resolves when it listens. */
export async function startServe(options: ServeProcessOptions): Promise<ServeProcess> {
  const { config, imports = [], env = {}, maxFiles } = options
  const folder = mkdtempSync(join(tmpdir(), 'oriel-serve-'))
  const file = join(folder, 'oriel.json')
  writeFileSync(file, JSON.stringify({ port: 0, data: 'data', log: 'json', ...config }))
  const command = join(here, '../../../cli/test/serve-child.ts')
  const loaded = [hooks, ...imports].flatMap((one) => ['--import', one])
  const words = [process.execPath, ...loaded, command, 'serve', '--config', file]
  const limited =
    maxFiles === undefined ? words : ['sh', '-c', limiting, String(maxFiles), ...words]
  const [program = '', ...rest] = limited
  const child = spawn(program, rest, {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: { ...process.env, NO_COLOR: '1', ...env },
  })
  const ended = once(child, 'close').then(([code, signal]) => {
    rmSync(folder, { recursive: true, force: true })
    return (code ?? signal) as number | string | null
  })
  const written = new Written(child)
  const url = await addressOf(child)
  if (url === undefined) throw new Error(`It ended before it listened: ${written.text}`)
  const isAlive = (): boolean => child.exitCode === null && child.signalCode === null
  return {
    url,
    child,
    get isAlive() {
      return isAlive()
    },
    get errors() {
      return written.text
    },
    wrote: (text) => written.has(text),
    async metric(name) {
      const text = await (await fetch(`${url}/metrics`)).text()
      const line = text.split('\n').find((one) => one.startsWith(`${name} `))
      return line === undefined ? 0 : Number(line.slice(name.length + 1))
    },
    async stop() {
      if (isAlive()) child.kill('SIGTERM')
      return ended
    },
  }
}

/** The first word is the limit, the others are the command. */
const limiting = 'ulimit -n "$0" && exec "$@"'

class Written {
  text = ''
  #wake: (() => void)[] = []

  constructor(child: ChildProcess) {
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.text += text
      for (const wake of this.#wake.splice(0)) wake()
    })
    child.once('close', () => {
      for (const wake of this.#wake.splice(0)) wake()
    })
    this.#isOver = () => child.exitCode !== null || child.signalCode !== null
  }

  readonly #isOver: () => boolean

  async has(text: string): Promise<void> {
    while (!this.text.includes(text)) {
      if (this.#isOver()) throw new Error(`It ended and never wrote '${text}': ${this.text}`)
      await new Promise<void>((resolve) => this.#wake.push(resolve))
    }
  }
}

async function addressOf(child: ChildProcess): Promise<string | undefined> {
  for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream })) {
    const url = /listens on (\S+)/.exec(line)?.[1]
    if (url !== undefined) return url
  }
  return undefined
}
