// What `oriel connect` needs, loaded when it runs.

export { connect, disconnect } from './command.ts'
export { readConnectSettings } from './settings.ts'
