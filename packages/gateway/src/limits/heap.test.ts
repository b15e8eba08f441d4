import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

/** Collections of the whole heap while buffers come and go as they do with long bodies. */
function collections(flags: readonly string[], code: string): number {
  const heap = join(import.meta.dirname, 'heap.ts')
  const script = `
    import { tuneHeap } from ${JSON.stringify(heap)}
    ${code}
    const kept = Array.from({ length: 100_000 }, (_, n) => ({ n, text: 'x'.repeat(200) + n }))
    const bodies = []
    for (let n = 0; n < 500; n++) {
      bodies[n % 20] = Buffer.alloc(400_000)
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
    if (kept.length + bodies.length === 0) throw new Error('nothing is alive')
  `
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    ['--trace-gc', ...flags, '--input-type=module', '-e', script],
    { encoding: 'utf8' },
  )
  expect(status, stderr).toBe(0)
  return stdout.split('\n').filter((line) => line.includes('Mark-Compact')).length
}

describe('the heap of a gateway', () => {
  it('[GW81] grows further before it is collected, unless whoever starts the process says how far', () => {
    const flags = ['--heap_growing_percent=5']
    const told = collections(flags, 'tuneHeap()')
    // As if nobody had said anything.
    const own = collections(flags, 'tuneHeap([])')
    expect(own).toBeLessThan(told)
  })
})
