// Gateway build with an in-memory store, which `oriel serve` does not offer. `node oriel-memory.ts
// <configuration file>`.

import { readFileSync } from 'node:fs'

// A computed name, so that type checking does not need the build.
const built = new URL('../../../gateway/dist/index.js', import.meta.url).href
const { createGateway, tuneHeap, optionsOf, readConfig, serveGateway } = (await import(
  built
)) as typeof import('../../../gateway/src/index.ts')

tuneHeap()
const config = readConfig(JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')), process.env)
const port = config.port ?? 0
const server = await serveGateway(createGateway(optionsOf(config)), { port })
process.once('SIGTERM', () => {
  server.close().then(() => process.exit(0))
})
