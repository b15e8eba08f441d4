// Large conversations in a small heap: the process rejects what it has no room for, forgets what it can read again, and lives.

import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { reply } from '../upstream/action.ts'
import { startUpstream } from '../upstream/upstream.ts'
import { addressOf, startChild } from './kill-harness.ts'
import { say } from './raw-client.ts'

// A call takes several times its body, and what was said before is read again to be indexed meanwhile.
const heapMb = 192
const bodyBytes = 12 * 1024 * 1024
/** Together more than the heap. */
const calls = 20

it('[GW80] survives more large conversations than its heap could hold, one after the other and at once', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'oriel-memory-'))
  const upstream = await startUpstream({ answer: () => reply({ text: 'Read.' }) })
  const place = join(directory, 'store.db')
  const child = startChild(place, upstream.url, {}, [`--max-old-space-size=${heapMb}`])
  const ended = once(child, 'exit')
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await ended
    await upstream.close()
    rmSync(directory, { recursive: true })
  })
  const url = (await addressOf(child)) ?? ''
  const ask = async (name: string): Promise<number> => {
    const response = await say(url, 'openai-chat', `${name} ${'word '.repeat(bodyBytes / 5)}`)
    await response.text()
    return response.status
  }
  for (let turn = 0; turn < calls; turn++) expect(await ask(`One ${turn}`)).toBe(200)
  const statuses = await Promise.all(Array.from({ length: calls }, (_, turn) => ask(`All ${turn}`)))
  expect(statuses).toContain(200)
  expect(statuses).toContain(503)
  expect(await ask('Again')).toBe(200)
  expect(child.exitCode).toBe(null)
}, 120_000)
