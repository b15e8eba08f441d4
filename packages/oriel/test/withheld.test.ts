// What models may not read (people-only, for one request only, excluded, not preserved) is in no view and in no text that derives from
// the log.

import { describe, expect, it } from 'vitest'
import {
  type Audience,
  type Block,
  memoryStore,
  openThread,
  presets,
  type Store,
  type Summarize,
  type Thread,
} from '../src/index.ts'

const secret = 'SECRET_4711_x'
const people: Audience = { now: false, later: false }
const nowOnly: Audience = { later: false }
const filler = (name: string): string =>
  Array.from({ length: 60 }, (_, n) => `${name} line ${n} of src/${name}/file_${n}.ts`).join('\n')

interface Call {
  readonly type: 'tool-call'
  readonly callId: string
  readonly name: string
  readonly arguments: string
}

function call(callId: string, args = '{"path":"src/a.ts"}'): Call {
  return { type: 'tool-call', callId, name: 'read', arguments: args }
}

interface ResultFields {
  readonly audience?: Audience
}

function result(
  callId: string,
  content: string | readonly Block[],
  more: ResultFields = {},
): Block {
  return { type: 'tool-result', callId, content, ...more }
}

function text(said: string, audience?: Audience): Block {
  return { type: 'text', text: said, ...(audience === undefined ? {} : { audience }) }
}

type Messages = Parameters<Thread['append']>[0]

/** Enough talk after what matters for it to be folded. */
async function talkOn(thread: Thread): Promise<void> {
  for (let round = 0; round < 6; round++) {
    await thread.append([
      { role: 'assistant', content: [call(`x${round}`)] },
      { role: 'tool', content: [result(`x${round}`, filler(`round_${round}`))] },
    ])
  }
  await thread.append([
    { role: 'assistant', content: 'Done.' },
    { role: 'user', content: 'And now?' },
  ])
}

async function open(store: Store = memoryStore(), summarize?: Summarize): Promise<Thread> {
  const compaction = { ...presets.recommended.compaction, keepRecentTokens: 200 }
  const policy = { ...presets.recommended, compaction }
  const own = summarize === undefined ? {} : { summarize }
  const thread = await openThread({ id: 'thread', store, policy, ...own })
  await thread.append([{ role: 'user', content: 'The goal.' }])
  return thread
}

/** Everything that a model could be told of a thread now. */
async function told(thread: Thread): Promise<string> {
  const parts: unknown[] = []
  for (const format of ['openai-chat', 'openai-responses', 'anthropic'] as const) {
    parts.push(await thread.view({ format }))
  }
  // Where a checkpoint is above the budget, the request is refused.
  parts.push(await thread.view({ budget: 2000 }).catch((error: unknown) => error))
  for await (const message of thread.read()) parts.push(message)
  for await (const entry of thread.log()) {
    if (entry.type === 'message' || entry.type === 'edit') parts.push(await thread.expand(entry.id))
  }
  return JSON.stringify(parts)
}

const hidden: readonly (readonly [string, Messages])[] = [
  ['a message for people', [{ role: 'user', origin: 'host', content: secret, audience: people }]],
  [
    'a block for people',
    [{ role: 'user', origin: 'host', content: [text('Seen.'), text(secret, people)] }],
  ],
  [
    'a result for people',
    [
      { role: 'assistant', content: [call('a')] },
      { role: 'tool', content: [result('a', secret, { audience: people })] },
    ],
  ],
  [
    'a message with a result for people',
    [
      { role: 'assistant', content: [call('a')] },
      { role: 'tool', audience: people, content: [result('a', secret)] },
    ],
  ],
  [
    'a result for one request',
    [
      { role: 'assistant', content: [call('a')] },
      { role: 'tool', content: [result('a', secret, { audience: nowOnly })] },
    ],
  ],
  [
    'a block for people inside a result',
    [
      { role: 'assistant', content: [call('a')] },
      { role: 'tool', content: [result('a', [text('Seen.'), text(secret, people)])] },
    ],
  ],
  [
    'a block for one request inside a result',
    [
      { role: 'assistant', content: [call('a')] },
      { role: 'tool', content: [result('a', [text('Seen.'), text(secret, nowOnly)])] },
    ],
  ],
  [
    'the only block of a result, for people',
    [
      { role: 'assistant', content: [call('a')] },
      { role: 'tool', content: [result('a', [text(secret, people)])] },
    ],
  ],
  [
    'a call for people',
    [
      {
        role: 'assistant',
        content: [{ ...call('a', `{"path":"src/${secret}.ts"}`), audience: people }],
      },
      { role: 'tool', content: [result('a', 'Done.')] },
    ],
  ],
  [
    'a text for people in an answer',
    [{ role: 'assistant', content: [text('Yes.'), text(secret, people)] }],
  ],
]

const sections = ['Goal', 'Constraints', 'Progress', 'Decisions', 'Next steps', 'Critical context']

/** Quotes all that it was given. */
function quoting(inputs: string[] = []): Summarize {
  return ({ text: given, kind }) => {
    inputs.push(given)
    const quoted = given.includes(secret) ? `Knows ${secret}.` : 'Knows nothing.'
    const answer = sections.map((title) => `## ${title}\n${quoted}`).join('\n')
    return Promise.resolve(kind === 'checkpoint' ? answer : quoted)
  }
}

describe('what is not for models', () => {
  it.each(hidden)('[PR1] is in no later text: %s', async (_, messages) => {
    const inputs: string[] = []
    const thread = await open(memoryStore(), quoting(inputs))
    await thread.append(messages)
    await talkOn(thread)
    expect(await told(thread)).not.toContain(secret)
    const { tokensSaved } = await thread.compact()
    expect(tokensSaved).toBeGreaterThan(0)
    expect(await told(thread)).not.toContain(secret)
    expect(inputs.length).toBeGreaterThan(0)
    expect(inputs.join('\n')).not.toContain(secret)
  })

  it.each([
    ['a result', result('a', secret, { audience: nowOnly })],
    ['a block inside a result', result('a', [text('Seen.'), text(secret, nowOnly)])],
  ])(
    '[PR1] is shown in the request that it is for, and its leaving changes nothing before it: %s',
    async (_, block) => {
      const thread = await openThread({ store: memoryStore() })
      await thread.append([
        { role: 'user', content: 'go' },
        { role: 'assistant', content: [call('a')] },
        { role: 'tool', content: [block] },
      ])
      const now = (await thread.view()).messages
      expect(JSON.stringify(now.at(-1))).toContain(secret)
      await thread.append([{ role: 'assistant', content: 'ok' }])
      const later = (await thread.view()).messages
      expect(later.slice(0, 3)).toEqual(now.slice(0, 3))
      expect(JSON.stringify(later)).not.toContain(secret)
    },
  )

  it('[PR1] leaves the answer of a call in its place, and says so in the trace', async () => {
    const thread = await openThread({ store: memoryStore() })
    const mixed = [text('Seen.'), text(secret, people)]
    await thread.append([
      { role: 'user', content: 'go' },
      { role: 'assistant', content: [call('a'), call('b')] },
      { role: 'tool', content: [result('a', secret, { audience: people }), result('b', mixed)] },
      { role: 'assistant', content: 'ok' },
    ])
    const { messages, trace } = await thread.view({ format: 'openai-chat' })
    expect(messages.slice(2, 4)).toEqual([
      { role: 'tool', tool_call_id: 'a', content: '[Omitted: not for the model]' },
      { role: 'tool', tool_call_id: 'b', content: 'Seen.' },
    ])
    expect(trace).toMatchObject([
      { form: 'omitted', rule: 'audience', canExpand: false },
      { form: 'clipped', rule: 'audience', canExpand: true },
    ])
    expect(await thread.expand(trace[1]?.id ?? '')).toEqual({ ok: true, text: 'Seen.' })
  })
})

describe('an excluded message', () => {
  const secrets: readonly (readonly [string, Messages, number])[] = [
    ['a user message', [{ role: 'user', content: `My key is ${secret}.` }], 0],
    [
      'a result',
      [
        { role: 'assistant', content: [call('a')] },
        { role: 'tool', content: [result('a', `The key is ${secret}.`)] },
      ],
      1,
    ],
    [
      'a call',
      [
        { role: 'assistant', content: [call('a', `{"path":"src/${secret}.ts"}`)] },
        { role: 'tool', content: [result('a', 'Done.')] },
      ],
      0,
    ],
  ]

  it.each(secrets)(
    '[PR2] leaves a checkpoint that was made from it at once: %s',
    async (_, messages, at) => {
      for (const summarize of [undefined, quoting()]) {
        const store = memoryStore()
        const thread = await open(store, summarize)
        const added = await thread.append(messages)
        await talkOn(thread)
        await thread.compact()
        const before = await thread.view()
        const id = added[at]?.id ?? ''
        // A user message stays beside a memory as it was written.
        expect(JSON.stringify(before.messages)).toContain(secret)
        await thread.exclude(id)
        expect(await told(thread)).not.toContain(secret)
        const reopened = await openThread({ id: 'thread', store })
        expect(await told(reopened)).not.toContain(secret)
        const last = (await thread.log()).at(-1)?.seq ?? 0
        expect(await told(await thread.fork(last))).not.toContain(secret)
        // Folding on does not bring it back.
        await talkOn(thread)
        await thread.compact()
        expect(await told(thread)).not.toContain(secret)
      }
    },
  )

  it('[PR2] comes back word for word when it is included again, and undo takes back what it took back before', async () => {
    const thread = await open(memoryStore(), quoting())
    const [, added] = await thread.append([
      { role: 'assistant', content: [call('a')] },
      { role: 'tool', content: [result('a', `The key is ${secret}.`)] },
    ])
    await talkOn(thread)
    const unfolded = await thread.view({ dryRun: true })
    await thread.compact()
    const before = await thread.view()
    await thread.exclude(added?.id ?? '')
    expect((await thread.view()).messages).not.toEqual(before.messages)
    await thread.exclude(added?.id ?? '', { excluded: false })
    expect((await thread.view()).messages).toEqual(before.messages)
    const checkpoint = (await thread.log()).findLast(
      (entry) => entry.type === 'edit' && 'ranges' in entry.target && entry.text !== undefined,
    )
    await thread.undo(checkpoint?.id ?? '')
    expect((await thread.view()).messages).toEqual(unfolded.messages)
  })

  it('[PR2] is not read by a summary that goes on, and the summary is made anew from the rest', async () => {
    const inputs: string[] = []
    const thread = await open(memoryStore(), quoting(inputs))
    const [, added] = await thread.append([
      { role: 'assistant', content: [call('a')] },
      { role: 'tool', content: [result('a', `The key is ${secret}.`)] },
    ])
    await talkOn(thread)
    await thread.compact()
    expect(inputs.at(-1)).toContain(secret)
    await thread.exclude(added?.id ?? '')
    await talkOn(thread)
    await thread.compact()
    expect(inputs.at(-1)).not.toContain(secret)
    expect(inputs.at(-1)).toContain('round_0 line 0')
    expect(inputs.at(-1)).not.toContain('the summary so far')
  })

  it('[PR2] is not expanded for a model', async () => {
    const thread = await open()
    const [added] = await thread.append([{ role: 'user', content: secret }])
    await thread.exclude(added?.id ?? '')
    expect(await thread.expand(added?.id ?? '')).toEqual({
      ok: false,
      reason:
        'Not expanded: it is not expandable: it was excluded. Do not request this expansion again.',
    })
  })
})

describe('an original that was not preserved', () => {
  const expiry = {
    tools: { '*': { after: 1, mode: 'remove' } },
    kinds: { note: { after: 0, unit: 'turns', mode: 'remove' } },
    preserveOriginals: false,
  } as const

  async function expired(views: boolean, summarize?: Summarize): Promise<Thread> {
    const policy = { expiry, compaction: { auto: false, keepRecentTokens: 200 }, memory: {} }
    const own = summarize === undefined ? {} : { summarize }
    const thread = await openThread({ id: 'thread', store: memoryStore(), policy, ...own })
    await thread.append([
      { role: 'user', content: 'The goal.' },
      { role: 'user', origin: 'host', kind: 'note', content: `A note: ${secret}.` },
      { role: 'assistant', content: [call('a')] },
      { role: 'tool', content: [result('a', `${secret} ${filler('a')}`)] },
    ])
    if (views) await thread.view()
    await talkOn(thread)
    if (views) await thread.view()
    return thread
  }

  it.each([true, false])(
    '[PR3] is in no derived text, whether a view came before: %s',
    async (views) => {
      const inputs: string[] = []
      const thread = await expired(views, quoting(inputs))
      await thread.compact()
      expect(await told(thread)).not.toContain(secret)
      expect(inputs.join('\n')).not.toContain(secret)
    },
  )

  it('[PR3] is not shown again by undo, of the edit or of its epoch, nor by a pin', async () => {
    const thread = await expired(true)
    const final = (await thread.log()).filter(
      (entry) => entry.type === 'edit' && entry.isFinal === true,
    )
    expect(final.length).toBeGreaterThan(1)
    for (const edit of final) {
      await expect(thread.undo(edit.id)).rejects.toMatchObject({ code: 'cannot-undo' })
      if (edit.type !== 'edit') continue
      await expect(thread.undo(edit.epoch)).rejects.toMatchObject({ code: 'cannot-undo' })
    }
    for (const entry of await thread.log()) {
      if (entry.type === 'message') await thread.pin(entry.id)
    }
    expect(await told(thread)).not.toContain(secret)
  })
})
