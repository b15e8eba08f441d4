import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readExposition, type Sample } from '../../test/telemetry/exposition.ts'
import { definitions } from './definitions.ts'
import { Metric, type MetricDefinition, printMetrics } from './registry.ts'

const plain = { otel: 'x', help: 'Something that is counted.', unit: '1' } as const

function samplesOf(metric: Metric): readonly Sample[] {
  return readExposition(printMetrics([metric]))[0]?.samples ?? []
}

describe('the registry', () => {
  it('[GT6] prints any value of a label so that it can be read back', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.string({ unit: 'binary', maxLength: 20 }), { maxLength: 8 }),
        (values) => {
          const label = { name: 'model', attribute: 'm', values: 50 }
          const metric = new Metric({ ...plain, name: 'a_total', type: 'counter', labels: [label] })
          // Characters that a line cannot hold are not the registry's: names are checked before they come here.
          const clean = values.map((one) => one.replace(/[\r\u2028\u2029]/g, ''))
          for (const value of clean) metric.record(2, [value])
          const read = samplesOf(metric).map(({ labels }) => labels.model)
          expect(new Set(read)).toEqual(new Set(clean))
        },
      ),
    )
  })

  it('[GT6] never has more series than its labels allow, whatever comes', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.string(), fc.string(), fc.double())), (records) => {
        const definition: MetricDefinition = {
          ...plain,
          name: 'b_total',
          type: 'counter',
          labels: [
            { name: 'status', attribute: 's', values: ['2xx', '4xx'] },
            { name: 'model', attribute: 'm', values: 3 },
          ],
        }
        const metric = new Metric(definition)
        for (const [status, model, value] of records)
          metric.record(Math.abs(value), [status, model])
        const samples = samplesOf(metric)
        expect(samples.length).toBeLessThanOrEqual(3 * 4)
        for (const { labels } of samples) expect(['2xx', '4xx', 'other']).toContain(labels.status)
      }),
    )
  })

  it('[GT6] counts every measurement of a histogram once, in the right bucket', () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: 0, max: 100, noNaN: true })), (values) => {
        const metric = new Metric({
          ...plain,
          name: 'c_seconds',
          type: 'histogram',
          labels: [],
          buckets: [0.1, 1, 10],
        })
        for (const value of values) metric.record(value)
        const samples = samplesOf(metric)
        for (const { name, labels, value } of samples) {
          if (name !== 'c_seconds_bucket') continue
          const bound = labels.le === '+Inf' ? Infinity : Number(labels.le)
          expect(value).toBe(values.filter((one) => one <= bound).length)
        }
        const sum = samples.find(({ name }) => name === 'c_seconds_sum')?.value ?? 0
        expect(sum).toBeCloseTo(
          values.reduce((total, one) => total + one, 0),
          6,
        )
      }),
    )
  })

  it('[GT6] leaves out what is no number, and begins closed sets at zero', () => {
    const metric = new Metric(definitions.cacheBreaks)
    metric.record(Number.NaN, ['edit'])
    metric.record(Infinity, ['ttl'])
    expect(samplesOf(metric).map(({ labels, value }) => [labels.cause, value])).toEqual(
      ['edit', 'ttl', 'tools', 'system', 'parameters', 'model', 'routing', 'unknown'].map(
        (cause) => [cause, 0],
      ),
    )
  })

  it('[GT6] has names that both Prometheus and OpenTelemetry take, each once', () => {
    const all = Object.values(definitions)
    for (const one of all) {
      expect(one.name).toMatch(/^(?:oriel|gen_ai)_[a-z_]+$/)
      expect(one.otel).toMatch(/^(?:oriel|gen_ai)\.[a-z_.]+$/)
      expect(one.name.endsWith('_total')).toBe(one.type === 'counter')
    }
    expect(new Set(all.map(({ name }) => name)).size).toBe(all.length)
    expect(new Set(all.map(({ otel }) => otel)).size).toBe(all.length)
  })
})
