// What `oriel simulate` needs, loaded when it runs.

export { simulateCommand } from './command.ts'
export { readSimulateSettings } from './settings.ts'
