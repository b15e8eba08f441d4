// A process that begins a summary and never ends it: it says when its model is asked, and waits to be killed.

import { postgresStore } from '../../src/stores/postgres/index.ts'
import { openThread } from '../../src/thread/thread.ts'

const { DATABASE = '', SCHEMA = '', POLICY = '', MESSAGES = '' } = process.env
const store = postgresStore(DATABASE, { schema: SCHEMA, timeoutMs: 30_000 })
const thread = await openThread({
  store,
  id: 't',
  policy: JSON.parse(POLICY),
  summarize: () => {
    process.stdout.write('asked\n')
    return new Promise(() => setInterval(() => {}, 1000))
  },
})
await thread.append(JSON.parse(MESSAGES))
await thread.view()
