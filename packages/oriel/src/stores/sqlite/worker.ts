// The thread that owns the connection for writing: no fsync ever stops the event loop of the process.

import { parentPort, workerData } from 'node:worker_threads'
import { assert } from '../../core/log/errors.ts'
import { serve } from './worker-protocol.ts'
import type { SessionSettings } from './writer-connection.ts'

assert(parentPort !== null, 'this file is started as a worker')
serve(parentPort, workerData as SessionSettings)
