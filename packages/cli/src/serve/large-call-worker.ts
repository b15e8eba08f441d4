// Worker thread of `oriel serve` for requests with large bodies.

import { workerData } from 'node:worker_threads'
import { type GatewayOptions, hostLargeCalls } from '@oriel/gateway'
import { openStore } from './open-store.ts'

const { path, options } = workerData as {
  readonly path: string
  readonly options: GatewayOptions
}
hostLargeCalls({ ...options, store: openStore(path) })
