// What `oriel serve` needs, loaded when it runs.

export { tuneHeap } from '@oriel/gateway'
export { serve } from './command.ts'
export { readServeSettings } from './settings.ts'
