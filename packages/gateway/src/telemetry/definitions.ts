// Metric definitions: Prometheus and OpenTelemetry names, help texts, labels.

import { breakCauses, errorCodes, wireFormats } from 'oriel'
import { providers } from 'oriel/providers'
import { backgroundTasks } from '../background.ts'
import { readingProblems } from '../call/answer-reader.ts'
import { maxModels } from './model-names.ts'
import type { Label, MetricDefinition } from './registry.ts'

/** Route label: the format of a model call, or another kind of request. */
export const routeNames = [
  ...wireFormats,
  'preview',
  'pass',
  'mcp',
  'api',
  'metrics',
  'health',
  'page',
  'other',
] as const
export type RouteName = (typeof routeNames)[number]

/** Abnormal endings of a model call. */
const endings = ['client-left', 'upstream-broke', 'cut-short', 'unlogged'] as const

/** Codes of calls rejected by load shedding. */
export const shedCodes = ['busy', 'overloaded', 'upstream-busy'] as const

const route: Label = { name: 'route', attribute: 'oriel.route', values: routeNames }
const status: Label = {
  name: 'status',
  attribute: 'oriel.status',
  values: ['2xx', '3xx', '4xx', '5xx', 'other'],
}
const model: Label = { name: 'model', attribute: 'gen_ai.request.model', values: maxModels }
const provider: Label = {
  name: 'provider',
  attribute: 'gen_ai.provider.name',
  values: [...new Set(Object.values(providers).map(({ vendor }) => vendor))],
}
const operation: Label = {
  name: 'operation',
  attribute: 'gen_ai.operation.name',
  values: ['chat'],
}
const cause = (values: readonly string[]): Label => ({
  name: 'cause',
  attribute: 'oriel.cause',
  values,
})

/** Buckets recommended by the GenAI conventions. */
const seconds = [
  0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
]
const tokens = [1, 4, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304]
/** Buckets for short durations. */
const shortSeconds = [
  0.0005, 0.001, 0.002, 0.004, 0.008, 0.015, 0.03, 0.06, 0.12, 0.25, 0.5, 1, 2, 5,
]

const counter = (
  otel: string,
  name: string,
  rest: Omit<MetricDefinition, 'otel' | 'name' | 'type'>,
): MetricDefinition => ({ otel, name, type: 'counter', ...rest })

const histogram = (
  otel: string,
  name: string,
  rest: Omit<MetricDefinition, 'otel' | 'name' | 'type'>,
): MetricDefinition => ({ otel, name, type: 'histogram', ...rest })

export const definitions = {
  requests: counter('oriel.requests', 'oriel_requests_total', {
    help: 'Total client requests by route and status class.',
    unit: '{request}',
    labels: [route, status],
  }),
  shed: counter('oriel.calls.shed', 'oriel_calls_shed_total', {
    help: 'Total calls rejected by load shedding or a concurrency limit, by code.',
    unit: '{call}',
    labels: [{ name: 'code', attribute: 'oriel.code', values: [...shedCodes, 'other'] }],
  }),
  active: {
    otel: 'oriel.calls.active',
    name: 'oriel_calls_active',
    type: 'gauge',
    help: 'Model calls in progress.',
    unit: '{call}',
    labels: [],
  },
  tokensSaved: counter('oriel.tokens.saved', 'oriel_tokens_saved_total', {
    help: 'Total history tokens that were not sent, as counted by Oriel.',
    unit: '{token}',
    labels: [model],
  }),
  tokensSent: counter('oriel.tokens.sent', 'oriel_tokens_sent_total', {
    help: 'Total tokens of the views that were sent, as counted by Oriel.',
    unit: '{token}',
    labels: [model],
  }),
  costSaved: counter('oriel.cost.saved', 'oriel_cost_saved_dollars_total', {
    help: 'Lower bound of dollars saved by tokens not sent, at the cache read price.',
    unit: '{USD}',
    labels: [model],
  }),
  costOfBreaks: counter('oriel.cost.breaks', 'oriel_cost_breaks_dollars_total', {
    help: 'Total dollars lost because edits broke the provider cache.',
    unit: '{USD}',
    labels: [model],
  }),
  epochs: counter('oriel.epochs', 'oriel_epochs_total', {
    help: 'Total epochs (edits applied together) by cause.',
    unit: '{epoch}',
    labels: [cause(['policy', 'cold', 'worth', 'limit'])],
  }),
  edits: counter('oriel.edits', 'oriel_edits_total', {
    help: 'Total edits applied.',
    unit: '{edit}',
    labels: [],
  }),
  compactions: counter('oriel.compactions', 'oriel_compactions_total', {
    help: 'Total compaction checkpoints by trigger.',
    unit: '{checkpoint}',
    labels: [
      {
        name: 'trigger',
        attribute: 'oriel.trigger',
        values: ['turn-end', 'step', 'manual', 'recovery', 'other'],
      },
    ],
  }),
  cacheBreaks: counter('oriel.cache.breaks', 'oriel_cache_breaks_total', {
    help: 'Total unexpected provider cache misses by cause.',
    unit: '{break}',
    labels: [cause(breakCauses)],
  }),
  tokensLost: counter('oriel.cache.tokens_lost', 'oriel_cache_tokens_lost_total', {
    help: 'Total tokens lost to unexpected provider cache misses by cause.',
    unit: '{token}',
    labels: [cause(breakCauses)],
  }),
  expansions: counter('oriel.expansions', 'oriel_expansions_total', {
    help: 'Total originals expanded.',
    unit: '{expansion}',
    labels: [],
  }),
  recoveries: counter('oriel.recoveries', 'oriel_recoveries_total', {
    help: 'Total calls retried with a smaller view after a context length error.',
    unit: '{recovery}',
    labels: [],
  }),
  jobsFailed: counter('oriel.jobs.failed', 'oriel_jobs_failed_total', {
    help: 'Total failed jobs, such as summaries by a model. The view is unchanged.',
    unit: '{job}',
    labels: [],
  }),
  backgroundFailures: counter('oriel.background.failures', 'oriel_background_failures_total', {
    help: 'Total failures of background tasks by task. The process continues.',
    unit: '{failure}',
    labels: [
      { name: 'task', attribute: 'oriel.task', values: [...Object.keys(backgroundTasks), 'other'] },
    ],
  }),
  interrupted: counter('oriel.answers.interrupted', 'oriel_answers_interrupted_total', {
    help: 'Total interrupted answers by ending.',
    unit: '{answer}',
    labels: [{ name: 'ending', attribute: 'oriel.ending', values: endings }],
  }),
  unlogged: counter('oriel.answers.unlogged', 'oriel_answers_unlogged_total', {
    help: 'Total answers that could not be logged. If the store failed, the answer to the client was aborted, so that it can retry.',
    unit: '{answer}',
    labels: [],
  }),
  truncated: counter('oriel.answers.truncated', 'oriel_answers_truncated_total', {
    help: 'Total answers that the log has only in part or not at all, by code.',
    unit: '{answer}',
    labels: [{ name: 'code', attribute: 'oriel.code', values: [...readingProblems, 'other'] }],
  }),
  failures: counter('oriel.failures', 'oriel_failures_total', {
    help: 'Total failures of the gateway and its store by code.',
    unit: '{failure}',
    labels: [
      {
        name: 'code',
        attribute: 'error.type',
        values: [
          ...Object.keys(errorCodes),
          'internal',
          'upstream-failed',
          'upstream-timeout',
          'upstream-redirect',
          'out-of-resources',
          'other',
        ],
      },
    ],
  }),
  projection: histogram('oriel.projection.duration', 'oriel_projection_duration_seconds', {
    help: 'Time to append the history, build the view and record both, in seconds.',
    unit: 's',
    labels: [],
    buckets: shortSeconds,
  }),
  overhead: histogram('oriel.overhead.duration', 'oriel_overhead_duration_seconds', {
    help: 'Time from receiving a model call to sending the upstream request, in seconds: reading, finding the thread, appending, projecting.',
    unit: 's',
    labels: [route],
    buckets: shortSeconds,
  }),
  duration: histogram(
    'gen_ai.client.operation.duration',
    'gen_ai_client_operation_duration_seconds',
    {
      help: 'Duration of model calls from the first byte to the last, in seconds.',
      unit: 's',
      labels: [
        operation,
        provider,
        model,
        { name: 'error', attribute: 'error.type', values: ['', '4xx', '5xx', ...endings, 'other'] },
      ],
      buckets: seconds,
    },
  ),
  firstChunk: histogram(
    'gen_ai.client.operation.time_to_first_chunk',
    'gen_ai_client_operation_time_to_first_chunk_seconds',
    {
      help: 'Time from sending the upstream request to the first chunk of a streamed answer, in seconds.',
      unit: 's',
      labels: [operation, provider, model],
      buckets: seconds,
    },
  ),
  usage: histogram('gen_ai.client.token.usage', 'gen_ai_client_token_usage', {
    help: 'Tokens of model calls as reported by the provider.',
    unit: '{token}',
    labels: [
      operation,
      provider,
      model,
      { name: 'type', attribute: 'gen_ai.token.type', values: ['input', 'output'] },
    ],
    buckets: tokens,
  }),
} as const satisfies Record<string, MetricDefinition>

export type MetricName = keyof typeof definitions
