// Does the simulator's tasks on another core.

import { parentPort } from 'node:worker_threads'
import { OrielError } from '../core/log/errors.ts'
import type { Reply } from './pool.ts'
import { Desk, type Task } from './task.ts'

const desk = new Desk()
parentPort?.on('message', async (task: Task) => {
  let reply: Reply
  try {
    reply = { ok: true, result: await desk.do(task) }
  } catch (error) {
    const code = OrielError.is(error) ? error.code : undefined
    const message = error instanceof Error ? error.message : String(error)
    reply = { ok: false, message, ...(code === undefined ? {} : { code }) }
  }
  parentPort?.postMessage(reply)
})
