// Worker thread of the tests: a gateway for large bodies on a SQLite file.

import { workerData } from 'node:worker_threads'
import { type GatewayOptions, hostLargeCalls } from '@oriel/gateway'
import { sqliteStore } from 'oriel'

const { path, crashes, ...options } = workerData as GatewayOptions & {
  readonly path: string
  readonly crashes?: boolean
}
if (crashes === true) process.exit(1)
hostLargeCalls({ ...options, store: sqliteStore(path) })
