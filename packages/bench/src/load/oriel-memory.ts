// The built gateway with its store in memory, which `oriel serve` does not offer. `node oriel-memory.ts <configuration file>`.

import { readFileSync } from 'node:fs'

// By a name that the compiler does not follow: the build need not be there to check the types of this package.
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
