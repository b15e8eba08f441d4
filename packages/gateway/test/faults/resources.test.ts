// A process or a machine that has no more files, memory or ports: calls are told to come again, and are served when there are some.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createGateway } from '@oriel/gateway'
import { describe, expect, it, onTestFinished } from 'vitest'
import { dialects, spokenFormats } from '../dialect.ts'
import { reply } from '../upstream/action.ts'
import { startUpstream } from '../upstream/upstream.ts'
import { addressOf } from './kill-harness.ts'
import { say } from './raw-client.ts'

const codes = ['EMFILE', 'ENFILE', 'ENOMEM', 'ENOBUFS', 'EAGAIN', 'EADDRNOTAVAIL']
const table = spokenFormats.flatMap((format) => codes.map((code) => ({ format, code })))

describe('an upstream that cannot be asked', () => {
  it.each(table)('[GW94] $format, for $code: 503 and a time to come again', async (row) => {
    const { format, code } = row
    const dialect = dialects[format]
    for (const wrap of [(cause: Error) => cause, (cause: Error) => new TypeError('x', { cause })]) {
      const fetch = (): Promise<Response> =>
        Promise.reject(wrap(Object.assign(new Error(`connect ${code}`), { code })))
      const upstreams = [{ name: 'u', baseUrl: 'http://127.0.0.1:9', fetch }]
      const gateway = createGateway({ upstreams, limits: { lateMs: 0 } })
      const response = await gateway.fetch(
        new Request(`http://127.0.0.1${dialect.path}`, {
          method: 'POST',
          body: JSON.stringify(dialect.body([dialect.user('Hello')], [])),
        }),
      )
      expect(response.status).toBe(503)
      expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0)
      expect(response.headers.get('x-oriel-error')).toBe('out-of-resources')
      await gateway.close()
    }
  })
})

describe('a process with few files', () => {
  it('[GW94] answers every call that it takes with 200 or 503, and recovers', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const upstream = await startUpstream({
      answer: async ({ raw }) => {
        if (!raw.includes('First')) await promise
        return reply({ text: 'ok' })
      },
    })
    const directory = mkdtempSync(join(tmpdir(), 'oriel-files-'))
    const here = import.meta.dirname
    const child = spawn('bash', [
      '-c',
      `ulimit -n 90; exec "$0" --import "$1" "$2" "$3" "$4"`,
      process.execPath,
      join(here, '../../../../scripts/sources.ts'),
      join(here, 'gateway-child.ts'),
      join(directory, 'store.db'),
      upstream.url,
    ])
    const ended = once(child, 'exit')
    let errors = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      errors += text
    })
    onTestFinished(async () => {
      child.kill('SIGKILL')
      await ended
      await upstream.close()
      rmSync(directory, { recursive: true })
    })
    const url = (await addressOf(child)) ?? ''
    // The store has its files open from then on.
    expect((await say(url, 'openai-chat', 'First')).status).toBe(200)
    // Every call needs two files: one of the client's connection and one of the upstream's.
    const calls = Array.from({ length: 40 }, (_, index) =>
      say(url, 'openai-chat', `Call ${index}`)
        .then(async (response) => {
          if (response.status !== 200) resolve()
          await response.text()
          return { status: response.status, code: response.headers.get('x-oriel-error') }
        })
        // The system closes a connection for which there is no file at all.
        .catch(() => undefined),
    )
    const outcomes = (await Promise.all(calls)).filter((outcome) => outcome !== undefined)
    const refused = outcomes.filter(({ status }) => status !== 200)
    expect(refused.length).toBeGreaterThan(0)
    for (const { status, code } of refused) {
      expect([status, code]).toEqual([503, expect.stringMatching(/^(?:out-of-resources|storage)/)])
    }
    expect(errors).toContain('EMFILE')
    expect((await say(url, 'openai-chat', 'And now?')).status).toBe(200)
  })
})
