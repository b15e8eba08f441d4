// Entry point of the `oriel` command as a function, for small bin files and in-process tests.

export { main } from './main.ts'
export type { Output, Terminal } from './terminal.ts'
