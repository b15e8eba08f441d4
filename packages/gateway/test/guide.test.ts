// The examples of docs/guides/gateway.md, run as they stand there.

import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  createGateway,
  type GatewayServer,
  optionsOf,
  readConfig,
  serveGateway,
} from '../src/index.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '../../..')
const guide = readFileSync(join(root, 'docs/guides/gateway.md'), 'utf8')
const address = 'http://127.0.0.1:4141'

let server: GatewayServer
let folder: string

beforeAll(async () => {
  server = await serveGateway(createGateway(), { port: 0 })
  // Packages are found from there. The examples have no types in them.
  mkdirSync(join(root, 'node_modules/.cache'), { recursive: true })
  folder = mkdtempSync(join(root, 'node_modules/.cache/guide-'))
})

afterAll(async () => {
  await server.close()
  rmSync(folder, { recursive: true, force: true })
})

const blocksOf = (language: string): readonly string[] =>
  [...guide.matchAll(new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 'gs'))].map(([, text]) =>
    String(text),
  )

async function threadCount(): Promise<number> {
  const response = await fetch(`${server.url}/api/threads`)
  const { threads } = (await response.json()) as { threads: unknown[] }
  return threads.length
}

describe('the guide', () => {
  it.each(blocksOf('ts').map((text, index) => [index, text] as const))(
    '[GW24] runs its TypeScript %#',
    async (index, text) => {
      const before = await threadCount()
      const file = join(folder, `example-${index}.mjs`)
      writeFileSync(file, text.replaceAll(address, server.url))
      await run(process.execPath, [file], { cwd: root })
      expect(await threadCount()).toBeGreaterThan(before)
    },
  )

  it('[GW24] runs its first command', async () => {
    const [command] = /curl http:\/\/127\.0\.0\.1:4141\/v1\/chat.*?\n\n/s.exec(guide) ?? []
    expect(command).toBeDefined()
    const text = String(command).replaceAll(address, server.url)
    const { stdout } = await run('sh', ['-c', text])
    for (const header of [
      'x-oriel-thread',
      'x-oriel-epoch',
      'x-oriel-tokens-before',
      'x-oriel-tokens-after',
    ]) {
      expect(stdout).toContain(`${header}: `)
    }
  })

  it('[GW24] shows a configuration that is one', () => {
    const [text] = blocksOf('json')
    const hash = 'a'.repeat(64)
    const value: unknown = JSON.parse(String(text).replace('<sha256>', hash))
    const env = {
      TEAM_A_KEY: 'a-key-that-is-long-enough',
      ANTHROPIC_API_KEY: 'a',
      OPENAI_API_KEY: 'b',
    }
    const gateway = createGateway(optionsOf(readConfig(value, env)))
    expect(gateway.hasKeys).toBe(true)
  })
})
