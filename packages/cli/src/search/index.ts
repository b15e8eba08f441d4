// What `oriel search` needs, loaded when it runs.

export { search } from './command.ts'
export { readSearchSettings } from './settings.ts'
