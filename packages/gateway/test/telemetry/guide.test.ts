// docs/guides/observability.md names everything that there is, and nothing else.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { definitions } from '../../src/telemetry/definitions.ts'
import { logEvents } from '../../src/telemetry/log.ts'
import { processMetrics } from '../../src/telemetry/metrics-route.ts'

const root = join(import.meta.dirname, '../../../..')
const guide = readFileSync(join(root, 'docs/guides/observability.md'), 'utf8')
const source = (name: string): string =>
  readFileSync(join(root, 'packages/gateway/src/telemetry', name), 'utf8')

/** Names in the first column of the tables. */
const named = new Set(
  guide
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .flatMap((line) =>
      [...(line.split(' | ')[0] ?? '').matchAll(/`([^`]+)`/g)].map(([, name]) => name),
    ),
)

describe('the guide to observability', () => {
  it('[GT12] names every metric', () => {
    const metrics = [...Object.values(definitions), ...Object.values(processMetrics)]
    expect(metrics.filter(({ name }) => !named.has(name))).toEqual([])
    const known = new Set(metrics.map(({ name }) => name))
    const wrong = [...named].filter(
      (name) => /^(?:oriel|gen_ai|process|nodejs)_/.test(name ?? '') && !known.has(name ?? ''),
    )
    expect(wrong).toEqual([])
  })

  it('[GT12] names every label, and every attribute of a metric', () => {
    for (const { name, labels } of Object.values(definitions)) {
      const line = guide
        .split('\n')
        .find((one) => one.startsWith('| `') && one.includes(`\`${name}\``))
      for (const label of labels)
        expect([name, line?.includes(`\`${label.name}\``)]).toEqual([name, true])
      for (const { attribute } of labels) expect(guide).toContain(`\`${attribute}\``)
    }
  })

  it('[GT12] names every attribute of a span', () => {
    const code = source('observed-call.ts') + source('call-span.ts')
    const set = new Set(
      [...code.matchAll(/'((?:gen_ai|oriel|error|http)\.[\w.]+)'/g)].map(([, name]) => name),
    )
    expect(set.size).toBeGreaterThan(25)
    expect([...set].filter((name) => !named.has(name))).toEqual([])
    const wrong = [...named].filter(
      (name) => /^(?:gen_ai|oriel|error|http)\./.test(name ?? '') && !set.has(name),
    )
    expect(wrong).toEqual([])
  })

  it('[GT12] names every field and every event of a line', () => {
    const [, fields = ''] = /interface LogFields \{(.*?)\n\}/s.exec(source('log.ts')) ?? []
    const names = [...fields.matchAll(/readonly (\w+)\?/g)].map(([, name]) => name)
    expect(names.length).toBeGreaterThan(8)
    for (const name of [...names, 'time', 'level', 'event', ...Object.keys(logEvents)]) {
      expect([name, named.has(name)]).toEqual([name, true])
    }
  })
})
