import { describe, expect, it } from 'vitest'
import { createProgress } from './progress.ts'
import type { Terminal } from './terminal.ts'

/** A terminal whose clock is set by hand. */
function fakeTerminal(isTTY: boolean): {
  terminal: Terminal
  clock: { ms: number }
  text(): string
} {
  let written = ''
  const clock = { ms: 0 }
  const stream = {
    isTTY,
    columns: 80,
    write(text: string): boolean {
      written += text
      return true
    },
    // The bar moves its cursor through Node's own calls, which write to the stream.
    on: () => stream,
    once: () => stream,
    removeListener: () => stream,
  }
  const none = (async function* (): AsyncGenerator<Uint8Array> {})()
  const terminal: Terminal = {
    stdin: none,
    stdout: stream,
    stderr: stream,
    env: {},
    now: () => clock.ms,
  }
  return { terminal, clock, text: () => written }
}

describe('createProgress', () => {
  it('shows nothing within the first second', () => {
    const { terminal, clock, text } = fakeTerminal(true)
    const progress = createProgress(terminal, 1000)
    progress.read(500)
    clock.ms = 999
    progress.work(1)
    progress.stop()
    expect(text()).toBe('')
  })

  it('shows the share of the work that is done, afterwards', () => {
    const { terminal, clock, text } = fakeTerminal(true)
    const progress = createProgress(terminal, 1000)
    clock.ms = 1000
    progress.read(1000)
    expect(text()).toContain(' 0%')
    progress.work(0.25)
    progress.work(0.25)
    progress.stop()
    expect(text()).toContain(' 50%')
  })

  it('shows nothing where nobody watches, or where the size is unknown', () => {
    const file = fakeTerminal(false)
    const pipe = fakeTerminal(true)
    for (const [{ terminal, clock }, bytes] of [
      [file, 1000],
      [pipe, 0],
    ] as const) {
      const progress = createProgress(terminal, bytes)
      clock.ms = 5000
      progress.read(500)
      progress.work(1)
      progress.stop()
    }
    expect([file.text(), pipe.text()]).toEqual(['', ''])
  })
})
