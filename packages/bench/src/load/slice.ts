// One slice of a run: requests are sent when due, regardless of earlier ones. Latency counts from
// the due time, so that a stalled server cannot hide waiting requests (coordinated omission).

import { lastWords, paths } from './answers.ts'
import { type Arrivals, dueTimes } from './arrivals.ts'
import type { Contender } from './contenders.ts'
import type { HttpClient, Outcome } from './http-client.ts'
import { useOf } from './process-use.ts'
import type { Call, Sessions } from './sessions.ts'

export interface SliceOptions extends Arrivals {
  readonly contender: Contender
  readonly client: HttpClient
  readonly sessions: Sessions
  /** Requests at the beginning that are sent and not counted. @default 0 */
  readonly skip?: number
  /** Requests that may be under way; more are not sent and count as failed. @default 4000 */
  readonly maxOpen?: number
}

export interface Slice {
  readonly requests: number
  /** Of whole answers with status 200. */
  readonly latenciesMs: readonly number[]
  /** Until the first text of streams. */
  readonly firstTextMs: readonly number[]
  /** From the mock's write to the client, of each chunk. */
  readonly relayMs: readonly number[]
  readonly chunks: readonly number[]
  /** Failures by status; 0 is no response, `cut` a truncated one. */
  readonly failures: Readonly<Record<string, number>>
  /** 429 and 503 responses with retry-after. */
  readonly withRetryAfter: number
  /** Delay of sending the requests themselves. */
  readonly lagMs: readonly number[]
  readonly seconds: number
  /** Per request, of the contender's whole process; NaN for direct calls. */
  readonly cpuMs: number
  readonly rssMb: number
}

/** Time for background work after the answers. */
const settleMs = 150

export async function runSlice(options: SliceOptions): Promise<Slice> {
  const { contender } = options
  const before = contender.pid === undefined ? undefined : useOf(contender.pid)
  const collected = await send(options)
  await new Promise((resolve) => setTimeout(resolve, settleMs))
  const after = contender.pid === undefined ? undefined : useOf(contender.pid)
  return {
    ...collected,
    cpuMs:
      before === undefined || after === undefined
        ? Number.NaN
        : (after.cpuMs - before.cpuMs) / collected.requests,
    rssMb: after?.rssMb ?? Number.NaN,
  }
}

type Collected = Omit<Slice, 'cpuMs' | 'rssMb'>

function send(options: SliceOptions): Promise<Collected> {
  const { contender, client, sessions, skip = 0, maxOpen = 4000 } = options
  const times = dueTimes(options)
  const slice = new Collection()
  const startAt = performance.now() + 5
  let next = 0
  let open = 0
  return new Promise((resolve) => {
    const over = (): void => {
      if (next >= times.length && open === 0)
        resolve(slice.result(times.length, (performance.now() - startAt) / 1000))
    }
    const fire = (index: number, dueAt: number): void => {
      const isCounted = index >= skip
      if (open >= maxOpen) {
        slice.fail('unsent')
        return
      }
      open += 1
      const call = sessions.next()
      const sentAt = performance.now()
      client.send({
        request: requestOf(contender, call),
        isStream: call.isStream,
        lastWord: lastWords[call.format],
        onEnd(outcome) {
          open -= 1
          call.done(outcome.status === 200 && outcome.isWhole)
          if (isCounted) slice.add(outcome, { dueAt, sentAt })
          over()
        },
      })
    }
    const tick = (): void => {
      const now = performance.now() - startAt
      while (next < times.length && (times[next] as number) <= now) {
        fire(next, startAt + (times[next] as number))
        next += 1
      }
      if (next < times.length) setTimeout(tick, (times[next] as number) - now)
      else over()
    }
    tick()
  })
}

class Collection {
  readonly #latencies: number[] = []
  readonly #firstTexts: number[] = []
  readonly #relays: number[] = []
  readonly #chunks: number[] = []
  readonly #lags: number[] = []
  readonly #failures: Record<string, number> = {}
  #withRetryAfter = 0

  add(outcome: Outcome, { dueAt, sentAt }: { dueAt: number; sentAt: number }): void {
    this.#lags.push(sentAt - dueAt)
    if (outcome.status !== 200 || !outcome.isWhole) {
      this.fail(outcome.status === 200 ? 'cut' : String(outcome.status))
      if (outcome.hasRetryAfter) this.#withRetryAfter += 1
      return
    }
    this.#latencies.push(outcome.endedAt - dueAt)
    if (outcome.chunks === 0) return
    this.#firstTexts.push(outcome.firstTextAt - dueAt)
    this.#chunks.push(outcome.chunks)
    for (const delay of outcome.delaysMs) this.#relays.push(delay)
  }

  fail(kind: string): void {
    this.#failures[kind] = (this.#failures[kind] ?? 0) + 1
  }

  result(requests: number, seconds: number): Collected {
    return {
      requests,
      seconds,
      latenciesMs: this.#latencies,
      firstTextMs: this.#firstTexts,
      relayMs: this.#relays,
      chunks: this.#chunks,
      failures: this.#failures,
      withRetryAfter: this.#withRetryAfter,
      lagMs: this.#lags,
    }
  }
}

/** The bytes of a request. */
export function requestOf({ port, headers }: Contender, { format, tenant, body }: Call): Buffer[] {
  const length = body.reduce((sum, part) => sum + part.length, 0)
  const head =
    `POST ${paths[format]} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n` +
    `authorization: Bearer sk-load-${tenant}\r\ncontent-type: application/json\r\n` +
    `${headers}content-length: ${length}\r\n\r\n`
  return [Buffer.from(head, 'latin1'), ...body]
}
