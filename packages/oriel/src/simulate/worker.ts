// Worker thread of the simulator.

import { parentPort } from 'node:worker_threads'
import { OrielError } from '../core/log/errors.ts'
import type { Reply } from './pool.ts'
import { type Task, TaskRunner } from './task.ts'

const runner = new TaskRunner()
parentPort?.on('message', async (task: Task) => {
  let reply: Reply
  try {
    reply = { ok: true, result: await runner.do(task) }
  } catch (error) {
    const code = OrielError.is(error) ? error.code : undefined
    const message = error instanceof Error ? error.message : String(error)
    reply = { ok: false, message, ...(code === undefined ? {} : { code }) }
  }
  parentPort?.postMessage(reply)
})
