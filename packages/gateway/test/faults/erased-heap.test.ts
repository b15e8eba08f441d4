// After a thread is erased, nothing of it is left in the process that served it: read off a snapshot of its heap.

import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { reply } from '../upstream/action.ts'
import { startUpstream } from '../upstream/upstream.ts'
import { addressOf, startChild } from './kill-harness.ts'

const headers = { authorization: 'Bearer a-callers-own-credential' }
/** Long enough for its body to be remembered. */
const long = (name: string): string =>
  Array.from({ length: 2000 }, (_, n) => `${name}-${n}`).join(' ')

interface Message {
  readonly role: string
  readonly content: string
}

async function ask(url: string, messages: readonly Message[]): Promise<string> {
  const body = JSON.stringify({ model: 'm', messages })
  const response = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body })
  await response.text()
  expect(response.status).toBe(200)
  return response.headers.get('x-oriel-thread') ?? ''
}

const answer = { role: 'assistant', content: 'Read.' }

/** Three requests of one conversation, each with the whole history. */
async function talk(url: string, name: string): Promise<{ thread: string; messages: Message[] }> {
  const messages: Message[] = []
  let thread = ''
  for (const turn of ['first', 'second', 'third']) {
    messages.push({ role: 'user', content: `${turn} ${long(name)}` })
    thread = await ask(url, messages)
    messages.push(answer)
  }
  for (const path of ['', `/${thread}`, `/${thread}/view`, `?search=${name}-7`]) {
    await (await fetch(`${url}/api/threads${path}`, { headers })).text()
  }
  return { thread, messages }
}

it('[GW95] erasing leaves nothing of a thread in memory, and its history begins a new one when it is sent again', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'oriel-erased-'))
  const upstream = await startUpstream({ answer: () => reply({ text: 'Read.' }) })
  const flags = ['--heapsnapshot-signal=SIGUSR2', `--diagnostic-dir=${directory}`]
  const child = startChild(join(directory, 'store.db'), upstream.url, {}, flags)
  const ended = once(child, 'exit')
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await ended
    await upstream.close()
    rmSync(directory, { recursive: true })
  })
  const url = (await addressOf(child)) ?? ''
  const heap = async (): Promise<string> => {
    const known = new Set(snapshots(directory))
    child.kill('SIGUSR2')
    for (;;) {
      const file = snapshots(directory).find((name) => !known.has(name))
      if (file !== undefined && isWhole(join(directory, file))) {
        return readFileSync(join(directory, file), 'latin1')
      }
      // The process answers again when it has written it.
      await (await fetch(`${url}/healthz`)).text().catch(() => '')
    }
  }
  const gone = await talk(url, 'secretword')
  const kept = await talk(url, 'otherword')
  const before = await heap()
  expect(before).toContain('secretword-7')
  const erased = await fetch(`${url}/api/threads/${gone.thread}`, { method: 'DELETE', headers })
  expect(erased.status).toBe(204)
  // What a connection or a timer still has of its last request gives way to another one.
  expect(await ask(url, [...kept.messages, { role: 'user', content: 'And?' }])).toBe(kept.thread)
  const after = await heap()
  expect(after).toContain('otherword-7')
  expect(after.indexOf('secretword-7')).toBe(-1)
  const again = await ask(url, [...gone.messages, { role: 'user', content: 'And?' }])
  expect(again).not.toBe(gone.thread)
  expect((await fetch(`${url}/api/threads/${gone.thread}`, { headers })).status).toBe(404)
}, 120_000)

function snapshots(directory: string): readonly string[] {
  return readdirSync(directory).filter((name) => name.endsWith('.heapsnapshot'))
}

/** Snapshots end with their strings. */
function isWhole(path: string): boolean {
  if (!existsSync(path) || statSync(path).size === 0) return false
  return readFileSync(path, 'latin1').trimEnd().endsWith(']}')
}
