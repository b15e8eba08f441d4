// `oriel serve` as a process: what the system around it does to it.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

let folder: string
let upstream: Server
let gateway: {
  readonly url: string
  readonly child: ChildProcess
  /** What it printed before it listened. */
  readonly lines: readonly string[]
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'oriel-process-'))
  upstream = createServer()
  upstream.listen(0, '127.0.0.1')
  await once(upstream, 'listening')
  gateway = await serve()
})

afterEach(async () => {
  const { child } = gateway
  const ended = once(child, 'close')
  if (child.exitCode === null && child.signalCode === null && child.kill('SIGKILL')) await ended
  upstream.closeAllConnections()
  upstream.close()
  rmSync(folder, { recursive: true, force: true })
})

/** Says which flags of V8 the process sets. */
const flagTeller = `data:text/javascript,${encodeURIComponent(`
  import v8 from 'node:v8'
  import { syncBuiltinESMExports } from 'node:module'
  const set = v8.setFlagsFromString
  v8.setFlagsFromString = (flags) => {
    console.log('V8 flags', flags)
    set(flags)
  }
  syncBuiltinESMExports()
`)}`

/** A process of `oriel serve`; resolves when it listens. */
async function serve(): Promise<typeof gateway> {
  const { port } = upstream.address() as AddressInfo
  const file = join(import.meta.dirname, 'serve-child.ts')
  const sources = join(import.meta.dirname, '../../../scripts/sources.ts')
  const words = ['serve', '--port', '0', '--data', join(folder, 'data'), '--log', 'json']
  const child = spawn(
    process.execPath,
    [
      '--import',
      flagTeller,
      '--import',
      sources,
      file,
      ...words,
      '--upstream',
      `http://127.0.0.1:${port}`,
    ],
    { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, NO_COLOR: '1' } },
  )
  const lines: string[] = []
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /listens on (\S+)/.exec(line)?.[1]
    if (url !== undefined) return { url, child, lines }
    lines.push(line)
  }
  throw new Error('The gateway ended before it listened.')
}

function ask(): Promise<Response> {
  const messages = [{ role: 'user', content: 'Hello' }]
  const body = JSON.stringify({ model: 'm', messages })
  return fetch(`${gateway.url}/v1/chat/completions`, { method: 'POST', body })
}

function answer(response: ServerResponse): void {
  const message = { role: 'assistant', content: 'Hi.' }
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }] }))
}

describe('oriel serve as a process', () => {
  it('[GW81] lets its heap grow', () => {
    expect(gateway.lines).toContain('V8 flags --heap-growing-percent=100')
  })

  it('[GT9] goes on when nobody reads its log any more', async () => {
    upstream.on('request', (_, response) => answer(response))
    gateway.child.stderr?.destroy()
    for (let count = 0; count < 3; count++) {
      const response = await ask()
      expect(response.status).toBe(200)
      await response.text()
    }
    expect(gateway.child.exitCode).toBeNull()
  })

  it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
    '[GW20] lets calls under way finish at %s',
    async (signal) => {
      const ended = once(gateway.child, 'close')
      upstream.on('request', (_, response) => {
        gateway.child.kill(signal)
        setTimeout(answer, 100, response)
      })
      const response = await ask()
      expect(response.status).toBe(200)
      await response.text()
      expect(await ended).toEqual([0, null])
    },
  )
})
