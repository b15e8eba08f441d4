// What docs/guides/production.md says about limits, routes, settings and commands is so.

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { getHeapStatistics } from 'node:v8'
import { describe, expect, it } from 'vitest'
import { createGateway, optionsOf, readConfig } from '../src/index.ts'
import { defaultLimits } from '../src/options.ts'

const root = join(import.meta.dirname, '../../..')
const guide = readFileSync(join(root, 'docs/guides/production.md'), 'utf8')
const env = {
  APP_KEY: 'a-key-that-is-long-enough',
  OPS_KEY: 'another-key-that-is-long-enough',
  OPENAI_API_KEY: 'upstream',
}

describe('the guide to production', () => {
  it('[GW74] names limits that exist, with their defaults', () => {
    const eighth = Math.floor(getHeapStatistics().heap_size_limit / 8)
    const shares: Record<string, number> = { 'an eighth': eighth, 'a quarter': 2 * eighth }
    const rows = [
      ...guide.matchAll(
        /^\| `(\w+)` \| (\d+)?(?:, at most )?(?:(an eighth|a quarter) of the heap)? \|/gm,
      ),
    ]
    const named = rows.map(([, name, value = Infinity, share = '']) => {
      return [name, Math.min(Number(value), shares[share] ?? Infinity)]
    })
    expect(Object.fromEntries(named)).toEqual(defaultLimits)
  })

  it('[GW74] shows a configuration that starts, with limits that hold', () => {
    const [, text = ''] = /```json\n(.*?)```/s.exec(guide) ?? []
    const options = optionsOf(readConfig(JSON.parse(text), env))
    const gateway = createGateway(options)
    expect(gateway.hasKeys).toBe(true)
    expect(gateway.limits).toMatchObject({ concurrentCalls: 200, totalCalls: 600 })
    expect(() => readConfig({ limits: { unheardOf: 1 } }, env)).toThrow(/limits/)
  })

  it('[GW74] names routes that are served, and that are not counted as calls', () => {
    const { routes } = createGateway()
    for (const path of ['/healthz', '/metrics']) {
      expect(guide).toContain(path)
      expect(routes.find((route) => route.path === path)).toMatchObject({ method: 'GET' })
    }
  })

  it('[GW74] names commands and files that are there', () => {
    const bench = JSON.parse(readFileSync(join(root, 'packages/bench/package.json'), 'utf8')) as {
      scripts: Record<string, string>
    }
    expect(bench.scripts.load).toBe('node src/load/load.ts')
    const harness = ['load.ts', 'workloads.ts'].map((name) =>
      readFileSync(join(root, 'packages/bench/src/load', name), 'utf8'),
    )
    for (const name of ['small', 'large', 'rates', 'overload', 'soak']) {
      expect(guide).toContain(name)
      expect(
        harness.some((text) => text.includes(`'${name}'`) || text.includes(`  ${name}: {`)),
      ).toBe(true)
    }
    for (const [, option] of guide.matchAll(/npm run load -- .*?--(\w+)/g))
      expect(harness[0]).toContain(`${option}: {`)
    for (const [path] of guide.matchAll(/packages\/[\w/-]+(?:\.ts|\/)/g))
      expect({ path, isThere: existsSync(join(root, path)) }).toEqual({ path, isThere: true })
  })
})
