// The store's worker with one fault in it. ORIEL_FAULT is `<point>:<n>:<kill|late|exit>`: what happens when the point is passed
// for the n-th time; `late` waits a moment before it kills, so that whoever does not wait for the store goes on meanwhile. Without it, this is
// the ordinary worker.

import { parentPort, workerData } from 'node:worker_threads'
import { serve } from '../../src/stores/sqlite-serve.ts'
import type { SessionSettings } from '../../src/stores/sqlite-session.ts'

const lateMs = 60
const match = /^(.+):(\d+):(kill|late|exit)$/.exec(process.env.ORIEL_FAULT ?? '')
let left = Number(match?.[2] ?? 0)

function at(point: string): void {
  if (point !== match?.[1] || --left !== 0) return
  if (match[3] === 'late') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, lateMs)
  if (match[3] !== 'exit') process.kill(process.pid, 'SIGKILL')
  // In a worker this ends the thread, not the process.
  process.exit(1)
}

if (parentPort !== null) serve(parentPort, workerData as SessionSettings, at)
