// Connections to the server. A lost one is the error of the call that used it, and is never used again.

import { OrielError } from '../../core/log/errors.ts'
import { storeClosed } from '../stored/errors.ts'
import type { PostgresClient, PostgresPool, PostgresResult } from './driver.ts'
import { createPool } from './driver.ts'
import { isCollision, isLost, postgresError } from './errors.ts'

/** One statement of a fixed set. */
export interface Statement {
  /** The server keeps it under this name, where the caller allows that. Absent for what is seldom asked. */
  readonly name?: string
  readonly text: string
}

export interface ConnectionSettings {
  readonly source: string | PostgresPool
  readonly maxConnections: number
  readonly timeoutMs: number
  readonly isPrepared: boolean
}

/** A deadlock or a connection that had died unnoticed: once or twice more, then the caller hears of it. */
const maxAttempts = 3

/** What the slowest line worth waiting for carries. */
const slowestBytesPerMs = 1000

/** Erasing or checking a large thread may take a while. */
const transactionTimeoutMs = 120_000

export type Run = (statement: Statement, values: unknown[]) => Promise<PostgresResult>

export class PostgresConnections {
  readonly #settings: ConnectionSettings
  #pool: Promise<PostgresPool> | undefined
  readonly #heard = new WeakSet<PostgresClient>()
  readonly #busy = new Set<Promise<unknown>>()
  #isClosed = false

  constructor(settings: ConnectionSettings) {
    this.#settings = settings
  }

  /** Runs one statement, which must be safe to repeat. `bytes` of content give it more time. */
  query(statement: Statement, values: unknown[] = [], bytes = 0): Promise<PostgresResult> {
    const giveUpAtMs = performance.now() + this.#settings.timeoutMs + bytes / slowestBytesPerMs
    const work = (client: PostgresClient): Promise<PostgresResult> =>
      this.#run(client, statement, values, remaining(giveUpAtMs))
    return this.#attempt(work, giveUpAtMs)
  }

  /** Runs statements in one transaction, which must be safe to repeat. All settings are local to it: poolers may be between. */
  transaction<T>(work: (run: Run) => Promise<T>): Promise<T> {
    const transact = async (client: PostgresClient): Promise<T> => {
      const run: Run = (statement, values) =>
        this.#run(client, statement, values, transactionTimeoutMs)
      await run(begin, [])
      try {
        await run(limits, [])
        const result = await work(run)
        await run(commit, [])
        return result
      } catch (error) {
        if (!isLost(error)) await run(rollback, [])
        throw error
      }
    }
    // The time for a connection; statements have their own.
    return this.#attempt(transact, performance.now() + this.#settings.timeoutMs)
  }

  /** A connection for as long as the caller wants it; it gives it back with `release`. `timeoutMs` shortens the wait for it. */
  async take({ timeoutMs = this.#settings.timeoutMs } = {}): Promise<PostgresClient> {
    return this.#connect(performance.now() + Math.min(timeoutMs, this.#settings.timeoutMs))
  }

  /** Waits for what was begun; nothing new is accepted. */
  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.allSettled(this.#busy)
    // A pool that the caller made is the caller's to end.
    if (typeof this.#settings.source !== 'string') return
    const pool = await this.#pool?.catch(() => undefined)
    await pool?.end()
  }

  /** One deadline for waiting for a connection, for the statement and for all attempts. */
  async #attempt<T>(work: (client: PostgresClient) => Promise<T>, giveUpAtMs: number): Promise<T> {
    if (this.#isClosed) throw storeClosed()
    const trying = this.#tryAgain(work, giveUpAtMs)
    this.#busy.add(trying)
    try {
      return await trying
    } finally {
      this.#busy.delete(trying)
    }
  }

  async #tryAgain<T>(work: (client: PostgresClient) => Promise<T>, giveUpAtMs: number): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#once(work, giveUpAtMs)
      } catch (error) {
        const isWorthIt = isCollision(error) || isLost(error)
        if (!isWorthIt || attempt === maxAttempts || performance.now() > giveUpAtMs) {
          throw postgresError(error)
        }
      }
    }
  }

  async #once<T>(work: (client: PostgresClient) => Promise<T>, giveUpAtMs: number): Promise<T> {
    const client = await this.#connect(giveUpAtMs)
    let failed: Error | undefined
    try {
      return await work(client)
    } catch (error) {
      // Whatever went wrong, an answer may still be on its way: it must not reach the next caller.
      if (!OrielError.is(error)) failed = error instanceof Error ? error : new Error('failed')
      throw error
    } finally {
      client.release(failed)
    }
  }

  #run(
    client: PostgresClient,
    { name, text }: Statement,
    values: unknown[],
    timeoutMs: number,
  ): Promise<PostgresResult> {
    const query = { text, values, query_timeout: timeoutMs }
    const isKept = this.#settings.isPrepared && name !== undefined
    return client.query(isKept ? { ...query, name: `oriel-${name}` } : query)
  }

  async #connect(giveUpAtMs: number): Promise<PostgresClient> {
    this.#pool ??= this.#open()
    const pool = await this.#pool.catch((error: unknown) => {
      this.#pool = undefined
      throw error
    })
    const client = await withTimeout(pool, remaining(giveUpAtMs))
    this.#hear(client)
    return client
  }

  /** Between two statements, and after it was given up, nobody listens to a connection; an error that nobody hears ends the process. */
  #hear(client: PostgresClient): void {
    if (!this.#heard.has(client)) client.on('error', () => {})
    this.#heard.add(client)
  }

  async #open(): Promise<PostgresPool> {
    const { source, maxConnections, timeoutMs } = this.#settings
    const pool =
      typeof source === 'string'
        ? await createPool({
            connectionString: source,
            max: maxConnections,
            connectionTimeoutMillis: timeoutMs,
            keepAlive: true,
            application_name: 'oriel',
          })
        : source
    // The server may end idle connections at any time. The pool drops them; there is nothing else to do.
    pool.on('error', () => {})
    // Also in the moment before it is handed over.
    pool.on('connect', (client) => this.#hear(client))
    return pool
  }
}

/** A pool of the caller's may wait for ever; a connection that comes too late goes straight back. */
async function withTimeout(pool: PostgresPool, timeoutMs: number): Promise<PostgresClient> {
  const connecting = pool.connect()
  let timer: NodeJS.Timeout | undefined
  const tooLate = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      connecting.then(
        (client) => client.release(),
        () => undefined,
      )
      reject(noConnection(timeoutMs))
    }, timeoutMs)
  })
  try {
    return await Promise.race([connecting, tooLate])
  } finally {
    clearTimeout(timer)
  }
}

/** Never nothing: an answer that is there is still taken. */
function remaining(giveUpAtMs: number): number {
  return Math.max(1, Math.ceil(giveUpAtMs - performance.now()))
}

function noConnection(timeoutMs: number): OrielError {
  return postgresError(
    Object.assign(new Error(`No connection within ${timeoutMs} ms`), { code: '53300' }),
  )
}

const begin = { text: 'begin' }
const commit = { text: 'commit' }
const rollback = { text: 'rollback' }
/** A process that dies without a word in mid-transaction must not hold its locks for ever. */
const limits = {
  text: `select set_config('idle_in_transaction_session_timeout', '20s', true), set_config('lock_timeout', '20s', true)`,
}
