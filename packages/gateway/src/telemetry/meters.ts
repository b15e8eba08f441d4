// Meters: record every measurement in the gateway's registry for `/metrics`, and in OpenTelemetry
// if the host has registered it.

import {
  type Attributes,
  type Counter,
  createNoopMeter,
  type Histogram,
  type Meter,
  metrics,
  type UpDownCounter,
} from '@opentelemetry/api'
import type { TelemetrySink } from '../options.ts'
import { version } from '../version.ts'
import { definitions, type MetricName } from './definitions.ts'
import { ModelNames } from './model-names.ts'
import { Metric, type MetricDefinition } from './registry.ts'

export const scope = '@oriel/gateway'

type Instrument = Counter | Histogram | UpDownCounter

export class Meters {
  readonly models = new ModelNames()
  readonly #metrics: Readonly<Record<MetricName, Metric>>
  /** The host's meter, once registered. */
  #meter: Meter = createNoopMeter()
  #isIdle = true
  #instruments = new Map<MetricName, Instrument>()

  readonly #report: TelemetrySink['metric'] | undefined

  /** In a worker thread, `report` passes every measurement on. */
  constructor(report?: TelemetrySink['metric']) {
    this.#report = report
    const entries = Object.entries(definitions).map(([name, one]) => [name, new Metric(one)])
    this.#metrics = Object.fromEntries(entries) as Record<MetricName, Metric>
  }

  get all(): readonly Metric[] {
    return Object.values(this.#metrics)
  }

  /** Checks again for a registered OpenTelemetry provider, which may appear at any time. */
  refresh(): void {
    const meter = metrics.getMeter(scope, version)
    if (meter === this.#meter) return
    this.#meter = meter
    this.#isIdle = meter === createNoopMeter()
    this.#instruments = new Map()
  }

  record(name: MetricName, value: number, values: readonly string[] = []): void {
    const metric = this.#metrics[name]
    metric.record(value, values)
    this.#report?.(name, value, values)
    if (this.#isIdle) return
    const instrument = this.#instrumentOf(name)
    const attributes = attributesOf(metric.definition, metric.bounded(values))
    if ('record' in instrument) instrument.record(value, attributes)
    else instrument.add(value, attributes)
  }

  #instrumentOf(name: MetricName): Instrument {
    const known = this.#instruments.get(name)
    if (known !== undefined) return known
    const made = create(this.#meter, definitions[name])
    this.#instruments.set(name, made)
    return made
  }
}

function create(meter: Meter, definition: MetricDefinition): Instrument {
  const { otel, type, help: description, unit, buckets = [] } = definition
  if (type === 'counter') return meter.createCounter(otel, { description, unit })
  if (type === 'gauge') return meter.createUpDownCounter(otel, { description, unit })
  const advice = { explicitBucketBoundaries: [...buckets] }
  return meter.createHistogram(otel, { description, unit, advice })
}

function attributesOf({ labels }: MetricDefinition, values: readonly string[]): Attributes {
  const attributes: Attributes = {}
  for (const [index, { attribute }] of labels.entries()) {
    const value = values[index]
    if (value !== undefined && value !== '') attributes[attribute] = value
  }
  return attributes
}
