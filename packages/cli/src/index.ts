// The `oriel` command as a function, so that the bin files stay small and tests can run it in their own process.

export { main } from './main.ts'
export type { Output, Terminal } from './terminal.ts'
