// A gateway in a process of its own, to be killed: `gateway-child.ts <place> <address of the upstream>`. The place is a file of SQLite, whose
// writers may have a fault in them (see packages/oriel/test/faults/fault.ts), or an address of PostgreSQL with the schema behind a #.
// Says `listening <url>` when it is ready.

import { createGateway, serveGateway } from '@oriel/gateway'
import { createStore } from '../../../oriel/src/stores/create-store.ts'
import { SqliteBackend } from '../../../oriel/src/stores/sqlite/backend.ts'
import { at, writes } from '../../../oriel/test/faults/fault.ts'
import { isAddress, openRemote } from '../../../oriel/test/faults/place.ts'

const [, , place = '', upstream = ''] = process.argv
const store = isAddress(place)
  ? openRemote(place)
  : createStore(
      new SqliteBackend({
        path: place,
        busyTimeoutMs: 20_000,
        maxQueueBytes: 64_000_000,
        maxQueueCount: 10_000,
        truncated: 'refuse',
        writes,
        at,
        worker: new URL('../../../oriel/test/faults/fault-worker.ts', import.meta.url),
      }),
    )
const gateway = createGateway({
  store,
  upstreams: [{ name: 'test', baseUrl: upstream }],
  // A busy machine must not reject calls here.
  limits: { lateMs: 0 },
  log: (line) => process.stderr.write(`${line}\n`),
})
const server = await serveGateway(gateway, { port: 0 })
process.once('SIGTERM', async () => {
  await server.close()
  await store.close()
})
process.stdout.write(`listening ${server.url}\n`)
