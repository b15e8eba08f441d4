import { describe, expect, it } from 'vitest'
import type { PolicyInput } from '../policy/schema.ts'
import { project } from '../project.ts'
import { memoryStore } from '../stores/memory/index.ts'
import { openThread } from '../thread/thread.ts'

const long = (n: number) => `Result ${n} ${'lorem ipsum dolor sit amet '.repeat(60)}`
const user = (text = 'go') => ({ role: 'user', content: text })
const call = (...ids: string[]) => ({
  role: 'assistant',
  content: 'working',
  tool_calls: ids.map((id) => ({
    id,
    type: 'function',
    function: { name: 'look', arguments: '{}' },
  })),
})
const result = (id: string, content: string) => ({ role: 'tool', tool_call_id: id, content })
const rounds = (count: number, content: (n: number) => string = long) =>
  Array.from({ length: count }, (_, n) => [call(`c${n}`), result(`c${n}`, content(n))]).flat()

/** The contents of tool messages, in order. */
const results = (messages: readonly object[], toolResults: object): string[] => {
  const policy = { toolResults: { cutoff: 0, ...toolResults } } as PolicyInput
  return project(messages as { role: string; content: unknown }[], policy)
    .messages.filter(({ role }) => role === 'tool')
    .map(({ content }) => String(content))
}
const omitted = (contents: readonly string[]) => contents.filter((c) => c === '[Omitted]').length

describe('which results stay full (document 004)', () => {
  it('[G1] the newest four of ten stay, six become placeholders, the structure is untouched', () => {
    const messages = [{ role: 'system', content: 'S' }, user(), ...rounds(10)]
    const policy = { toolResults: { max: 4, placeholder: 'plain', cutoff: 0 } } as const
    const { messages: sent } = project(messages, policy)
    expect(sent.map(({ role }) => role)).toEqual(messages.map(({ role }) => role))
    const contents = results(messages, { max: 4, placeholder: 'plain' })
    expect(omitted(contents)).toBe(6)
    expect(contents.slice(6)).toEqual([6, 7, 8, 9].map(long))
  })

  it('[G1] keeping one leaves the last', () => {
    const contents = results([user(), ...rounds(3)], {
      strategy: 'keepOne',
      placeholder: 'plain',
      max: 9,
    })
    expect(contents).toEqual(['[Omitted]', '[Omitted]', long(2)])
  })

  it('[G1] 0 keeps all, and so does keepAll', () => {
    const messages = [user(), ...rounds(3)]
    expect(results(messages, { max: 0 })).toEqual([0, 1, 2].map(long))
    expect(results(messages, { strategy: 'keepAll', max: 1 })).toEqual([0, 1, 2].map(long))
  })

  it('[G1] dropAll omits everything that the model has seen', () => {
    const seen = [user(), ...rounds(2), { role: 'assistant', content: 'done' }]
    expect(results(seen, { strategy: 'dropAll', placeholder: 'plain' })).toEqual([
      '[Omitted]',
      '[Omitted]',
    ])
    const unseen = [user(), ...rounds(2)]
    expect(results(unseen, { strategy: 'dropAll', placeholder: 'plain' })).toEqual([
      '[Omitted]',
      long(1),
    ])
  })

  it('[G1] success is told by the error flag, not by words', () => {
    const blocks = (n: number, isError: boolean) => ({
      role: 'user',
      content: [
        {
          type: 'tool_result',
          tool_use_id: `t${n}`,
          content: `error ${long(n)}`,
          is_error: isError,
        },
      ],
    })
    const use = (n: number) => ({
      role: 'assistant',
      content: [{ type: 'tool_use', id: `t${n}`, name: 'look', input: {} }],
    })
    const messages = [
      user(),
      use(0),
      blocks(0, true),
      use(1),
      blocks(1, false),
      use(2),
      blocks(2, false),
    ]
    const { trace } = project(
      messages,
      { toolResults: { strategy: 'keepSuccessful', cutoff: 0 } },
      { format: 'anthropic' },
    )
    expect(trace.map(({ index, form }) => [index, form])).toEqual([[2, 'omitted']])
  })

  it("[G1] [DA6] without an error flag, success is the host's word, else a field of the output", () => {
    const outputs = [
      JSON.stringify({ success: false, detail: long(0) }),
      JSON.stringify({ content: long(1), isError: true }),
      `{"success": false, ${long(2)}`,
      `error: "success": false ${long(3)}`,
      JSON.stringify({ success: true, detail: long(4) }),
    ]
    const messages = [
      user(),
      ...outputs.flatMap((output, n) => [call(`c${n}`), result(`c${n}`, output)]),
      { role: 'assistant', content: 'ok' },
      user(),
    ]
    const policy = { toolResults: { strategy: 'keepSuccessful', cutoff: 0 } } as const
    const failed = (options: object): readonly number[] =>
      project(messages, policy, options).trace.map(({ index }) => (index - 2) / 2)
    expect(failed({})).toEqual([0, 1])
    const success = ({ text }: { readonly text: string }): boolean => !text.startsWith('error')
    expect(failed({ success })).toEqual([3])
  })

  it('[G1] parallel results that the model has not seen are never omitted', () => {
    const messages = [
      user(),
      ...rounds(2),
      call('x', 'y', 'z'),
      ...['x', 'y', 'z'].map((id, n) => result(id, long(n))),
    ]
    const contents = results(messages, { max: 1, placeholder: 'plain' })
    expect(contents).toEqual(['[Omitted]', '[Omitted]', long(0), long(1), long(2)])
  })

  it('[G2] an informative placeholder says what is gone and how to get it back', () => {
    const json = JSON.stringify({
      order: 'ORD-1234',
      items: Array.from({ length: 90 }, (_, n) => n),
      note: 'x'.repeat(400),
    })
    const [first] = results([user(), ...rounds(2, () => json)], { max: 1 })
    expect(first).toMatch(
      /^\[Omitted: look result, \d+ characters, JSON with order, items, note with ORD-1234; expand e\w+\]$/,
    )
  })

  it('[G2] a short result is not replaced by something longer', () => {
    expect(results([user(), ...rounds(3, () => 'ok')], { max: 1 })).toEqual(['ok', 'ok', 'ok'])
  })
})

describe('beyond the cutoff (document 003)', () => {
  it('[G3] the oldest results become summaries in place', () => {
    const contents = results([user(), ...rounds(3)], {
      strategy: 'keepAll',
      cutoff: 1,
      summary: 'heuristic',
    })
    expect(contents[0]).toMatch(/^Tool "look" finished with status ok\. Output excerpt:\nResult 0 /)
    expect(contents[0]).toMatch(/\.\.\. \(truncated\) \.\.\.[\s\S]*\[expand e\w+\]$/)
    expect(contents[0]?.length).toBeLessThan(long(0).length)
    expect(contents[2]).toBe(long(2))
  })

  it('[G3] off and 0 leave them; a model that is not there acts as the heuristic', () => {
    const messages = [user(), ...rounds(3)]
    expect(results(messages, { cutoff: 1, summary: 'off' })).toEqual([0, 1, 2].map(long))
    expect(results(messages, { cutoff: 0, summary: 'heuristic' })).toEqual([0, 1, 2].map(long))
    expect(results(messages, { cutoff: 1 })[0]).toMatch(/^Tool "look"/)
  })
})

describe('pictures', () => {
  it('[G4] only the newest messages keep theirs', () => {
    const picture = (n: number) => ({
      role: 'user',
      content: [
        { type: 'text', text: `look ${n}` },
        { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(40)}${n}` } },
      ],
    })
    const messages = [
      picture(1),
      { role: 'assistant', content: 'a' },
      picture(2),
      { role: 'assistant', content: 'b' },
      picture(3),
    ]
    const { messages: sent } = project(messages, {
      toolResults: { strategy: 'keepAll', maxImages: 1, cutoff: 0 },
    })
    const kinds = sent.flatMap(({ content }) =>
      Array.isArray(content) ? [content.map((part: { type: string }) => part.type).join('+')] : [],
    )
    expect(kinds).toEqual(['text+text', 'text+text', 'text+image_url'])
  })

  it('[G5] beyond maxImageBytes the oldest pictures become references, fed at once or one by one', async () => {
    const picture = (bytes: number) => ({
      role: 'user',
      content: [
        { type: 'text', text: `${bytes}` },
        { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(bytes)}` } },
      ],
    })
    const said = { role: 'assistant', content: 'Seen.' }
    const messages = [picture(400), said, picture(100), said, picture(800), said, picture(40)]
    const policy = { toolResults: { strategy: 'keepAll', maxImageBytes: 900, cutoff: 0 } } as const
    const { messages: sent, trace } = project(messages, policy)
    const shown = sent.flatMap(({ content }) =>
      Array.isArray(content) ? [content.map((part: { type: string }) => part.type).join('+')] : [],
    )
    expect(shown).toEqual(['text+text', 'text+text', 'text+image_url', 'text+image_url'])
    expect(trace.map(({ reason }) => reason)).toEqual([
      'pictures have more than 900 bytes from here on',
      'pictures have more than 900 bytes from here on',
    ])
    const thread = await openThread({ id: 't', store: memoryStore(), policy })
    for (const message of messages) {
      await thread.append([message], { format: 'openai-chat' })
      await thread.view({ format: 'openai-chat' })
    }
    const fed = await thread.view({ format: 'openai-chat' })
    const kinds = JSON.stringify(fed.messages).match(/"type":"image_url"/g)
    expect(kinds).toHaveLength(2)
    expect(JSON.stringify(fed.messages)).toMatch(/\[Image omitted; expand \w+\]/)
  })
})
