// Requests that had to fit, or had a policy of their own: later ones show more again, and reasoning of the answers was signed for less.

import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../stores/memory/index.ts'
import { openThread, type Thread } from '../thread.ts'

const format = 'anthropic'
const long = 'A long report. '.repeat(200)

function user(text: string): object {
  return { role: 'user', content: [{ type: 'text', text }] }
}

function thought(name: string, ...blocks: readonly object[]): object {
  const thinking = { type: 'thinking', thinking: name, signature: `signed ${name}` }
  return { role: 'assistant', content: [thinking, ...blocks] }
}

function text(said: string): object {
  return { type: 'text', text: said }
}

/** A call and its long result. */
async function work(thread: Thread, id: string): Promise<void> {
  const call = { type: 'tool_use', id, name: 'read', input: {} }
  await thread.append([thought(id, call)], { format })
  const result = { type: 'tool_result', tool_use_id: id, content: long }
  await thread.append([{ role: 'user', content: [result] }], { format })
}

async function begin(): Promise<Thread> {
  const thread = await openThread({ id: 'thread', store: memoryStore() })
  await thread.append([user('Go.')], { format })
  await work(thread, 'one')
  await thread.append([thought('two', text('Read.')), user('And?')], { format })
  return thread
}

async function shown(thread: Thread): Promise<string> {
  return JSON.stringify((await thread.view({ format })).messages)
}

describe('an answer to a request that showed less than later ones', () => {
  it('[M11] loses its signed reasoning where the request had to fit', async () => {
    const thread = await begin()
    const fitted = await thread.view({ format, budget: 400 })
    expect(JSON.stringify(fitted.messages)).not.toContain(long)
    await thread.append([thought('three', text('So.')), user('Well?')], { format })
    const now = await shown(thread)
    expect(now).toContain(long)
    // None may be missing in the middle: what came before leaves with it.
    expect(now).not.toContain('signed')
    await thread.append([thought('four', text('Fine.')), user('Bye.')], { format })
    expect(await shown(thread)).toContain('signed four')
  })

  it('[M11] loses it where the request had a policy of its own', async () => {
    const thread = await begin()
    const policy = { toolResults: { strategy: 'dropAll', cutoff: 0 } } as const
    await thread.view({ format, policy })
    await thread.append([thought('three', text('So.')), user('Well?')], { format })
    expect(await shown(thread)).not.toContain('signed three')
  })

  it('[M11] loses it when the loop that it saw as a record is over', async () => {
    const thread = await begin()
    await work(thread, 'three')
    const fitted = await thread.view({ format, budget: 500 })
    expect(JSON.stringify(fitted.messages)).toContain('[Work of this turn so far')
    await work(thread, 'four')
    expect(await shown(thread)).toContain('[Work of this turn so far')
    await thread.append([thought('five', text('Done.')), user('Bye.')], { format })
    const now = await shown(thread)
    expect(now).not.toContain('[Work of this turn so far')
    expect(now).not.toContain('signed five')
  })

  it('[M11] keeps to its first place when it is said again', async () => {
    const thread = await begin()
    await thread.view({ format, budget: 400 })
    const answer = thought('three', text('So.'))
    const [first] = await thread.append([answer], { format })
    await thread.exclude(first?.id ?? '')
    await thread.append([answer, user('Well?')], { format })
    expect(await shown(thread)).not.toContain('signed three')
  })
})
