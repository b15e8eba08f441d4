// `/metrics`: what Prometheus reads.

import { type IntervalHistogram, monitorEventLoopDelay, performance } from 'node:perf_hooks'
import type { Route } from '../http/router.ts'
import type { Meters } from './meters.ts'
import { Metric, type MetricDefinition, metricsContentType, printMetrics } from './registry.ts'

export interface MetricsOptions {
  readonly meters: Meters
  /** What kind of store the gateway has. */
  readonly store: string
  readonly openThreads: () => number
  /** Memory that is reserved for calls under way. */
  readonly reservedBytes: () => number
  /** The load of each upstream. */
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

/** What is read at the moment of asking; under the names that dashboards of Node know. */
export const processMetrics = {
  resident: gauge('process_resident_memory_bytes', 'Memory that the process holds.'),
  heapUsed: gauge('nodejs_heap_size_used_bytes', 'Memory of objects.'),
  heapTotal: gauge('nodejs_heap_size_total_bytes', 'Memory reserved for objects.'),
  external: gauge('nodejs_external_memory_bytes', 'Memory of buffers and native parts.'),
  started: gauge('process_start_time_seconds', 'When the process started, in seconds since 1970.'),
  cpu: {
    ...gauge('process_cpu_seconds_total', 'Time on the processor, of people and of the system.'),
    type: 'counter',
  },
  delay50: gauge(
    'nodejs_eventloop_lag_p50_seconds',
    'Delay of the event loop since the last reading: median.',
  ),
  delay99: gauge(
    'nodejs_eventloop_lag_p99_seconds',
    'Delay of the event loop since the last reading: 99 of 100 are below.',
  ),
  delayMax: gauge(
    'nodejs_eventloop_lag_max_seconds',
    'Delay of the event loop since the last reading: the longest.',
  ),
  utilization: gauge(
    'nodejs_eventloop_utilization_ratio',
    'Share of the time since the last reading that the event loop was busy.',
  ),
  threads: gauge('oriel_threads_open', 'Threads that are kept open.'),
  reserved: gauge(
    'oriel_memory_reserved_bytes',
    'Bytes that are reserved for the bodies and answers of calls under way.',
  ),
  upstreamActive: gauge('oriel_upstream_requests_active', 'Requests that upstreams work on.'),
  upstreamWaiting: gauge(
    'oriel_upstream_requests_waiting',
    'Requests that wait because an upstream has as many as it may get.',
  ),
  store: {
    ...gauge('oriel_store_info', 'The kind of store; always 1.'),
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
    summary:
      'Metrics in the text format of Prometheus; names of models only for a key that sees every tenant.',
    answer: metricsContentType,
    handle({ caller }) {
      readProcess(own)
      loop.read(own)
      readGateway(own, options)
      const text = printMetrics(
        [...meters.all, ...Object.values(own)],
        caller.isAdmin ? undefined : ofTenants,
      )
      return new Response(text, {
        headers: { 'content-type': metricsContentType, 'cache-control': 'no-store' },
      })
    },
  }
}

/** Labels whose values come from what tenants ask for: only a key that sees every tenant sees them. */
const ofTenants: ReadonlySet<string> = new Set(['model'])

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

/** Watches the event loop from the first reading on: where nobody reads, nothing is watched. */
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
    // What is measured is the time between two ticks.
    const late = (nanoseconds: number): number =>
      count === 0 ? 0 : Math.max(0, nanoseconds / 1e6 - tickMs) / 1000
    own.delay50.set(late(this.#delay.percentile(50)))
    own.delay99.set(late(this.#delay.percentile(99)))
    own.delayMax.set(late(this.#delay.max))
    this.#delay.reset()
  }
}
