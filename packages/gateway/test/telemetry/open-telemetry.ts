// OpenTelemetry's own SDK, with everything that it is told kept in memory.

import { context, metrics, propagation, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  type MetricData,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import {
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace'

export interface Recorder {
  spans(): readonly ReadableSpan[]
  metrics(): Promise<readonly MetricData[]>
  reset(): void
  close(): Promise<void>
}

export function registerOpenTelemetry(): Recorder {
  const spanExporter = new InMemorySpanExporter()
  const tracers = new TracerProvider({
    spanProcessors: [new SimpleSpanProcessor({ exporter: spanExporter })],
  })
  trace.setGlobalTracerProvider(tracers)
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  propagation.setGlobalPropagator(new W3CTraceContextPropagator())
  const metricExporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({
    exporter: metricExporter,
    exportIntervalMillis: 3_600_000,
  })
  const meters = new MeterProvider({ readers: [reader] })
  metrics.setGlobalMeterProvider(meters)
  return {
    spans: () => spanExporter.getFinishedSpans(),
    async metrics() {
      metricExporter.reset()
      await reader.forceFlush()
      return metricExporter
        .getMetrics()
        .flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics))
    },
    reset: () => spanExporter.reset(),
    async close() {
      await tracers.shutdown()
      await meters.shutdown()
      trace.disable()
      metrics.disable()
      context.disable()
      propagation.disable()
    },
  }
}
