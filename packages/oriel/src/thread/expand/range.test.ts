import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../stores/memory/index.ts'
import { openThread } from '../thread.ts'

async function filled() {
  const thread = await openThread({ store: memoryStore() })
  const entries = await thread.append(
    ['alpha_1 one', 'beta_2 two\nbeta_2 again', 'gamma_3 three', 'delta_4 four'].map(
      (content, index) => ({ role: index % 2 === 0 ? 'user' : 'assistant', content }),
    ),
  )
  return { thread, ids: entries.map(({ id }) => String(id)) }
}

describe('expanding a range', () => {
  it('[W10] gives all messages from one id to another, each headed by its id', async () => {
    const { thread, ids } = await filled()
    expect(await thread.expand(`${ids[1]} to ${ids[2]}`)).toEqual({
      ok: true,
      text: `[${ids[1]} assistant]\nbeta_2 two\nbeta_2 again\n\n[${ids[2]} user]\ngamma_3 three`,
    })
  })

  it('[W10] gives only the lines that contain a query, and says where they stood', async () => {
    const { thread, ids } = await filled()
    const range = `${ids[0]} to ${ids[3]}`
    expect(await thread.expand(range, { query: 'AGAIN' })).toEqual({
      ok: true,
      text: `[${ids[1]} assistant]\n1: beta_2 again`,
    })
    expect(await thread.expand(range, { query: 'nowhere' })).toMatchObject({ ok: false })
  })

  it('[W10] refuses ids that are not there, and ranges that are empty', async () => {
    const { thread, ids } = await filled()
    expect(await thread.expand(`${ids[0]} to e9zz9`)).toMatchObject({ ok: false })
    expect(await thread.expand(`${ids[3]} to ${ids[0]}`)).toMatchObject({ ok: false })
  })

  it('[W10] reaches everything that a checkpoint covers, by the words that it prints', async () => {
    const thread = await openThread({
      store: memoryStore(),
      policy: { compaction: { maxTokens: 400, keepRecentTokens: 100 } },
    })
    for (let turn = 0; turn < 12; turn++) {
      const user = { role: 'user', content: `Keep key_${turn}a. ${'Some words. '.repeat(12)}` }
      await thread.append([user, { role: 'assistant', content: 'Kept.' }])
      await thread.view()
    }
    await thread.append({ role: 'user', content: 'Which was the second?' })
    const shown = JSON.stringify((await thread.view()).messages)
    expect(shown).not.toContain('key_1a')
    const [, range = ''] = /messages (e\w+ to e\w+)/.exec(shown) ?? []
    const answer = await thread.expand(range, { query: 'key_1a' })
    expect(answer).toMatchObject({ ok: true, text: expect.stringContaining('Keep key_1a.') })
  })
})
