import { describe, expect, it } from 'vitest'
import { memoryStore } from '../stores/memory/index.ts'
import type { ThreadAction } from '../thread/actions.ts'
import { openThread, type Thread } from '../thread/thread.ts'
import { effectOf } from './effect.ts'

const read = (id: string, length: number, isError = false) => [
  {
    role: 'assistant',
    content: [{ type: 'tool-call', callId: id, name: 'read', arguments: '{}' }],
  },
  {
    role: 'tool',
    content: [
      { type: 'tool-result', callId: id, content: `${id} has words. `.repeat(length), isError },
    ],
  },
]

/** Several exchanges in turns; old results are omitted, long ones are clipped. */
async function worked(id = 't', policy: object = {}): Promise<Thread> {
  const thread = await openThread({
    id,
    store: memoryStore(),
    policy: {
      toolOutput: { maxChars: 2000 },
      toolResults: { strategy: 'keepRecent', max: 2, cutoff: 0 },
      ...policy,
    },
  })
  for (let turn = 0; turn < 4; turn++) {
    await thread.append({ role: 'user', content: `Question ${turn}.` })
    await thread.view({ model: 'm' })
    await thread.append(read(`c${turn}`, 50 + 100 * turn) as never)
    await thread.view({ model: 'm' })
    await thread.append({ role: 'assistant', content: `Answer ${turn}.` })
  }
  return thread
}

async function done(thread: Thread, { type, id }: ThreadAction): Promise<void> {
  if (type === 'undo') await thread.undo(id)
  else if (type === 'expand') await thread.expand(id, { inPlace: true })
  else if (type === 'pin' || type === 'unpin') await thread.pin(id, { pinned: type === 'pin' })
  else await thread.exclude(id, { excluded: type === 'exclude' })
}

describe('the effect of an action', () => {
  const types = ['undo', 'expand', 'pin', 'unpin', 'exclude', 'include'] as const

  it.each(types)('[ST18] is what the next view shows after it: %s', async (type) => {
    const ids = (await (await worked()).log()).flatMap((entry) =>
      entry.type === 'message' || entry.type === 'edit' ? [entry] : [],
    )
    for (const entry of ids) {
      if ((type === 'undo') !== (entry.type === 'edit')) continue
      // Ids derive from the thread's salt: each thread has its own.
      const thread = await worked()
      const own = (await thread.log()).find(({ seq }) => seq === entry.seq)
      const action = { type, id: own?.id ?? '' }
      const before = await thread.log()
      const rehearsal = await thread.rehearse(action, { model: 'm' })
      expect(await thread.log()).toEqual(before)
      if (!rehearsal.ok) {
        expect(rehearsal.reason).not.toBe('')
        continue
      }
      const { tokens, blocks, rewritten } = effectOf(rehearsal)
      const now = await thread.view({ model: 'm', dryRun: true })
      await done(thread, action)
      const later = await thread.view({ model: 'm', dryRun: true })
      expect(tokens).toEqual({ before: now.tokens.after, after: later.tokens.after })
      const isSame = JSON.stringify(now.messages) === JSON.stringify(later.messages)
      expect(blocks === 0).toBe(isSame)
      if (isSame) expect(rewritten).toBe(0)
      expect(rewritten).toBeLessThanOrEqual(later.tokens.after)
    }
  })

  it('[ST18] says why an action would be refused', async () => {
    const compaction = { auto: false, keepRecentTokens: 100, keepRecent: 1 }
    const thread = await worked('t', { compaction })
    await thread.compact()
    await thread.append({ role: 'user', content: 'More.' })
    await thread.append(read('d', 300) as never)
    await thread.append({ role: 'assistant', content: 'Done.' })
    await thread.append({ role: 'user', content: 'And more.' })
    await thread.compact()
    const folds = (await thread.edits()).filter(({ rule }) => rule === 'compaction')
    expect(folds.length).toBeGreaterThan(1)
    expect(await thread.rehearse({ type: 'undo', id: folds[0]?.id ?? '' })).toEqual({
      ok: false,
      reason: `A newer checkpoint goes on from this one. Undo ${folds.at(-1)?.id} first.`,
    })
    const [first] = (await thread.log()).filter(({ type }) => type === 'message')
    const gone = await thread.rehearse({ type: 'expand', id: first?.id ?? '' })
    expect(gone).toMatchObject({ ok: false })
    await expect(thread.rehearse({ type: 'pin', id: 'zzz' })).rejects.toMatchObject({
      code: 'not-found',
    })
  })
})
