// What real clients resend, recorded (docs/decisions/0002-what-clients-resend.md), fed to `sync`: one thread for each recording, as if
// the client had named its session. A wrong join is never acceptable; what else is misjudged is counted.

import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { type FormatName, memoryStore, openThread } from '../src/index.ts'

interface Recording {
  readonly format: FormatName
  readonly requests: readonly { readonly body: Readonly<Record<string, unknown>> }[]
  readonly expected: readonly {
    readonly type: string
    readonly of?: number
    readonly at?: number
  }[]
}

const folder = new URL('./fixtures/clients/', import.meta.url)
const recordings = readdirSync(folder)
  .filter((file) => file.endsWith('.json'))
  .map((file) => ({
    name: file.replace('.json', ''),
    recording: JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as Recording,
  }))

/** Requests whose history the provider keeps cannot be synced: they send only what is new. */
function historyOf(
  format: FormatName,
  body: Readonly<Record<string, unknown>>,
): unknown[] | undefined {
  const isHeld =
    body.previous_response_id !== undefined ||
    body.thread !== undefined ||
    body.conversation !== undefined
  const list = format === 'openai-responses' ? body.input : body.messages
  if (isHeld || !Array.isArray(list)) return undefined
  return list.some((item) => (item as { type?: string }).type === 'item_reference')
    ? undefined
    : list
}

interface Counts {
  readonly right: number
  readonly wrongJoins: readonly string[]
  readonly missedJoins: readonly string[]
  readonly spuriousForks: readonly string[]
  /** Titles, summaries and the like that were written behind the conversation they are about. */
  readonly sideCalls: readonly string[]
}

async function replay(name: string, { format, requests, expected }: Recording): Promise<Counts> {
  const store = memoryStore()
  const places: (string | undefined)[] = []
  const counts = {
    right: 0,
    wrongJoins: [] as string[],
    missedJoins: [] as string[],
    spuriousForks: [] as string[],
    sideCalls: [] as string[],
  }
  for (const [index, { body }] of requests.entries()) {
    const history = historyOf(format, body)
    const label = expected[index]
    if (history === undefined || label === undefined) {
      places.push(undefined)
      continue
    }
    const root = await openThread({ id: 'session', store, now: () => index })
    const { thread, matched, appended, isForked } = await root.sync(history, { format })
    places.push(thread)
    const before = label.of === undefined ? undefined : places[label.of]
    const where = `${name} #${index}`
    if (label.type === 'extends' || label.type === 'retry') {
      if (before === undefined || thread === before) counts.right += 1
      else if (isForked) counts.spuriousForks.push(where)
      else counts.missedJoins.push(where)
    } else if (label.type === 'fork') {
      if (isForked || thread !== before) counts.right += 1
      else counts.wrongJoins.push(where)
    } else if (matched === 0 || isForked || appended === 0) counts.right += 1
    else if (label.type === 'other') counts.sideCalls.push(where)
    else counts.wrongJoins.push(where)
  }
  return counts
}

describe('what real clients resend', () => {
  it('[Y2] [Y3] is never joined to a conversation that it does not continue', async () => {
    const all = await Promise.all(recordings.map(({ name, recording }) => replay(name, recording)))
    const sum = (pick: (counts: Counts) => readonly string[]) =>
      all.flatMap((counts) => pick(counts))
    const result = {
      right: all.reduce((total, { right }) => total + right, 0),
      wrongJoins: sum(({ wrongJoins }) => wrongJoins),
      missedJoins: sum(({ missedJoins }) => missedJoins),
      spuriousForks: sum(({ spuriousForks }) => spuriousForks),
      sideCalls: sum(({ sideCalls }) => sideCalls),
    }
    // What it still misjudges is written down, so that a change for better or worse is seen: 521 of 533 right.
    expect(result).toEqual({
      right: 521,
      wrongJoins: [],
      missedJoins: [],
      // The AI SDK's screens rewrite a failure that OpenAI formats do not mark as one; two conversations under one id that begin alike; a
      // summary asked for in the conversation's own words, and what follows it.
      spuriousForks: [
        'ai-sdk-compatible-ui #4',
        'ai-sdk-openai-chat-ui #4',
        'ai-sdk-responses-unstored-ui #4',
        'openai-chat-twins #3',
        'qwen-code-summary-dropped #3',
        'qwen-code-summary-dropped #7',
      ],
      sideCalls: [
        'codex-compact #2',
        'qwen-code-summary-dropped #2',
        'qwen-code-summary-dropped #4',
        'qwen-code-summary-dropped #8',
        'qwen-code #10',
        'qwen-code #12',
      ],
    })
  })
})
