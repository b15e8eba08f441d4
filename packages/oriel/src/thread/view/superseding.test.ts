// A newer edit of a block that has one already: what of the older one still holds.

import { describe, expect, it } from 'vitest'
import type { Policy } from '../../policy/schema.ts'
import { memoryStore } from '../../stores/memory/index.ts'
import { openThread, type Thread } from '../thread.ts'

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

  it.each([
    ['gives way to a placeholder', { max: 1, cutoff: 0 }, 'toolResults', 'it was not kept]'],
    ['is not summarized from the original', { cutoff: 1 }, 'expiry', 'The original was not kept.]'],
  ])(
    '[D6] that did not preserve the original %s, in the same view or later',
    async (_, toolResults, rule, said) => {
      const expiry = { ...compact, preserveOriginals: false }
      const at = async (thread: Thread): Promise<string> => {
        const { messages, trace } = await thread.view<{ content: string }>()
        const id = trace[0]?.id ?? ''
        expect(trace).toMatchObject([{ id, rule, canExpand: false }])
        expect(await thread.expand(id)).toMatchObject({ ok: false })
        expect(await thread.expand(`${id} to ${id}`)).toMatchObject({ ok: false })
        const shown = messages[2]?.content ?? ''
        expect(shown).not.toContain('line 89')
        return shown
      }
      const later = await begin({ expiry, toolResults })
      await later.view()
      await later.append(round('b'))
      expect(await at(later)).toContain(said)
      const atOnce = await begin({ expiry, toolResults })
      await atOnce.append(round('b'))
      expect(await at(atOnce)).toContain(said)
    },
  )

  it('[D6] that did not preserve the original holds under a budget', async () => {
    const tools = { '*': { after: 0, mode: 'compact', length: 1000 } } as const
    const thread = await begin({ expiry: { tools, preserveOriginals: false } })
    const { messages, trace } = await thread.view<{ content: string }>({ budget: 250 })
    expect(trace).toMatchObject([{ rule: 'budget', form: 'omitted', canExpand: false }])
    expect(messages[2]?.content).toContain('it was not kept]')
  })

  it.each([
    ['a placeholder', { max: 1, cutoff: 0 }, 'it was not kept]'],
    ['a summary', { cutoff: 1 }, '[the original was not kept]'],
  ])(
    '[D6] that does not preserve the original acts under %s that came first',
    async (_, toolResults, said) => {
      const tools = { '*': { after: 3, mode: 'compact', length: 100 } } as const
      const policy = { expiry: { tools, preserveOriginals: false }, toolResults }
      const thread = await begin(policy)
      await thread.append(round('b'))
      const [first] = (await thread.view()).trace
      const id = first?.id ?? ''
      expect(first).toMatchObject({ rule: 'toolResults', canExpand: true })
      expect(await thread.expand(id)).toEqual({ ok: true, text: original })
      await thread.append([{ role: 'assistant', content: 'read' }])
      const { messages, trace } = await thread.view<{ content: string }>()
      expect(trace[0]).toMatchObject({ id, form: first?.form, canExpand: false })
      expect(messages[2]?.content).toContain(said)
      expect(messages[2]?.content).not.toContain(`expand ${id}`)
      expect(await thread.expand(id)).toMatchObject({ ok: false })
      expect((await thread.view()).epoch.applied).toBe(0)
    },
  )
})
