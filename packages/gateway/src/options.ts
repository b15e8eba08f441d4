// Gateway options, set by the operator. A request cannot set any of them.

import { getHeapStatistics } from 'node:v8'
import type {
  AgentTemplate,
  PolicyInput,
  Prompt,
  RecallOptions,
  ResolvePolicyOptions,
  Store,
  ThreadEvent,
  TokensOption,
} from 'oriel'
import type { MetricName } from './telemetry/definitions.ts'

/** An upstream for model calls. Only the operator names hosts; no part of a request can. */
export interface UpstreamOptions {
  readonly name: string
  /** For example `https://api.example.com`; `/v1/...` is appended. */
  readonly baseUrl: string
  /** The key to send instead of the caller's. @default the caller's own key is forwarded */
  readonly key?: string
  /** The header that carries `key`. @default 'authorization' as a bearer token; 'x-api-key' for calls that came with that header */
  readonly keyHeader?: string
  /** Models that go here: exact names, or beginnings that end with `*`. @default all that no other upstream names */
  readonly models?: readonly string[]
  /** Sends requests. @default Node's HTTP client, without following redirects */
  readonly fetch?: (request: Request) => Promise<Response>
  /**
   * Add hints for the provider's prompt cache to managed calls if the client does not: cache marks
   * in Anthropic messages, a `prompt_cache_key` per thread in the OpenAI formats. This changes more
   * than the messages, and servers that do not know the fields may reject them.
   * @default false
   */
  readonly cacheHints?: boolean
  /**
   * Who edits the context where a client asks its provider for it (`context_management` of Anthropic's Messages): the upstream
   * ('delegate'), the gateway by the same parameters ('emulate'), or nobody but the policy ('own'). By itself ('auto') the upstream does
   * where it is the provider's own address, else the gateway.
   * @default 'auto'
   */
  readonly contextManagement?: ContextManagement
  /**
   * Retries after a 408, 409, 429 or 5xx, honouring retry-after. Clients usually retry themselves.
   * @default 0
   */
  readonly retries?: number
}

/** Who edits the context where a client asks its provider for it. */
export type ContextManagement = 'auto' | 'delegate' | 'emulate' | 'own'

/** An API key for callers. Only its hash is kept. */
export interface KeyOptions {
  readonly name: string
  /** The key itself. Use `hash` instead in a configuration file. */
  readonly key?: string
  /** SHA-256 of the key, as 64 hexadecimal digits. */
  readonly hash?: string
  /** The tenant whose threads it reads and writes. @default the key's own */
  readonly tenant?: string
  /** May override settings if `requestOverrides` is 'scoped-key'. @default false */
  readonly mayOverride?: boolean
  /** May see the threads of every tenant. @default false */
  readonly isAdmin?: boolean
}

/**
 * When models get the tool `expand_message`: from the first request on whose messages are reduced ('auto'), from a thread's first request
 * on (true), or never (false).
 */
export type ExpandMode = boolean | 'auto'

/** An agent template, as in `agents/*.json`. */
export interface AgentOptions extends AgentTemplate {
  readonly name?: string
  readonly title?: string
  readonly description?: string
  /** The model to call when the caller uses the agent's name as the model. @default the caller's */
  readonly model?: string
  readonly upstream?: string
  /** Overrides the gateway's `expand` for this agent. @default the gateway's */
  readonly expand?: ExpandMode
  readonly [field: string]: unknown
}

/** Limits on what callers can ask of the server. */
export interface Limits {
  /**
   * Size of a request body in bytes; the default is the largest that a provider accepts. @default
   * 33554432
   */
  readonly bodyBytes: number
  /** Nesting depth of a request body. @default 64 */
  readonly depth: number
  /** JSON values in a request body. @default 500000 */
  readonly nodes: number
  /** Messages in a request. @default 10000 */
  readonly messages: number
  /** Body size from which a request goes to the worker thread, if there is one (`offload`). @default 524288 */
  readonly largeBytes: number
  /** Time for a request body to arrive. @default 60000 */
  readonly bodyMs: number
  /**
   * Time until the upstream's first byte, including the wait for an upstream slot. @default 600000
   */
  readonly firstByteMs: number
  /** Time between two chunks of the upstream's response. @default 300000 */
  readonly idleMs: number
  /** Time that a client may leave a response unread. @default 30000 */
  readonly slowClientMs: number
  /** Total time of a response. @default 3600000 */
  readonly streamMs: number
  /** Concurrent calls per tenant; more get 429. @default 256 */
  readonly concurrentCalls: number
  /** Concurrent calls in total; more get 503. @default 2048 */
  readonly totalCalls: number
  /**
   * Concurrent requests per upstream, each with its own connection; more are queued. @default 1024
   */
  readonly upstreamCalls: number
  /** Queued requests per upstream; more get 503. Tenants are served round robin. @default 256 */
  readonly upstreamQueue: number
  /** Time that a request may wait in the upstream queue; then it gets 503. @default 10000 */
  readonly upstreamQueueMs: number
  /**
   * Decompressed bytes of a response that are read for the log. The client gets all of a longer
   * one; the log has the part that fits, marked as truncated. @default 67108864, at most an eighth
   * of the process's heap limit
   */
  readonly answerBytes: number
  /**
   * Bytes of the bodies and logged responses of all active calls; more get 503. Each takes several
   * times as much memory. The only active call is always accepted.
   * @default an eighth of the process's heap limit
   */
  readonly totalBytes: number
  /**
   * Event loop lag, sustained, above which new calls get 503 (load shedding). They also get it while
   * calls queue for more than a twentieth of it. In milliseconds; 0 = never. @default 2000
   */
  readonly lateMs: number
  /**
   * Size of the cache of parsed request bodies, which lets the next request of a conversation be
   * parsed from where it differs. Each takes about four times its body; 0 = none. @default
   * 268435456, at most an eighth of the process's heap limit
   */
  readonly knownBytes: number
  /**
   * Size of the LRU cache of idle open threads, each about three times its content.
   * @default 268435456, at most an eighth of the process's heap limit
   */
  readonly openBytes: number
  /**
   * Size of the LRU cache of logs that the studio looks at, each about three times its content. A longer log is read for every page.
   * @default 134217728, at most an eighth of the process's heap limit
   */
  readonly inspectBytes: number
  /**
   * Rounds per answer in which the model may expand originals; after that it must continue without.
   * @default 4
   */
  readonly expandRounds: number
  /** Time after the first round in which another may start. @default 120000 */
  readonly expandMs: number
  /** Interval of keep-alive events in a silent stream while a round is running. @default 10000 */
  readonly expandPulseMs: number
  /**
   * Time of one replay (a what-if from the start), including the wait in the queue; a longer one
   * gets 413. @default 30000
   */
  readonly replayMs: number
  /**
   * Heap limit of one replay, beside the heap of the process; one that needs more gets 413. Two run
   * concurrently.
   * @default 268435456, at most a quarter of the process's heap limit
   */
  readonly replayBytes: number
}

/** Share of each kind of large data: an eighth of the heap limit. */
const heapShare = Math.floor(getHeapStatistics().heap_size_limit / 8)

export const defaultLimits: Limits = {
  bodyBytes: 32 * 1024 * 1024,
  depth: 64,
  nodes: 500_000,
  messages: 10_000,
  largeBytes: 512 * 1024,
  bodyMs: 60_000,
  firstByteMs: 600_000,
  idleMs: 300_000,
  slowClientMs: 30_000,
  streamMs: 3_600_000,
  concurrentCalls: 256,
  totalCalls: 2048,
  upstreamCalls: 1024,
  // As many as one tenant may have active.
  upstreamQueue: 256,
  upstreamQueueMs: 10_000,
  answerBytes: Math.min(64 * 1024 * 1024, heapShare),
  totalBytes: heapShare,
  lateMs: 2000,
  knownBytes: Math.min(256 * 1024 * 1024, heapShare),
  openBytes: Math.min(256 * 1024 * 1024, heapShare),
  inspectBytes: Math.min(128 * 1024 * 1024, heapShare),
  expandRounds: 4,
  expandMs: 120_000,
  expandPulseMs: 10_000,
  replayMs: 30_000,
  replayBytes: Math.min(256 * 1024 * 1024, 2 * heapShare),
}

export interface SummarizerOptions {
  /** The name of an upstream with its own key. */
  readonly upstream: string
  readonly model: string
  /** Models to try when the first one fails. @default [] */
  readonly fallbacks?: readonly string[]
  /**
   * Timeout of one summary, over all its models, and of a call's wait for all summaries it needs,
   * in milliseconds. A late summary is replaced by its deterministic form. @default 30000
   */
  readonly timeoutMs?: number
}

export interface OffloadOptions {
  /** A module that calls `hostLargeCalls` with the same options and a store of its own. */
  readonly module: URL
  /** Its `workerData`, which must be plain data. */
  readonly data: unknown
}

export interface TelemetrySink {
  metric(name: MetricName, value: number, values: readonly string[]): void
  event(tenant: string, event: ThreadEvent): void
}

export interface GatewayOptions {
  /** The thread store. @default in memory, lost with the process */
  readonly store?: Store
  /** @default the built-in demo, which needs no network */
  readonly upstreams?: readonly UpstreamOptions[]
  /** The policy if neither environment, request nor agent sets one. @default 'recommended' */
  readonly policy?: PolicyInput
  /** Settings locked by the operator: `ORIEL_HISTORY_LENGTH` and the like. @default {} */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Agent templates by name. @default {} */
  readonly agents?: Readonly<Record<string, AgentOptions>>
  /**
   * Keys of callers. @default everyone who reaches the port, each in the tenant of its credential
   */
  readonly keys?: readonly KeyOptions[]
  /** Which requests may set policy fields. @default 'allow' */
  readonly requestOverrides?: ResolvePolicyOptions['requestOverrides']
  /** Maximum values that requests may ask for. @default {} */
  readonly ceilings?: ResolvePolicyOptions['ceilings']
  /**
   * How invalid values in a request are handled. @default ignored with a warning in the query
   * string, rejected in header and body
   */
  readonly onInvalid?: ResolvePolicyOptions['onInvalid']
  /** Manage histories. If off, everything is forwarded byte for byte. @default true */
  readonly management?: boolean
  /**
   * When the model gets the tool `expand_message`. The gateway answers its calls within the same
   * request; the client sees one answer. @default 'auto': once something was reduced
   */
  readonly expand?: ExpandMode
  /**
   * Puts the few passages of earlier messages that answer the newest user message best behind it, where the view does not show them.
   * @default false
   */
  readonly recall?: 'auto' | RecallOptions | false
  /**
   * Threads of one user or project under a tenant remember each other: the headers `x-oriel-user` and `x-oriel-project` name them when a
   * thread begins. Search and recall look into them, and what the user says is to hold everywhere is told to new ones. @default false
   */
  readonly memory?: boolean
  readonly limits?: Partial<Limits>
  /**
   * A worker thread for requests with bodies from `limits.largeBytes` on, so that none blocks the event loop. `oriel serve` has one.
   * @default none: they are handled in this thread
   */
  readonly offload?: OffloadOptions
  /** @internal Where a worker's gateway reports to. */
  readonly sink?: TelemetrySink
  /** Host header values to accept besides loopback names. @default [] */
  readonly hosts?: readonly string[]
  /**
   * Origins of pages that may call and read the responses, besides the gateway's own. @default []
   */
  readonly origins?: readonly string[]
  /** Summarize with a model. @default deterministic forms only */
  readonly summarizer?: SummarizerOptions
  /** Prompts of summaries by id, as `expiry` names them (`prompt`). @default Oriel's own */
  readonly prompts?: Readonly<Record<string, Prompt>>
  /** Token counter of new threads. @default 'estimate' */
  readonly tokens?: TokensOption
  /** Directory of the studio's files. @default not served */
  readonly studio?: string
  /** The clock. @default Date.now */
  readonly now?: () => number
  /** Receives log lines; never content, never secrets. @default discarded */
  readonly log?: (line: string) => void
  /** Log format: text for people or JSON lines for machines. @default 'text' */
  readonly logFormat?: 'text' | 'json'
  /** Log every request. @default true for 'json', false for 'text' */
  readonly logRequests?: boolean
}
