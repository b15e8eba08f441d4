// Settings in a thread's log that are not what their names say: who relies on one refuses it, and everybody else continues.

import { expect, it } from 'vitest'
import type { Entry, SettingEntry } from '../core/log/entry.ts'
import type { Json } from '../core/log/json.ts'
import { threadNumbers } from '../inspect/index.ts'
import { memoryStore } from '../stores/memory/index.ts'
import { eraseThread } from './erase.ts'
import { openThread, type Thread } from './thread.ts'

const key = { tenant: 'default', thread: 't' }
const question = { role: 'user', content: 'Where is order 42?' } as const
const history = [{ role: 'system', content: 'Be brief.' }, question]

/** A thread whose log continues with a setting that some other program wrote. */
async function poisoned(name: string, value: Json) {
  const store = memoryStore()
  const thread = await openThread({ id: key.thread, store })
  await thread.sync(history, { format: 'openai-chat' })
  await thread.view({ format: 'openai-chat', frame: { tools: [] } })
  const log = await thread.log()
  const { seq, at } = log.at(-1) as Entry
  const entry = { type: 'setting', id: `e${seq + 1}xx`, seq: seq + 1, at, name, value }
  await store.append(key, [entry as unknown as SettingEntry], seq)
  return { store, log }
}

type Work = (thread: Thread) => Promise<unknown>

const view: Work = (thread) => thread.view({ format: 'openai-chat' })

const refused: readonly (readonly [string, Json, Work])[] = [
  ['policy', 5, view],
  ['leading', [{ role: 'system', content: [5] }], view],
  ['leading', 'Be brief.', view],
  ['plugin-system', [{ type: 'text', text: null }], view],
  ['forked-from', { thread: 5 }, (thread) => thread.sync([question], { format: 'openai-chat' })],
]

it.each(refused)('[SE2] %s: %j is refused where it is relied on', async (name, value, work) => {
  const { store } = await poisoned(name, value)
  const use = async (): Promise<unknown> => work(await openThread({ id: key.thread, store }))
  await expect(use()).rejects.toMatchObject({ code: 'corrupt-entry' })
})

it('[SE2] a later setting of the same name takes its place', async () => {
  const { store } = await poisoned('leading', [5])
  const thread = await openThread({ id: key.thread, store })
  await expect(view(thread)).rejects.toMatchObject({ code: 'corrupt-entry' })
  const log = await thread.log()
  const { seq, at } = log.at(-1) as Entry
  const value = [{ role: 'system', content: 'Be kind.' }]
  const entry = { type: 'setting', id: `e${seq + 1}yy`, seq: seq + 1, at, name: 'leading', value }
  await store.append(key, [entry as unknown as SettingEntry], seq)
  const { messages } = await (await openThread({ id: key.thread, store })).view({
    format: 'openai-chat',
  })
  expect(messages).toEqual([{ role: 'system', content: 'Be kind.' }, question])
})

it.each([
  ['leading', [5]],
  ['forked-from', { thread: 5 }],
  ['fork/x', null],
  ['output-file/x', 5],
  ['policy', 'x'],
  ['of-the-future/1', { any: 'thing' }],
] as const)('[SE2] %s: %j stops neither numbers nor erasing', async (name, value) => {
  const { store, log } = await poisoned(name, value)
  const entries: Entry[] = []
  for await (const entry of store.read(key)) entries.push(entry)
  expect(threadNumbers(entries)).toEqual(threadNumbers(log))
  expect(await eraseThread({ store, id: key.thread })).toEqual({ threads: ['t'] })
})

it('[SE3] a name that this version does not know is kept, and changes nothing', async () => {
  const { store, log } = await poisoned('of-the-future/1', { any: 'thing' })
  const thread = await openThread({ id: key.thread, store })
  expect((await thread.view({ format: 'openai-chat' })).messages).toEqual(history)
  const kept = await thread.log()
  expect(kept.slice(0, log.length)).toEqual(log)
  expect(kept[log.length]).toMatchObject({ name: 'of-the-future/1', value: { any: 'thing' } })
})
