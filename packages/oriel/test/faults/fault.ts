// One fault, for whoever passes named points. ORIEL_FAULT is `<point>:<n>:<kill|late|exit>`: what happens when the point is passed for the n-th time
// on this thread; `late` waits a moment before it kills, so that whoever does not wait for the store continues meanwhile.

const lateMs = 60
const match = /^(.+):(\d+):(kill|late|exit)$/.exec(process.env.ORIEL_FAULT ?? '')
let left = Number(match?.[2] ?? 0)

export function at(point: string): void {
  if (point !== match?.[1] || --left !== 0) return
  if (match[3] === 'late') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, lateMs)
  if (match[3] !== 'exit') process.kill(process.pid, 'SIGKILL')
  // In a worker this ends the thread, not the process.
  process.exit(1)
}

/** Who writes: both threads as usual, or the worker alone. */
export const writes = process.env.ORIEL_WRITES === 'worker' ? 'worker' : 'auto'
