// What `oriel import` needs, loaded when it runs.

export { importThreads } from './command.ts'
export { readImportSettings } from './settings.ts'
