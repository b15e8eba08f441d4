// What the plugins of coding agents wrote, as the studio sees it.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sqliteStore } from 'oriel'
import { AgentThreads } from 'oriel/agents'
import { expect, it } from 'vitest'
import { createGateway } from '../src/index.ts'

it('[AG1] lists the threads of every plugin, with the name of the agent and the cost', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'oriel-agent-threads-'))
  const path = join(folder, 'agents.db')
  for (const agent of ['pi', 'opencode']) {
    const threads = new AgentThreads({ agent, env: { ORIEL_STORE: path } })
    const call = { format: 'openai-chat', model: 'gpt-5' } as const
    await threads.request('s', [{ role: 'user', content: 'Hello.' }], call)
    await threads.usage('s', { uncached: 1000, cacheRead: 0, cacheWrite: 0, output: 1 })
    await threads.close()
  }
  const store = sqliteStore({ path })
  const gateway = createGateway({ store })
  const response = await gateway.fetch(new Request('http://localhost/api/threads'))
  const { threads } = (await response.json()) as {
    threads: { id: string; requests: number; cost: { dollars: number } }[]
  }
  expect(threads.map(({ id, requests }) => [id, requests]).toSorted()).toEqual([
    ['opencode-s', 1],
    ['pi-s', 1],
  ])
  for (const { cost } of threads) expect(cost.dollars).toBeGreaterThan(0)
  await gateway.close()
  await store.close()
  rmSync(folder, { recursive: true })
})
