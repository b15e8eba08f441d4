// What counts as a summary, seen through a thread: the answer of `summarize` is either shown or replaced by the deterministic form.

import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../stores/memory/index.ts'
import type { ThreadEvent } from '../events.ts'
import { openThread } from '../thread.ts'
import type { SummaryResult } from './answer.ts'

const user = (content: string) => ({ role: 'user', content })
const exchange = (n: number) => [
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: `c${n}`, type: 'function', function: { name: 'look', arguments: '{}' } }],
  },
  { role: 'tool', tool_call_id: `c${n}`, content: `Result ${n} ${'lorem ipsum '.repeat(200)}` },
]

interface Seen {
  /** The old results as the model sees them. */
  readonly shown: readonly string[]
  readonly failed: readonly ThreadEvent[]
}

/** The results that `summarize` was asked about, in one call. */
async function summarized(answer: SummaryResult, results = 1): Promise<Seen> {
  const events: ThreadEvent[] = []
  const thread = await openThread({
    store: memoryStore(),
    policy: { toolResults: { strategy: 'keepAll', cutoff: 1 } },
    summarize: async () => answer,
    on: (event) => events.push(event),
  })
  const turns = Array.from({ length: results + 1 }, (_, n) => exchange(n)).flat()
  await thread.append([user('go'), ...turns], { format: 'openai-chat' })
  const { messages } = await thread.view<{ role: string; content: string }>()
  const shown = messages.flatMap(({ role, content }) => (role === 'tool' ? [content] : []))
  return {
    shown: shown.slice(0, results),
    failed: events.filter(({ type }) => type === 'job-failed'),
  }
}

/** A part of the heuristic's text. */
const deterministic = 'finished with status ok. Output excerpt:'

const good: readonly (readonly [string, SummaryResult, string])[] = [
  ['a plain text', 'Found 3 files.', 'Found 3 files.'],
  ['an object', { summary: 'Found 3 files.' }, 'Found 3 files.'],
  [
    'an object that says how it ended',
    { summary: 'Found 3.', finishReason: 'end_turn' },
    'Found 3.',
  ],
  ["a server's own word for the end", { summary: 'Found 3.', finishReason: 'eos' }, 'Found 3.'],
  ['a finish reason of null', { summary: 'Found 3.', finishReason: null } as never, 'Found 3.'],
  ['JSON', '{"summary": "Found 3 files."}', 'Found 3 files.'],
  ['JSON with other fields', '{"confidence": 1, "summary": "Found 3."}', 'Found 3.'],
  ['JSON with an error that is null', '{"summary": "Found 3.", "error": null}', 'Found 3.'],
  ['fenced JSON', '```json\n{"summary": "Found 3 files."}\n```', 'Found 3 files.'],
  ['JSON in an open fence', '```json\n{"summary": "Found 3 files."}', 'Found 3 files.'],
  ['a fenced text', '```\nFound 3 files.\n```', 'Found 3 files.'],
  ['words before JSON', 'Here is the summary:\n{"summary": "Found 3."}', 'Found 3.'],
  ['words around JSON', 'Sure! {"summary": "Found 3."} Anything else?', 'Found 3.'],
  ['words around fenced JSON', 'Sure:\n```json\n{"summary": "Found 3."}\n```\nDone.', 'Found 3.'],
  ['JSON in JSON', { summary: '{"summary": "{\\"summary\\": \\"Found 3.\\"}"}' }, 'Found 3.'],
  ['a quoted text', '"Found 3 files."', 'Found 3 files.'],
  ['braces and quotes in JSON', '{"summary": "Found \\"}\\" and {."}', 'Found "}" and {.'],
  ['a text about JSON', 'It returned {"ok": true}.', 'It returned {"ok": true}.'],
  ['a text about an error', 'It failed: {"error": "404"}', 'It failed: {"error": "404"}'],
  [
    'a long text that quotes JSON',
    `${'The tool was asked again. '.repeat(10)}It answers {"summary": "text"} now.`,
    'It answers {"summary": "text"} now.',
  ],
  ['a text in brackets', '[3 files were found]', '[3 files were found]'],
  ['a template', '{name} is replaced by the name.', '{name} is replaced by the name.'],
]

const bad: readonly (readonly [string, SummaryResult])[] = [
  ['an error as JSON', '{"error": {"message": "overloaded"}}'],
  ['an error as an object', { error: 'overloaded' } as never],
  ['an error beside a summary', { summary: 'Found 3.', error: 'overloaded' } as never],
  ['an error beside a summary as JSON', '{"summary": "Found 3.", "error": "partial"}'],
  ['an error with words behind it', '{"error": "overloaded"}\nPlease try again.'],
  ['a refusal as JSON', '{"refusal": "I cannot help with that."}'],
  ['a refusal beside a summary', { summary: 'No.', refusal: 'I cannot.' } as never],
  ['JSON that is cut off', '{"summary": "Fou'],
  ['JSON that is cut off after its text', '{"summary": "Found 3 files."'],
  ['fenced JSON that is cut off', '```json\n{"summary": "Fou'],
  ['words before JSON that is cut off', 'Here is the summary: {"summary": "Fou'],
  ['JSON without a summary', '{"result": "Found 3 files."}'],
  ['JSON whose summary is no text', '{"summary": {"files": 3}}'],
  ['JSON with single quotes', "{'summary': 'Found 3 files.'}"],
  ['several JSON objects', '{"summary": "Found 3."} {"summary": "Found 4."}'],
  ['a list', '["Found 3 files."]'],
  ['a list that is cut off', '[{"summary": "Found'],
  ['an empty text', ''],
  ['white space', ' \n\t '],
  ['an empty summary', { summary: '' }],
  ['an empty summary as JSON', '{"summary": "  "}'],
  ['an empty fence', '```json\n```'],
  ['dots', '...'],
  ['null as a text', 'null'],
  ['undefined as a text', 'undefined'],
  ['an object as a text', '[object Object]'],
  ['null', null as never],
  ['undefined', undefined as never],
  ['a number', 42 as never],
  ['an array', ['Found 3 files.'] as never],
  ['another object', { text: 'Found 3 files.' } as never],
  ['a tool call', '<tool_call>{"name": "look"}</tool_call>'],
  ['a tool call as JSON', '{"tool_calls": [{"name": "look"}]}'],
  ...[
    'length',
    'LENGTH',
    'max_tokens',
    'MAX_TOKENS',
    'max-output-tokens',
    'model_length',
    'model_context_window_exceeded',
    'content_filter',
    'content-filter',
    'SAFETY',
    'RECITATION',
    'refusal',
    'guardrail_intervened',
    'tool_calls',
    'tool_use',
    'function_call',
    'pause_turn',
    'incomplete',
    'error',
    'cancelled',
  ].map((finishReason): readonly [string, SummaryResult] => [
    `a completion that ended with ${finishReason}`,
    { summary: 'Found 3 fi', finishReason },
  ]),
]

describe('an answer of `summarize`', () => {
  it.each(good)('[M3] is taken: %s', async (_, answer, text) => {
    const { shown, failed } = await summarized(answer)
    expect(failed).toEqual([])
    expect(shown[0]).toMatch(/^\[Tool output summary\]/)
    expect(shown[0]?.split('\n').slice(3, -1).join('\n')).toContain(text)
    if (text.length < 30) expect(shown[0]?.split('\n').slice(3, -1)).toEqual([text])
  })

  it.each(bad)('[M3] is not taken: %s', async (_, answer) => {
    const { shown, failed } = await summarized(answer)
    expect(shown[0]).toContain(deterministic)
    expect(failed).toMatchObject([{ error: 'unusable-answer' }])
  })

  it('[M3] with several summaries is read part by part', async () => {
    const parts = ['{"summary": "Found 0."}', '{"summary": "Fou', '', 'Found 3.']
    const answer = parts.map((part, index) => `=== ${index + 1} ===\n${part}`).join('\n')
    const { shown, failed } = await summarized(answer, 4)
    expect(shown.map((text) => text.includes(deterministic))).toEqual([false, true, true, false])
    expect(shown[0]).toContain('\nFound 0.\n')
    expect(shown[3]).toContain('\nFound 3.\n')
    expect(failed).toHaveLength(2)
  })

  it('[M3] with several summaries in one JSON object is divided', async () => {
    const summary = '=== 1 ===\nFound 0.\n=== 2 ===\nFound 1.'
    const { shown, failed } = await summarized(JSON.stringify({ summary }), 2)
    expect(failed).toEqual([])
    expect(shown[1]).toContain('\nFound 1.\n')
  })

  it.each([
    '{"error": "overloaded"}',
    '{"summary": "## Goal\\nWork',
    { summary: '## Goal', finishReason: 'length' },
  ])(
    '[M9] that is no summary leaves the digest of a checkpoint, with an event: %j',
    async (answer) => {
      const events: ThreadEvent[] = []
      const thread = await openThread({
        store: memoryStore(),
        policy: { compaction: { maxTokens: 600, keepRecentTokens: 100, keepRecent: 2 } },
        summarize: async () => answer,
        on: (event) => events.push(event),
      })
      const turns = Array.from({ length: 8 }, (_, n) => [
        user(`Question ${n} ${'lorem ipsum '.repeat(50)}`),
        { role: 'assistant', content: 'Yes.' },
      ])
      await thread.append([...turns.flat(), user('And now?')], { format: 'openai-chat' })
      const { messages } = await thread.view()
      const failed = events.filter(({ type }) => type === 'job-failed')
      expect(failed).toMatchObject([{ error: 'unusable-answer' }])
      expect(JSON.stringify(messages)).not.toContain('overloaded')
      expect(messages.length).toBeLessThan(17)
    },
  )
})
