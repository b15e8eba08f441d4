// What `oriel context` needs, loaded when it runs.

export { readContextSettings } from '../search/settings.ts'
export { context } from './command.ts'
