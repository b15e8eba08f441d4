// Processes under test, started as users start them, and the mock upstream.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { MockSettings } from './mock.ts'

export interface Contender {
  readonly name: string
  readonly port: number
  /** Absent for direct calls to the mock upstream. */
  readonly pid: number | undefined
  /** Headers of every request, each with a line break. */
  readonly headers: string
  /** Event loop lag since the last call; undefined if the process cannot report it. */
  loopDelay(): Promise<LoopDelay | undefined>
  stop(): Promise<void>
}

export interface LoopDelay {
  readonly p99Ms: number
  readonly maxMs: number
  /** Samples by lag; see `lagBounds`. */
  readonly counts: readonly number[]
}

export interface Mock extends Contender {
  set(settings: MockSettings): Promise<void>
}

export type OrielMode = 'pass' | 'memory' | 'sqlite'

const here = import.meta.dirname
const packages = join(here, '../../..')
const cli = join(packages, 'cli/bin/oriel-cli.js')
const probe = pathToFileURL(join(here, 'probe.ts')).href

export async function startMock(settings: MockSettings): Promise<Mock> {
  const child = launch([join(here, 'mock.ts'), JSON.stringify(settings)])
  const [{ port }] = (await once(child, 'message')) as [{ port: number }]
  return {
    ...handle('direct', child, port),
    pid: undefined,
    loopDelay: async () => undefined,
    async set(next) {
      const answer = once(child, 'message')
      child.send({ settings: next })
      await answer
    },
  }
}

/**
 * `oriel serve` as installed. A small script provides the in-memory store, which the command does
 * not offer.
 */
export async function startOriel(
  mode: OrielMode,
  { upstream, folder, limits }: { upstream: number; folder: string; limits?: object },
): Promise<Contender> {
  if (!existsSync(join(packages, 'cli/dist/index.js'))) {
    throw new Error('Oriel is measured as it is built: run `npm run build:code` in the root first.')
  }
  const port = await freePort()
  const own = join(folder, mode)
  mkdirSync(own, { recursive: true })
  const config = {
    port,
    data: join(own, 'data'),
    management: mode !== 'pass',
    upstreams: [{ name: 'mock', baseUrl: `http://127.0.0.1:${upstream}` }],
    ...(limits === undefined ? {} : { limits }),
  }
  const file = join(own, 'oriel.json')
  writeFileSync(file, JSON.stringify(config))
  const command =
    mode === 'memory' ? [join(here, 'oriel-memory.ts'), file] : [cli, 'serve', '--config', file]
  const child = launch(['--import', probe, ...command])
  await listening(port, child)
  return handle(orielNames[mode], child, port)
}

const orielNames: Readonly<Record<OrielMode, string>> = {
  pass: 'oriel, management off',
  memory: 'oriel, in memory',
  sqlite: 'oriel, durable',
}

/**
 * Versions of @hono/node-server from 1.14 on break its streams; package.json pins the last one
 * before.
 */
export async function startPortkey({ upstream }: { upstream: number }): Promise<Contender> {
  const file = createRequire(import.meta.url).resolve('@portkey-ai/gateway/build/start-server.js')
  const port = await freePort()
  const child = launch(['--import', probe, file, `--port=${port}`, '--headless'])
  await listening(port, child)
  const headers = `x-portkey-provider: openai\r\nx-portkey-custom-host: http://127.0.0.1:${upstream}/v1\r\n`
  return { ...handle('portkey', child, port), headers }
}

/** Directory for CPU profiles; empty for none. */
const profileFolder = process.env.LOAD_PROFILE ?? ''

function launch(command: readonly string[]): ChildProcess {
  const env = { ...process.env, NODE_ENV: 'production' }
  const profile = profileFolder === '' ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileFolder}`]
  const child = spawn(process.execPath, [...profile, ...command], {
    env,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  process.once('exit', () => child.kill('SIGKILL'))
  return child
}

function handle(name: string, child: ChildProcess, port: number): Contender {
  return {
    name,
    port,
    pid: child.pid,
    headers: '',
    async loopDelay() {
      const answer = once(child, 'message')
      child.send({ probe: true })
      const [{ probe: delay }] = (await answer) as [{ probe?: LoopDelay }]
      return delay
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      const timer = setTimeout(() => child.kill('SIGKILL'), 15_000)
      await ended
      clearTimeout(timer)
    },
  }
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

async function listening(port: number, child: ChildProcess): Promise<void> {
  const end = performance.now() + 30_000
  while (performance.now() < end) {
    if (child.exitCode !== null) throw new Error(`A contender ended with code ${child.exitCode}.`)
    const isOpen = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1')
      socket.on('connect', () => {
        socket.destroy()
        resolve(true)
      })
      socket.on('error', () => resolve(false))
    })
    if (isOpen) return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  throw new Error('A contender did not begin to listen within 30 s.')
}
