// The part of the package `pg` that the store uses. It is an optional peer: loaded when a store is first used, and its types stay
// out of ours.

import { OrielError } from '../../core/log/errors.ts'

export type Row = Readonly<Record<string, unknown>>

export interface PostgresResult {
  readonly rows: readonly Row[]
  readonly rowCount: number | null
}

export interface PostgresQuery {
  readonly text: string
  readonly values?: unknown[]
  readonly name?: string
  /** `pg` gives up waiting after this many milliseconds. */
  readonly query_timeout?: number
}

/** A connection that was taken out of a pool. */
export interface PostgresClient {
  query(query: PostgresQuery): Promise<PostgresResult>
  /** Gives the connection back; with an error it is closed instead. */
  release(error?: Error | boolean): void
  on(event: 'error' | 'end', listener: () => void): unknown
  on(
    event: 'notification',
    listener: (message: { readonly payload?: string | undefined }) => void,
  ): unknown
}

/** A `Pool` of the package `pg`, or anything that behaves like one. */
export interface PostgresPool {
  connect(): Promise<PostgresClient>
  end(): Promise<void>
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'connect', listener: (client: PostgresClient) => void): unknown
}

export interface PoolSettings {
  readonly connectionString: string
  readonly max: number
  readonly connectionTimeoutMillis: number
  readonly keepAlive: boolean
  readonly application_name: string
}

/** A pool of connections to a server. */
export async function createPool(settings: PoolSettings): Promise<PostgresPool> {
  const driver = await loadDriver()
  return new driver.Pool(settings)
}

interface Driver {
  readonly Pool: new (settings: PoolSettings) => PostgresPool
}

async function loadDriver(): Promise<Driver> {
  try {
    const module = await import('pg')
    return (module.default ?? module) as unknown as Driver
  } catch (error) {
    throw new OrielError(
      'not-installed',
      'The package pg is not installed, and postgresStore needs it. Run `npm install pg`.',
      { cause: error },
    )
  }
}
