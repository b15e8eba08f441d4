// What `oriel export` needs, loaded when it runs.

export { exportThreads } from './command.ts'
export { readExportSettings } from './settings.ts'
