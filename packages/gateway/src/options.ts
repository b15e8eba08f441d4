// What a gateway is told by its operator. Nothing here can be set by a request.

import { getHeapStatistics } from 'node:v8'
import type { AgentTemplate, PolicyInput, ResolvePolicyOptions, Store, TokensOption } from 'oriel'

/** Where model calls go. Only the operator names hosts; no part of a request can. */
export interface UpstreamOptions {
  readonly name: string
  /** For example `https://api.example.com`; `/v1/...` is appended. */
  readonly baseUrl: string
  /** The key that is sent instead of the caller's. @default the caller's own key is passed on */
  readonly key?: string
  /** The header that carries `key`. @default 'authorization' as a bearer token; 'x-api-key' for calls that came with that header */
  readonly keyHeader?: string
  /** Models that go here: exact names, or beginnings that end with `*`. @default all that no other upstream names */
  readonly models?: readonly string[]
  /** How requests are sent. @default Node's own HTTP client, which follows no redirects */
  readonly fetch?: (request: Request) => Promise<Response>
  /**
   * Whether managed calls ask for the provider's cache where the client does not: marks in Anthropic's messages, a `prompt_cache_key`
   * of the thread in OpenAI's formats. Changes more than the messages, and servers that do not know the fields may refuse them.
   * @default false
   */
  readonly cacheHints?: boolean
  /** Times that a 408, 409, 429 or 5xx is asked again, honouring retry-after. Clients do that themselves. @default 0 */
  readonly retries?: number
}

/** A key that lets a caller in. Only its hash is kept. */
export interface KeyOptions {
  readonly name: string
  /** The key itself; give `hash` instead where the configuration is a file. */
  readonly key?: string
  /** SHA-256 of the key, as 64 hexadecimal digits. */
  readonly hash?: string
  /** Whose threads it reads and writes. @default the key's own */
  readonly tenant?: string
  /** Whether it may override settings where `requestOverrides` is 'scoped-key'. @default false */
  readonly mayOverride?: boolean
  /** Whether it may see the threads of every tenant. @default false */
  readonly isAdmin?: boolean
}

/** An agent template, as in `agents/*.json`. */
export interface AgentOptions extends AgentTemplate {
  readonly name?: string
  readonly title?: string
  readonly description?: string
  /** The model that is asked when the caller names the agent as its model. @default the caller's */
  readonly model?: string
  readonly upstream?: string
  /** As the gateway's own `expand`, for calls of this agent. @default the gateway's */
  readonly expand?: boolean
  readonly [field: string]: unknown
}

/** Bounds on what one caller can ask of the server. */
export interface Limits {
  /** Bytes of a request body; the largest that a provider takes. @default 33554432 */
  readonly bodyBytes: number
  /** Nesting of a request body. @default 64 */
  readonly depth: number
  /** Values in a request body. @default 500000 */
  readonly nodes: number
  /** Messages in a request. @default 10000 */
  readonly messages: number
  /** Time for a request body to arrive. @default 60000 */
  readonly bodyMs: number
  /** Time until the upstream's first byte, waiting for a slot at the upstream included. @default 600000 */
  readonly firstByteMs: number
  /** Time between two chunks of the upstream's answer. @default 300000 */
  readonly idleMs: number
  /** Time that a client may leave an answer unread. @default 30000 */
  readonly slowClientMs: number
  /** Time of a whole answer. @default 3600000 */
  readonly streamMs: number
  /** Calls of one tenant at the same time; more get 429. @default 256 */
  readonly concurrentCalls: number
  /** Calls of everybody at the same time; more get 503. @default 2048 */
  readonly totalCalls: number
  /** Requests to one upstream at the same time, each with a connection of its own; more wait. @default 1024 */
  readonly upstreamCalls: number
  /** Requests that may wait for one upstream; more get 503. Tenants are served in turn. @default 256 */
  readonly upstreamQueue: number
  /** Time that a request may wait for its upstream; then it gets 503. @default 10000 */
  readonly upstreamQueueMs: number
  /**
   * Bytes of an answer that are read for the log, decompressed. The client gets all of a longer one; the log has what fits, marked as
   * cut. @default 67108864, at most an eighth of the heap that the process may have
   */
  readonly answerBytes: number
  /**
   * Bytes of the bodies of all calls under way, and of their answers as far as they are kept; more get 503. Each takes several times as much memory. One that is alone is always taken.
   * @default an eighth of the heap that the process may have
   */
  readonly totalBytes: number
  /**
   * How late the process may be with its work, again and again, before new calls get 503: then more comes in than it can do. Calls may
   * wait half as long for their turn. In milliseconds; 0 = never. @default 2000
   */
  readonly lateMs: number
  /**
   * Memory for conversations that were read before, so that the next request is read from where it differs; about four times a body for
   * each; 0 = none. @default 268435456, at most an eighth of the heap that the process may have
   */
  readonly knownBytes: number
  /**
   * Memory for threads that stay open while nobody uses them, about three times their content; the least recently used go first.
   * @default 268435456, at most an eighth of the heap that the process may have
   */
  readonly openBytes: number
  /** Rounds of one answer in which the model may ask for originals; then it is told to go on without. @default 4 */
  readonly expandRounds: number
  /** Time after the first of them in which another one may begin. @default 120000 */
  readonly expandMs: number
  /** Silence in a stream, while such a round is under way, after which the client hears that the connection is alive. @default 10000 */
  readonly expandPulseMs: number
  /** Time of one replay (a what-if from the start), waiting for its turn included; a longer one gets 413. @default 30000 */
  readonly replayMs: number
  /**
   * Memory of one replay, beside the heap of the process; one that needs more gets 413. Two run at the same time.
   * @default 268435456, at most a quarter of the heap that the process may have
   */
  readonly replayBytes: number
}

/** What large things may take together: an eighth of the heap, for each kind of them. */
const heapShare = Math.floor(getHeapStatistics().heap_size_limit / 8)

export const defaultLimits: Limits = {
  bodyBytes: 32 * 1024 * 1024,
  depth: 64,
  nodes: 500_000,
  messages: 10_000,
  bodyMs: 60_000,
  firstByteMs: 600_000,
  idleMs: 300_000,
  slowClientMs: 30_000,
  streamMs: 3_600_000,
  concurrentCalls: 256,
  totalCalls: 2048,
  upstreamCalls: 1024,
  // As many as one tenant may have under way.
  upstreamQueue: 256,
  upstreamQueueMs: 10_000,
  answerBytes: Math.min(64 * 1024 * 1024, heapShare),
  totalBytes: heapShare,
  lateMs: 2000,
  knownBytes: Math.min(256 * 1024 * 1024, heapShare),
  openBytes: Math.min(256 * 1024 * 1024, heapShare),
  expandRounds: 4,
  expandMs: 120_000,
  expandPulseMs: 10_000,
  replayMs: 30_000,
  replayBytes: Math.min(256 * 1024 * 1024, 2 * heapShare),
}

export interface SummarizerOptions {
  /** The name of an upstream that has its own key. */
  readonly upstream: string
  readonly model: string
  /** Models to ask when the first one fails. @default [] */
  readonly fallbacks?: readonly string[]
  /**
   * How long one summary may take, with all its models, and how long a call waits for all summaries that it needs, in milliseconds.
   * What is not there in time has its deterministic form. @default 30000
   */
  readonly timeoutMs?: number
}

export interface GatewayOptions {
  /** Where threads are kept. @default in memory, gone with the process */
  readonly store?: Store
  /** @default the built-in demo, which needs no network */
  readonly upstreams?: readonly UpstreamOptions[]
  /** What holds when neither environment, request nor agent says anything. @default 'recommended' */
  readonly policy?: PolicyInput
  /** Settings locked by the operator: `ORIEL_HISTORY_LENGTH` and the like. @default {} */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Agent templates by name. @default {} */
  readonly agents?: Readonly<Record<string, AgentOptions>>
  /** Who may call. @default everyone who reaches the port, each in the tenant of the credential that it sends */
  readonly keys?: readonly KeyOptions[]
  /** Whether requests may set policy fields. @default 'allow' */
  readonly requestOverrides?: ResolvePolicyOptions['requestOverrides']
  /** Largest values that requests may ask for. @default {} */
  readonly ceilings?: ResolvePolicyOptions['ceilings']
  /** What invalid values in a request do. @default ignored with a warning in the address, refused in header and body */
  readonly onInvalid?: ResolvePolicyOptions['onInvalid']
  /** Whether histories are managed; off, everything passes through byte for byte. @default true */
  readonly management?: boolean
  /**
   * Whether the model gets the tool `expand_message`, from a thread's first request on. The gateway answers its calls within the same
   * request; the client sees one answer. @default false
   */
  readonly expand?: boolean
  readonly limits?: Partial<Limits>
  /** Names that the Host header may have besides loopback's. @default [] */
  readonly hosts?: readonly string[]
  /** Origins of pages that may call and read the answers, besides the gateway's own. @default [] */
  readonly origins?: readonly string[]
  /** Summarizes with a model. @default deterministic forms only */
  readonly summarizer?: SummarizerOptions
  /** How new threads count tokens. @default 'estimate' */
  readonly tokens?: TokensOption
  /** A folder with the studio's files. @default none are served */
  readonly studio?: string
  /** The clock. @default Date.now */
  readonly now?: () => number
  /** Where lines for operators go; never content, never secrets. @default nowhere */
  readonly log?: (line: string) => void
  /** Whether a line is text for people or one JSON object for machines. @default 'text' */
  readonly logFormat?: 'text' | 'json'
  /** Whether every request gets a line. @default true for 'json', false for 'text' */
  readonly logRequests?: boolean
}
