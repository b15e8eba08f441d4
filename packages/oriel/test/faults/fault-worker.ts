// The store's worker with one fault in it, if ORIEL_FAULT names one: see fault.ts.

import { parentPort, workerData } from 'node:worker_threads'
import { serve } from '../../src/stores/sqlite/worker-protocol.ts'
import type { SessionSettings } from '../../src/stores/sqlite/writer-connection.ts'
import { at } from './fault.ts'

if (parentPort !== null) serve(parentPort, workerData as SessionSettings, at)
