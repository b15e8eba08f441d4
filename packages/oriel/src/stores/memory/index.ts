// Keeps logs in the memory of the process: for tests, trials and threads that need not outlive it.

import { assertOptions } from '../../core/log/options.ts'
import { createStore } from '../create-store.ts'
import type { Store } from '../store.ts'
import { MemoryBackend } from './backend.ts'

export interface MemoryStoreOptions {
  /** The clock behind `createdAt` and `updatedAt`. @default Date.now */
  readonly now?: () => number
}

/** A store that lives as long as the process. Reads give fresh objects: nothing a caller does to them changes the log. */
export function memoryStore(options: MemoryStoreOptions = {}): Store {
  assertOptions(options, { now: true }, 'memoryStore')
  return createStore(new MemoryBackend(), options)
}
