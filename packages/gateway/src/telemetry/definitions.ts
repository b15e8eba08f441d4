// Every metric of the gateway, once: its name for Prometheus and for OpenTelemetry, what it counts, and what it may be split by.

import { breakCauses, errorCodes, wireFormats } from 'oriel'
import { providers } from 'oriel/providers'
import { backgroundTasks } from '../background.ts'
import { readingProblems } from '../call/answer-reader.ts'
import { maxModels } from './model-names.ts'
import type { Label, MetricDefinition } from './registry.ts'

/** Where a request went: the format of a model call, or what else it was for. */
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

/** How a model call ended, where it did not end well. */
const endings = ['client-left', 'upstream-broke', 'cut-short', 'unlogged'] as const

/** Codes of calls that were turned away because there was too much to do. */
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

/** As the GenAI conventions advise. */
const seconds = [
  0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
]
const tokens = [1, 4, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304]
/** For what must stay short. */
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
    help: 'Requests of clients, by where they went and the class of the status they got.',
    unit: '{request}',
    labels: [route, status],
  }),
  shed: counter('oriel.calls.shed', 'oriel_calls_shed_total', {
    help: 'Calls turned away because too many were under way.',
    unit: '{call}',
    labels: [{ name: 'code', attribute: 'oriel.code', values: [...shedCodes, 'other'] }],
  }),
  active: {
    otel: 'oriel.calls.active',
    name: 'oriel_calls_active',
    type: 'gauge',
    help: 'Model calls under way.',
    unit: '{call}',
    labels: [],
  },
  tokensSaved: counter('oriel.tokens.saved', 'oriel_tokens_saved_total', {
    help: 'Tokens of histories that were not sent, in the tokens of the threads.',
    unit: '{token}',
    labels: [model],
  }),
  tokensSent: counter('oriel.tokens.sent', 'oriel_tokens_sent_total', {
    help: 'Tokens of views that were sent, in the tokens of the threads.',
    unit: '{token}',
    labels: [model],
  }),
  costSaved: counter('oriel.cost.saved', 'oriel_cost_saved_dollars_total', {
    help: 'Dollars that tokens which were not sent would have cost at least: as if the cache of the provider had held them all.',
    unit: '{USD}',
    labels: [model],
  }),
  costOfBreaks: counter('oriel.cost.breaks', 'oriel_cost_breaks_dollars_total', {
    help: 'Dollars that tokens cost which edits of Oriel took out of the cache of the provider.',
    unit: '{USD}',
    labels: [model],
  }),
  epochs: counter('oriel.epochs', 'oriel_epochs_total', {
    help: 'Epochs: edits that were applied together, by why then.',
    unit: '{epoch}',
    labels: [cause(['policy', 'cold', 'worth', 'limit'])],
  }),
  edits: counter('oriel.edits', 'oriel_edits_total', {
    help: 'Edits that were applied.',
    unit: '{edit}',
    labels: [],
  }),
  compactions: counter('oriel.compactions', 'oriel_compactions_total', {
    help: 'Checkpoints that were made, by what started them.',
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
    help: 'Calls for which the cache of the provider did not hold what it should have, by why.',
    unit: '{break}',
    labels: [cause(breakCauses)],
  }),
  tokensLost: counter('oriel.cache.tokens_lost', 'oriel_cache_tokens_lost_total', {
    help: 'Tokens that were not in the cache of the provider and should have been, by why.',
    unit: '{token}',
    labels: [cause(breakCauses)],
  }),
  expansions: counter('oriel.expansions', 'oriel_expansions_total', {
    help: 'Originals that were shown again.',
    unit: '{expansion}',
    labels: [],
  }),
  recoveries: counter('oriel.recoveries', 'oriel_recoveries_total', {
    help: 'Calls that were made smaller and asked again after the provider refused them as too long.',
    unit: '{recovery}',
    labels: [],
  }),
  jobsFailed: counter('oriel.jobs.failed', 'oriel_jobs_failed_total', {
    help: 'Jobs, such as summaries by a model, that failed; the view stayed as it was.',
    unit: '{job}',
    labels: [],
  }),
  backgroundFailures: counter('oriel.background.failures', 'oriel_background_failures_total', {
    help: 'Failures of work that no request waits for, by task; the process went on.',
    unit: '{failure}',
    labels: [
      { name: 'task', attribute: 'oriel.task', values: [...Object.keys(backgroundTasks), 'other'] },
    ],
  }),
  interrupted: counter('oriel.answers.interrupted', 'oriel_answers_interrupted_total', {
    help: 'Answers that broke off, by how.',
    unit: '{answer}',
    labels: [{ name: 'ending', attribute: 'oriel.ending', values: endings }],
  }),
  unlogged: counter('oriel.answers.unlogged', 'oriel_answers_unlogged_total', {
    help: 'Answers that could not be logged; where the store failed, the client saw them cut and may ask again.',
    unit: '{answer}',
    labels: [],
  }),
  truncated: counter('oriel.answers.truncated', 'oriel_answers_truncated_total', {
    help: 'Answers that clients got and the log has only in part or not at all, by why.',
    unit: '{answer}',
    labels: [{ name: 'code', attribute: 'oriel.code', values: [...readingProblems, 'other'] }],
  }),
  failures: counter('oriel.failures', 'oriel_failures_total', {
    help: 'Failures of the gateway and of its store, by code.',
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
    help: 'Time to take a history in, to make a view of it and to record both.',
    unit: 's',
    labels: [],
    buckets: shortSeconds,
  }),
  overhead: histogram('oriel.overhead.duration', 'oriel_overhead_duration_seconds', {
    help: 'Time from a model call to the request to its upstream: reading, finding the thread, appending, projecting.',
    unit: 's',
    labels: [route],
    buckets: shortSeconds,
  }),
  duration: histogram(
    'gen_ai.client.operation.duration',
    'gen_ai_client_operation_duration_seconds',
    {
      help: 'Time of whole model calls, from the first byte to the last.',
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
      help: 'Time from the request to the upstream to the first chunk of a streamed answer.',
      unit: 's',
      labels: [operation, provider, model],
      buckets: seconds,
    },
  ),
  usage: histogram('gen_ai.client.token.usage', 'gen_ai_client_token_usage', {
    help: 'Tokens of model calls, as the provider counts them.',
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
