// The store's worker on a disk that fails the first time it is asked to sync.

import { parentPort, workerData } from 'node:worker_threads'
import { serve } from '../../src/stores/sqlite/worker-protocol.ts'
import type { SessionSettings } from '../../src/stores/sqlite/writer-connection.ts'

let hasFailed = false

if (parentPort !== null) {
  serve(parentPort, workerData as SessionSettings, (point) => {
    if (point !== 'sync' || hasFailed) return
    hasFailed = true
    throw Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO' })
  })
}
