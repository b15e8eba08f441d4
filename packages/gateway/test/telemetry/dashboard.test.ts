// The dashboard that comes with the gateway: what Grafana imports, over names that the gateway prints.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createGateway } from '../../src/index.ts'
import { readExposition } from './exposition.ts'

const folder = join(import.meta.dirname, '../..')

const datasource = z.strictObject({
  type: z.literal('prometheus'),
  uid: z.string().regex(/^\$\{datasource\}$/),
})

const panel = z.object({
  id: z.number().int().positive(),
  type: z.enum(['stat', 'timeseries']),
  title: z.string().min(3),
  datasource,
  gridPos: z.strictObject({
    x: z.number().int().min(0).max(23),
    y: z.number().int().min(0),
    w: z.number().int().min(1).max(24),
    h: z.number().int().min(1),
  }),
  fieldConfig: z.object({
    defaults: z.object({ unit: z.string() }),
    overrides: z.array(z.never()),
  }),
  targets: z
    .array(
      z.object({
        refId: z.string().regex(/^[A-Z]$/),
        datasource,
        expr: z.string().min(5),
        legendFormat: z.string(),
      }),
    )
    .min(1),
})

const schema = z.object({
  uid: z.string().regex(/^[\w-]{1,40}$/),
  title: z.string(),
  schemaVersion: z.number().int().min(36),
  version: z.number().int(),
  time: z.object({ from: z.string(), to: z.string() }),
  templating: z.object({
    list: z.array(z.object({ name: z.string(), type: z.enum(['datasource', 'query']) })),
  }),
  panels: z.array(panel),
})

const dashboard = schema.parse(
  JSON.parse(readFileSync(join(folder, 'dashboards/oriel.json'), 'utf8')),
)

describe('the dashboard', () => {
  it('[GT10] has what Grafana imports: a data source to choose, and panels that do not overlap', () => {
    expect(dashboard.templating.list).toContainEqual(
      expect.objectContaining({ name: 'datasource', type: 'datasource' }),
    )
    expect('id' in dashboard).toBe(false)
    const { panels } = dashboard
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
    expect(new Set(panels.map(({ type, title }) => `${type} ${title}`)).size).toBe(panels.length)
    for (const { gridPos: a, id } of panels) {
      expect(a.x + a.w).toBeLessThanOrEqual(24)
      for (const { gridPos: b, id: otherId } of panels) {
        if (id === otherId) continue
        const isApart = a.x + a.w <= b.x || b.x + b.w <= a.x || a.y + a.h <= b.y || b.y + b.h <= a.y
        expect([id, otherId, isApart]).toEqual([id, otherId, true])
      }
    }
    for (const { targets } of panels) {
      expect(new Set(targets.map(({ refId }) => refId)).size).toBe(targets.length)
    }
  })

  it('[GT10] asks only for metrics and labels that the gateway prints, and leaves none of its own out', async () => {
    const gateway = createGateway()
    const response = await gateway.fetch(new Request('http://localhost/metrics'))
    const families = readExposition(await response.text())
    const printed = new Map<string, ReadonlySet<string>>()
    for (const { name, type, samples } of families) {
      const labels = new Set(samples.flatMap((sample) => Object.keys(sample.labels)))
      const names =
        type === 'histogram' ? ['_bucket', '_sum', '_count'].map((end) => name + end) : [name]
      for (const one of names) printed.set(one, labels)
    }
    const asked = new Set<string>()
    for (const { targets } of dashboard.panels) {
      for (const { expr } of targets) {
        const names = expr.match(/\b(?:oriel|gen_ai|process|nodejs)_[a-z0-9_]+/g) ?? []
        expect([expr, names.length > 0]).toEqual([expr, true])
        for (const name of names) {
          expect([name, printed.has(name)]).toEqual([name, true])
          asked.add(name.replace(/_(?:bucket|sum|count)$/, ''))
        }
        expect(expr.split('(').length).toBe(expr.split(')').length)
      }
    }
    const own = families.map(({ name }) => name).filter((name) => /^(?:oriel|gen_ai)_/.test(name))
    expect(own.filter((name) => !asked.has(name))).toEqual(['oriel_store_info'])
    await gateway.close()
  })

  it('[GT10] splits only by labels that the metrics have', async () => {
    const { definitions } = await import('../../src/telemetry/definitions.ts')
    for (const { targets } of dashboard.panels) {
      for (const { expr, legendFormat } of targets) {
        const used = [
          ...[...expr.matchAll(/by \(([^)]*)\)/g)].flatMap(([, list]) => String(list).split(/, */)),
          ...[...expr.matchAll(/(\w+)=~?"/g)].map(([, label]) => String(label)),
          ...[...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => String(label)),
        ]
        const known = Object.values(definitions)
          .filter(({ name }) => expr.includes(name))
          .flatMap(({ labels }) => labels.map((label) => label.name))
        for (const label of used) expect([...known, 'le', 'instance']).toContain(label)
      }
    }
  })

  it('[GT10] is published with the package', () => {
    const { files } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
      files: string[]
    }
    expect(files).toContain('dashboards')
  })
})
