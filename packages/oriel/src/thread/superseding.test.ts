// A newer edit of a block that has one already: what of the older one still holds.

import { describe, expect, it } from 'vitest'
import type { Policy } from '../policy.ts'
import { memoryStore } from '../stores/memory.ts'
import { openThread, type Thread } from './thread.ts'

const original = Array.from({ length: 90 }, (_, n) => `line ${n} of the output`).join('\n')

function round(callId: string): readonly object[] {
  return [
    { role: 'assistant', content: [{ type: 'tool-call', callId, name: 'read', arguments: '{}' }] },
    { role: 'tool', content: [{ type: 'tool-result', callId, content: original }] },
  ]
}

async function begin(policy: Policy): Promise<Thread> {
  const thread = await openThread({ store: memoryStore(), policy })
  await thread.append([{ role: 'user', content: 'go' }, ...round('a')])
  await thread.append([{ role: 'assistant', content: 'read' }])
  return thread
}

const compact = { tools: { '*': { after: 0, mode: 'compact', length: 100 } } } as const

describe('an edit that another one supersedes', () => {
  it('[I5] is not in the trace of the view that applies the newer one', async () => {
    const newestOnly = { max: 1, cutoff: 0 }
    const thread = await begin({ expiry: compact, toolResults: newestOnly })
    const first = await thread.view()
    expect(first.trace).toMatchObject([{ form: 'clipped', rule: 'expiry' }])
    await thread.append(round('b'))
    const second = await thread.view()
    const id = first.trace[0]?.id
    const omitted = [{ id, form: 'omitted', rule: 'toolResults' }]
    expect(second.epoch.applied).toBe(1)
    expect(second.trace).toMatchObject(omitted)
    expect((await thread.view()).trace).toMatchObject(omitted)
  })
})
