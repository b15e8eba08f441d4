// The plugin's end of the lines between it and the Node process: starts the process when first needed, and again if it ended.

import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { HostAnswer, HostMethod, HostRequests } from './requests.ts'

/** A request that takes longer is given up: the agent continues without Oriel. */
const timeoutMs = 20_000

interface Waiting {
  readonly resolve: (result: unknown) => void
  readonly reject: (error: Error) => void
}

export class HostLink {
  readonly #program: string
  readonly #node: string
  readonly #waiting = new Map<number, Waiting>()
  #child: ChildProcess | undefined
  #lastId = 0

  /** `node` is the program that runs it: `ORIEL_NODE`, or the one on the path. */
  constructor(env: NodeJS.ProcessEnv) {
    this.#node = env.ORIEL_NODE ?? 'node'
    // Beside this module: a source where this is one.
    const file = import.meta.url.endsWith('.ts') ? './main.ts' : './main.js'
    this.#program = fileURLToPath(new URL(file, import.meta.url))
  }

  /** Rejects with a sentence where the process cannot be started, ended, failed or took too long. */
  ask<M extends HostMethod>(
    method: M,
    params: HostRequests[M]['takes'],
  ): Promise<HostRequests[M]['answers']> {
    const id = ++this.#lastId
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(id)
        reject(new Error(`No answer within ${timeoutMs / 1000} seconds.`))
      }, timeoutMs)
      const settle = (act: () => void): void => {
        clearTimeout(timer)
        this.#waiting.delete(id)
        act()
      }
      this.#waiting.set(id, {
        resolve: (result) => settle(() => resolve(result as HostRequests[M]['answers'])),
        reject: (error) => settle(() => reject(error)),
      })
      const child = this.#child ?? this.#start()
      child.stdin?.write(`${JSON.stringify({ id, method, params })}\n`)
    })
  }

  /** Lets the process write what it has and end. */
  close(): Promise<void> {
    const child = this.#child
    this.#child = undefined
    if (child === undefined || child.exitCode !== null) return Promise.resolve()
    return new Promise((done) => {
      child.once('close', () => done())
      child.stdin?.end()
    })
  }

  #start(): ChildProcess {
    const child = spawn(this.#node, [this.#program], { stdio: ['pipe', 'pipe', 'pipe'] })
    this.#child = child
    let errors = ''
    child.stderr?.on('data', (chunk) => {
      errors = (errors + String(chunk)).slice(-2000)
    })
    const failed = (reason: string): void => {
      if (this.#child === child) this.#child = undefined
      for (const { reject } of [...this.#waiting.values()]) reject(new Error(reason))
    }
    child.once('error', ({ message }) =>
      failed(`Node could not be started (${message}). Set ORIEL_NODE to Node 22.13 or newer.`),
    )
    child.once('close', (code) => {
      const why = /^\w*Error.*$/m.exec(errors)?.[0] ?? `code ${code}`
      failed(`The process beside opencode ended: ${why}.`)
    })
    // A process that ended is noticed by its end, not by a write that fails.
    child.stdin?.on('error', () => undefined)
    if (child.stdout !== null) {
      createInterface({ input: child.stdout }).on('line', (line) => {
        const { id, result, error } = JSON.parse(line) as HostAnswer
        const waiting = this.#waiting.get(id)
        if (error === undefined) waiting?.resolve(result)
        else waiting?.reject(new Error(error))
      })
    }
    return child
  }
}
