// Runs the code of README and the guides from the sources, beside a gateway with its demo. `npm run alone` runs the same from the tarballs.

import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createGateway, type GatewayServer, serveGateway } from '@oriel/gateway'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { documentedBlocks } from './alone/blocks.ts'

// Inside the workspace, so that the names of packages are found from there.
const scratch = fileURLToPath(new URL('../node_modules/.cache/oriel-guides/', import.meta.url))
const blocks = documentedBlocks()
const files = [...new Set(blocks.map(({ file }) => file))]
const gateway = createGateway()
let server: GatewayServer

beforeAll(async () => {
  mkdirSync(scratch, { recursive: true })
  server = await serveGateway(gateway, { port: 0 })
  vi.stubEnv('OPENAI_API_KEY', 'demo')
  vi.stubEnv('OPENAI_BASE_URL', `${server.url}/v1`)
})

afterAll(async () => {
  vi.unstubAllEnvs()
  await server.close()
  rmSync(scratch, { recursive: true, force: true })
})

describe('the code of README and the guides', () => {
  it.each(blocks.filter(({ kind }) => kind === 'run'))(
    '$file, line $line',
    async ({ name, code }) => {
      const file = join(scratch, `${name}.ts`)
      const adapted = code
        .replaceAll('http://127.0.0.1:4141', server.url)
        .replaceAll(/'(?:\.\/)?([\w-]+\.db)'/g, (_, path: string) => `'${join(scratch, path)}'`)
      writeFileSync(file, adapted)
      await import(/* @vite-ignore */ file)
    },
  )

  it('is the first that a guide shows, and all that README shows', () => {
    const typescript = blocks.filter(({ language }) => language === 'ts')
    const first = files.map((file) => typescript.find((block) => block.file === file))
    const shown = [...first, ...typescript.filter(({ file }) => file === 'README.md')]
    const unmarked = shown.filter((block) => block !== undefined && block.kind === undefined)
    // Its first block is a part of the whole store, which CI runs the store suite on.
    const known = ['your-own-store.md']
    expect(
      unmarked.map((block) => block?.file).filter((file) => !known.includes(file ?? '')),
    ).toEqual([])
  })
})
