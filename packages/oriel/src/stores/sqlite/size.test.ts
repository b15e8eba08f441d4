// What a store needs on the disk for each byte of content.

import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { describeRecorded, type RecordedMessage } from '../../../../../scripts/recorded.ts'
import type { Block } from '../../core/log/block.ts'
import type { Entry, EntryId } from '../../core/log/entry.ts'
import { messageAt } from '../../testing/store-suite-data.ts'
import { openThread } from '../../thread/thread.ts'
import { sqliteStore } from './index.ts'

process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), 'oriel-compile-cache')

let directory = ''

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'oriel-size-'))
})
afterEach(() => rmSync(directory, { recursive: true }))

/** Appends the threads in turns of two entries, as concurrent conversations would; gives bytes on disk per byte of content. */
async function diskRatio(threads: readonly (readonly Entry[])[]): Promise<number> {
  const store = sqliteStore(join(directory, 'store.db'))
  const longest = Math.max(...threads.map((entries) => entries.length))
  for (let from = 0; from < longest; from += 2) {
    await Promise.all(
      threads.map(async (entries, index) => {
        const next = entries.slice(from, from + 2)
        if (next.length > 0)
          await store.append({ tenant: 'acme', thread: `t-${index}` }, next, from)
      }),
    )
  }
  const infos = await store.list('acme', { limit: 1000 })
  const payload = infos.reduce((sum, info) => sum + info.bytes, 0)
  await store.close()
  const disk = readdirSync(directory).reduce(
    (sum, name) => sum + statSync(join(directory, name)).size,
    0,
  )
  return disk / payload
}

it('generated conversations need at most twice their size', async () => {
  // Lengths of real messages, from the shortest to the longest tenth; as counted over recorded conversations.
  const lengths = [20, 60, 90, 150, 220, 330, 500, 900, 1900, 7000]
  const threads = Array.from({ length: 20 }, (_, thread) =>
    Array.from({ length: 60 }, (_, index) => {
      const length = lengths[(index * 7 + thread) % lengths.length] ?? 0
      return messageAt(index + 1, `${thread} ${index} ${'some words of text '.repeat(length / 19)}`)
    }),
  )
  expect(await diskRatio(threads)).toBeLessThan(2)
})

/** The words of agents' conversations, in an order that looks like chance and is always the same. */
function wordsOf(seed: number, count: number): string {
  const list =
    'file error return value src/index.ts 404 build failed retry config status order user_17 total then because reads asks'
  const all = list.split(' ')
  let state = seed + 1
  const next = (): string => {
    state = (state * 48_271) % 2_147_483_647
    return `${all[state % all.length]}${state % 5 === 0 ? state % 1000 : ''}`
  }
  return Array.from({ length: count }, next).join(' ')
}

/** A question and its answer, in which every fifth word is one that nothing else has: the index keeps each of them. */
const chat = (step: number): readonly Message[] => [
  { role: 'user', content: `Step ${step}: ${wordsOf(step, 120)}` },
  { role: 'assistant', content: wordsOf(step * 31, 160) },
]

/** A step of an agent: a call and its result, and every fourth time a question before it. */
const agent = (step: number): readonly Message[] => {
  const id = `call_${step}`
  const words = (seed: number, count: number): string =>
    wordsOf(seed, count).replaceAll(/\d{3}/g, '')
  const call = { name: 'search', arguments: JSON.stringify({ query: words(step, 16) }) }
  return [
    ...(step % 4 === 0 ? [{ role: 'user', content: words(step * 7, 30) }] : []),
    { role: 'assistant', content: null, tool_calls: [{ id, type: 'function', function: call }] },
    { role: 'tool', tool_call_id: id, content: words(step * 31, 200) },
  ]
}

type Message = Readonly<Record<string, unknown>>

it.each([
  ['a window', chat, { history: { policy: 'lastN', length: 10 } }, 1.6],
  ['checkpoints of an agent', agent, 'recommended', 1.6],
  ['checkpoints of a chat', chat, 'recommended', 2.2],
] as const)(
  '[SQ6] a thread with a view at every step, indexed, and %s needs few bytes for each byte of its messages',
  async (_, messagesOf, policy, most) => {
    const store = sqliteStore(join(directory, 'store.db'))
    const thread = await openThread({ id: 'steps', store, policy })
    let payload = 0
    for (let step = 0; step < 400; step++) {
      const messages = messagesOf(step)
      payload += messages.reduce((sum, one) => sum + Buffer.byteLength(JSON.stringify(one)), 0)
      await thread.append(messages, { format: 'openai-chat' })
      await thread.view()
    }
    // Whatever is not indexed yet is now.
    await thread.search('retry the total')
    await store.close()
    expect(statSync(join(directory, 'store.db')).size / payload).toBeLessThan(most)
  },
)

/** An edit of a rule, with a long text. */
function editAt(seq: number, rule: string, text: string): Entry {
  return {
    ...{
      rule,
      form: 'dropped',
      target: { ranges: [[1, 1]] },
      text,
      reason: 'the limit is reached',
    },
    ...{
      tokensBefore: 9000,
      tokensAfter: 3000,
      type: 'edit',
      id: `e${seq}` as EntryId,
      seq,
      at: 0,
    },
    epoch: `p${seq}`,
  }
}

it('[SQ6] a checkpoint is kept as what differs from the one before it, whatever long edits stand between them', async () => {
  const lines = Array.from({ length: 200 }, (_, index) => wordsOf(index, 12))
  const checkpoints = Array.from({ length: 30 }, (_, index) => lines.slice(index, index + 150))
  const entries = checkpoints.flatMap((shown, index): Entry[] => [
    editAt(3 * index + 1, 'compaction', shown.join('\n')),
    editAt(3 * index + 2, 'deduplication', wordsOf(1000 + index, 2000)),
    editAt(3 * index + 3, 'toolOutput', wordsOf(2000 + index, 2000)),
  ])
  const others = entries.filter((_, index) => index % 3 > 0)
  const sizeOf = async (name: string, all: readonly Entry[]): Promise<number> => {
    const store = sqliteStore(join(directory, name))
    for (const [index, entry] of all.entries()) {
      await store.append({ tenant: 'acme', thread: 't' }, [{ ...entry, seq: index + 1 }], index)
    }
    await store.close()
    return statSync(join(directory, name)).size
  }
  const whole = checkpoints.reduce((sum, shown) => sum + shown.join('\n').length, 0)
  const added = (await sizeOf('all.db', entries)) - (await sizeOf('others.db', others))
  expect(added).toBeLessThan(whole / 8)
})

describeRecorded('recorded conversations', ({ files }) => {
  it('need at most twice their size', async () => {
    const threads = files
      .flatMap((file) => file.conversations())
      .map(({ messages }) => messages.map((message, index) => entryOf(message, index + 1)))
    expect(await diskRatio(threads)).toBeLessThan(2)
  })
})

/** Roughly the entry that the format would make of it: the size is what matters here. */
function entryOf(message: RecordedMessage, seq: number): Entry {
  const { role, content, tool_call_id: callId = '', tool_calls: calls = [] } = message
  const text = typeof content === 'string' ? content : JSON.stringify(content ?? '')
  const first: Block =
    role === 'tool' ? { type: 'tool-result', callId, content: text } : { type: 'text', text }
  const blocks = calls.map(
    (call): Block => ({
      type: 'tool-call',
      callId: call.id,
      name: call.function.name,
      arguments: call.function.arguments,
    }),
  )
  const id = `e${seq}` as EntryId
  return { ...messageAt(seq, ''), id, role, origin: role, blocks: [first, ...blocks] }
}
