// Spreads tasks over the cores of the machine. Each worker does one at a time, and the pool prefers conversations that it has read.

import { Worker } from 'node:worker_threads'
import { type ErrorCode, OrielError } from '../core/log/errors.ts'
import { Desk, type Task, type TaskResult } from './task.ts'

export type Reply =
  | { readonly ok: true; readonly result: TaskResult }
  | { readonly ok: false; readonly message: string; readonly code?: ErrorCode }

/** Someone who does tasks, one after the other. */
interface Hand {
  do(task: Task): Promise<TaskResult>
  stop(): Promise<void>
}

export interface WeighedTask {
  readonly task: Task
  /** How long it takes, in any unit. */
  readonly weight: number
}

export class Pool {
  readonly #hands: readonly Hand[]
  /** Which hand has read each conversation. */
  readonly #readers = new Map<number, number>()

  /** With no workers the work is done here. */
  constructor(workers: number) {
    this.#hands = workers === 0 ? [deskHand()] : Array.from({ length: workers }, () => workerHand())
  }

  /** Does all tasks; results are in the order of the tasks. The first failure ends it. */
  async run(
    tasks: readonly WeighedTask[],
    onDone: (weight: number) => void,
  ): Promise<readonly TaskResult[]> {
    const results: TaskResult[] = []
    // The heaviest first, so that no core is left with a long one at the end.
    const waiting = tasks.map((one, place) => ({ ...one, place }))
    waiting.sort((a, b) => b.weight - a.weight)
    const next = (hand: number): (typeof waiting)[number] | undefined => {
      const own = waiting.findIndex(({ task }) => this.#readers.get(task.index) === hand)
      return waiting.splice(own === -1 ? 0 : own, 1)[0]
    }
    await Promise.all(
      this.#hands.map(async (hand, number) => {
        for (let one = next(number); one !== undefined; one = next(number)) {
          if (!this.#readers.has(one.task.index)) this.#readers.set(one.task.index, number)
          results[one.place] = await hand.do(one.task).catch((error: unknown) => {
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
    await Promise.all(this.#hands.map((hand) => hand.stop()))
  }
}

function deskHand(): Hand {
  const desk = new Desk()
  return { do: (task) => desk.do(task), stop: async () => undefined }
}

function workerHand(): Hand {
  // The process's own flags may be ones that a worker refuses, and the worker needs none.
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
        // A conversation is sent once: copying a long one takes a while.
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
