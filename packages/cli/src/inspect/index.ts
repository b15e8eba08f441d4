// What `oriel inspect` needs, loaded when it runs.

export { inspect } from './command.ts'
export { readSettings } from './settings.ts'
