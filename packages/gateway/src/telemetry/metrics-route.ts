// Prometheus endpoint `/metrics`.

import { type IntervalHistogram, monitorEventLoopDelay, performance } from 'node:perf_hooks'
import type { Route } from '../http/router.ts'
import type { Meters } from './meters.ts'
import { Metric, type MetricDefinition, metricsContentType, printMetrics } from './registry.ts'

export interface MetricsOptions {
  readonly meters: Meters
  /** The kind of store. */
  readonly store: string
  readonly openThreads: () => number
  /** Memory reserved for active calls. */
  readonly reservedBytes: () => number
  /** Load per upstream. */
  readonly upstreamLoads: () => readonly { readonly active: number; readonly waiting: number }[]
}

const gauge = (name: string, help: string): MetricDefinition => ({
  name,
  otel: '',
  type: 'gauge',
  help,
  unit: '',
  labels: [],
})

/** Metrics sampled at scrape time, with the conventional Node names. */
export const processMetrics = {
  resident: gauge('process_resident_memory_bytes', 'Resident memory size in bytes.'),
  heapUsed: gauge('nodejs_heap_size_used_bytes', 'Used V8 heap size in bytes.'),
  heapTotal: gauge('nodejs_heap_size_total_bytes', 'Total V8 heap size in bytes.'),
  external: gauge(
    'nodejs_external_memory_bytes',
    'Memory of buffers and other objects outside the V8 heap in bytes.',
  ),
  started: gauge(
    'process_start_time_seconds',
    'Start time of the process in seconds since the Unix epoch.',
  ),
  cpu: {
    ...gauge('process_cpu_seconds_total', 'Total user and system CPU time in seconds.'),
    type: 'counter',
  },
  delay50: gauge(
    'nodejs_eventloop_lag_p50_seconds',
    'Median event loop lag since the last scrape in seconds.',
  ),
  delay99: gauge(
    'nodejs_eventloop_lag_p99_seconds',
    '99th percentile of event loop lag since the last scrape in seconds.',
  ),
  delayMax: gauge(
    'nodejs_eventloop_lag_max_seconds',
    'Maximum event loop lag since the last scrape in seconds.',
  ),
  utilization: gauge(
    'nodejs_eventloop_utilization_ratio',
    'Event loop utilization since the last scrape, from 0 to 1.',
  ),
  threads: gauge('oriel_threads_open', 'Open threads, in use or cached.'),
  reserved: gauge(
    'oriel_memory_reserved_bytes',
    'Memory reserved for the bodies and answers of active calls in bytes.',
  ),
  upstreamActive: gauge('oriel_upstream_requests_active', 'Active upstream requests.'),
  upstreamWaiting: gauge(
    'oriel_upstream_requests_waiting',
    'Requests queued for an upstream slot.',
  ),
  store: {
    ...gauge('oriel_store_info', 'The kind of store as a label. Always 1.'),
    labels: [{ name: 'store', attribute: '', values: 1 }],
  },
} as const satisfies Record<string, MetricDefinition>

export function metricsRoute(options: MetricsOptions): Route {
  const { meters, store } = options
  const own = Object.fromEntries(
    Object.entries(processMetrics).map(([name, one]) => [name, new Metric(one)]),
  ) as Record<keyof typeof processMetrics, Metric>
  own.store.set(1, [store])
  const loop = new EventLoop()
  return {
    method: 'GET',
    path: '/metrics',
    access: 'key',
    summary: 'Metrics in Prometheus text format. Model names are shown to admin keys only.',
    answer: metricsContentType,
    handle({ caller }) {
      readProcess(own)
      loop.read(own)
      readGateway(own, options)
      const text = printMetrics(
        [...meters.all, ...Object.values(own)],
        caller.isAdmin ? undefined : tenantLabels,
      )
      return new Response(text, {
        headers: { 'content-type': metricsContentType, 'cache-control': 'no-store' },
      })
    },
  }
}

/** Labels with values from tenants. Only admin keys see them. */
const tenantLabels: ReadonlySet<string> = new Set(['model'])

function readGateway(own: Own, options: MetricsOptions): void {
  const loads = options.upstreamLoads()
  own.threads.set(options.openThreads())
  own.reserved.set(options.reservedBytes())
  own.upstreamActive.set(loads.reduce((sum, { active }) => sum + active, 0))
  own.upstreamWaiting.set(loads.reduce((sum, { waiting }) => sum + waiting, 0))
}

type Own = Readonly<Record<keyof typeof processMetrics, Metric>>

function readProcess(own: Own): void {
  const { rss, heapUsed, heapTotal, external } = process.memoryUsage()
  const { user, system } = process.cpuUsage()
  own.resident.set(rss)
  own.heapUsed.set(heapUsed)
  own.heapTotal.set(heapTotal)
  own.external.set(external)
  own.cpu.set((user + system) / 1e6)
  own.started.set(Math.round(performance.timeOrigin) / 1000)
}

const tickMs = 20

/** Event loop statistics, started by the first scrape. */
class EventLoop {
  #delay: IntervalHistogram | undefined
  #before = performance.eventLoopUtilization()

  read(own: Own): void {
    const now = performance.eventLoopUtilization()
    own.utilization.set(performance.eventLoopUtilization(now, this.#before).utilization)
    this.#before = now
    if (this.#delay === undefined) {
      this.#delay = monitorEventLoopDelay({ resolution: tickMs })
      this.#delay.enable()
      return
    }
    const { count } = this.#delay
    // The histogram measures the time between two ticks.
    const late = (nanoseconds: number): number =>
      count === 0 ? 0 : Math.max(0, nanoseconds / 1e6 - tickMs) / 1000
    own.delay50.set(late(this.#delay.percentile(50)))
    own.delay99.set(late(this.#delay.percentile(99)))
    own.delayMax.set(late(this.#delay.max))
    this.#delay.reset()
  }
}
