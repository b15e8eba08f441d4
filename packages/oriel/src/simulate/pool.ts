// Worker pool: spreads tasks over the cores. Each worker runs one task at a time, preferably on a
// conversation it has already loaded.

import { Worker } from 'node:worker_threads'
import { type ErrorCode, OrielError } from '../core/log/errors.ts'
import { type Task, type TaskResult, TaskRunner } from './task.ts'

export type Reply =
  | { readonly ok: true; readonly result: TaskResult }
  | { readonly ok: false; readonly message: string; readonly code?: ErrorCode }

/** A worker, or the calling thread. */
interface Executor {
  do(task: Task): Promise<TaskResult>
  stop(): Promise<void>
}

export interface WeighedTask {
  readonly task: Task
  /** Relative duration. */
  readonly weight: number
}

export class Pool {
  readonly #executors: readonly Executor[]
  /** The worker that has loaded each conversation. */
  readonly #readers = new Map<number, number>()

  /** With 0 workers, runs in the calling thread. */
  constructor(workers: number) {
    this.#executors =
      workers === 0 ? [inlineExecutor()] : Array.from({ length: workers }, () => workerExecutor())
  }

  /** Runs all tasks; results are in task order. The first failure aborts. */
  async run(
    tasks: readonly WeighedTask[],
    onDone: (weight: number) => void,
  ): Promise<readonly TaskResult[]> {
    const results: TaskResult[] = []
    // Longest first, so that no core ends with a long task alone.
    const waiting = tasks.map((one, place) => ({ ...one, place }))
    waiting.sort((a, b) => b.weight - a.weight)
    const next = (executor: number): (typeof waiting)[number] | undefined => {
      const own = waiting.findIndex(({ task }) => this.#readers.get(task.index) === executor)
      return waiting.splice(own === -1 ? 0 : own, 1)[0]
    }
    await Promise.all(
      this.#executors.map(async (executor, number) => {
        for (let one = next(number); one !== undefined; one = next(number)) {
          if (!this.#readers.has(one.task.index)) this.#readers.set(one.task.index, number)
          results[one.place] = await executor.do(one.task).catch((error: unknown) => {
            waiting.length = 0
            throw error
          })
          onDone(one.weight)
        }
      }),
    )
    return results
  }

  async stop(): Promise<void> {
    await Promise.all(this.#executors.map((executor) => executor.stop()))
  }
}

function inlineExecutor(): Executor {
  const runner = new TaskRunner()
  return { do: (task) => runner.do(task), stop: async () => undefined }
}

function workerExecutor(): Executor {
  // Workers reject some flags of the process, and need none.
  const worker = new Worker(workerFile(), { name: 'oriel-simulate', execArgv: [] })
  let settle: { resolve(result: TaskResult): void; reject(error: unknown): void } | undefined
  worker.on('message', (reply: Reply) => {
    if (reply.ok) settle?.resolve(reply.result)
    else if (reply.code !== undefined) settle?.reject(new OrielError(reply.code, reply.message))
    else settle?.reject(new Error(reply.message))
  })
  worker.on('error', (error) => settle?.reject(error))
  const sent = new Set<number>()
  return {
    do: (task) =>
      new Promise((resolve, reject) => {
        settle = { resolve, reject }
        // Send a conversation once: copying a long one is slow.
        const { recording, ...rest } = task
        worker.postMessage(sent.has(task.index) ? rest : { ...rest, recording })
        sent.add(task.index)
      }),
    stop: async () => {
      await worker.terminate()
    },
  }
}

/** The worker beside this file: TypeScript in the sources, JavaScript in the package. */
function workerFile(): URL {
  const extension = import.meta.url.endsWith('.ts') ? '.ts' : '.js'
  return new URL(`./worker${extension}`, import.meta.url)
}
