// The store's worker on a disk that fails the first time it is asked to sync.

import { parentPort, workerData } from 'node:worker_threads'
import { serve } from '../../src/stores/sqlite-serve.ts'
import type { SessionSettings } from '../../src/stores/sqlite-session.ts'

let hasFailed = false

if (parentPort !== null) {
  serve(parentPort, workerData as SessionSettings, (point) => {
    if (point !== 'sync' || hasFailed) return
    hasFailed = true
    throw Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO' })
  })
}
