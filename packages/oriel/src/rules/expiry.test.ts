import { describe, expect, it } from 'vitest'
import { project } from '../project.ts'
import { validate } from '../providers/registry.ts'
import type { ExpirySettings } from './expiry.ts'

const text = (tool: string) => `${tool}: ${'found a line of output '.repeat(80)}`
const user = { role: 'user', content: 'go' }
const call = (id: string, ...tools: string[]) => ({
  role: 'assistant',
  content: null,
  tool_calls: tools.map((name, n) => ({
    id: `${id}${n}`,
    type: 'function',
    function: { name, arguments: '{}' },
  })),
})
const result = (id: string, tool: string) => ({
  role: 'tool',
  tool_call_id: id,
  content: text(tool),
})
const step = (id: string, ...tools: string[]) => [
  call(id, ...tools),
  ...tools.map((tool, n) => result(`${id}${n}`, tool)),
]

/** Forms of the results, in order, after `steps` tool steps of one tool each. */
const forms = (steps: readonly (readonly string[])[], expiry: ExpirySettings): string[] => {
  const messages = [user, ...steps.flatMap((tools, n) => step(`s${n}`, ...tools))]
  const { trace } = project(messages, { expiry: expiry as object })
  return messages.flatMap((message, index) =>
    message.role === 'tool' ? [trace.find((change) => change.index === index)?.form ?? 'full'] : [],
  )
}
const steps = (count: number, tool = 'search') => Array.from({ length: count }, () => [tool])
const remove = (after: number) => ({ after, mode: 'remove' }) as const
const compact = (after: number, length = 100) => ({ after, mode: 'compact', length }) as const

describe('results that expire (document 001)', () => {
  it('[D1] expire when they are older than the limit, strictly', () => {
    // Four steps: the next request is step 5, so ages are 4, 3, 2, 1.
    expect(forms(steps(4), { tools: { search: remove(2) } })).toEqual([
      'omitted',
      'omitted',
      'full',
      'full',
    ])
    expect(forms(steps(4), { tools: { search: remove(4) } })).toEqual([
      'full',
      'full',
      'full',
      'full',
    ])
  })

  it('[D1] 0 is a limit, null is never; what the model has not seen stays', () => {
    expect(forms(steps(3), { tools: { search: remove(0) } })).toEqual([
      'omitted',
      'omitted',
      'full',
    ])
    expect(forms(steps(3), { tools: { search: { after: null, mode: 'remove' } } })).toEqual([
      'full',
      'full',
      'full',
    ])
  })

  it('[D2] compacting keeps the first characters and says so', () => {
    const messages = [user, ...steps(4).flatMap((tools, n) => step(`s${n}`, ...tools))]
    const { messages: sent } = project(messages, { expiry: { tools: { search: compact(2, 500) } } })
    const content = String(sent[2]?.content)
    expect(content.length).toBeLessThan(650)
    expect(content).toMatch(/^search: found/)
    expect(content).toMatch(
      /\[Compacted: showing first 500 of 1848 characters\. Agent can request expansion if needed: e\w+\]$/,
    )
  })

  it.each([
    ['300 numbers', Array.from({ length: 300 }, (_, n) => n), 'These are 22 of 300 items.'],
    ['a long item', ['x'.repeat(500), 'y'], 'This is a part of the first of 2 items.'],
  ])('[D2] compacting a JSON array of %s says how many items are whole', (_name, items, part) => {
    const content = JSON.stringify(items)
    const result = { role: 'tool', tool_call_id: 'a0', content }
    const later = steps(3).flatMap((tools, n) => step(`s${n}`, ...tools))
    const { messages: sent } = project([user, call('a', 'x'), result, ...later], {
      expiry: { tools: { x: compact(0, 60) } },
    })
    expect(String(sent[2]?.content)).toContain(part)
  })

  it('[D2] content that is already short is left alone', () => {
    const messages = [
      user,
      call('a', 'x'),
      { role: 'tool', tool_call_id: 'a0', content: 'ok' },
      ...steps(5).flatMap((tools, n) => step(`s${n}`, ...tools)),
    ]
    const { trace } = project(messages, { expiry: { tools: { x: compact(0) } } })
    expect(trace).toEqual([])
  })

  it('[D3] the exact name goes before a pattern, a longer pattern before a shorter; case and spaces do not count', () => {
    const tools = {
      '*': remove(0),
      'web_*': { after: null, mode: 'none' },
      ' Web_Fetch ': compact(0),
    } as const
    expect(forms([['web_fetch'], ['web_search'], ['read'], ['x']], { tools })).toEqual([
      'clipped',
      'full',
      'omitted',
      'full',
    ])
  })

  it('[D4] an override wins field by field; null and absent leave the tool its own; none disables', () => {
    const tools = { search: compact(1) }
    expect(forms(steps(4), { tools, override: { after: 3 } })).toEqual([
      'clipped',
      'full',
      'full',
      'full',
    ])
    expect(forms(steps(4), { tools, override: { after: null, mode: 'remove' } })).toEqual([
      'omitted',
      'omitted',
      'omitted',
      'full',
    ])
    expect(forms(steps(4), { tools, override: { mode: 'none' } })).toEqual([
      'full',
      'full',
      'full',
      'full',
    ])
    expect(forms(steps(4), { override: { after: 2, mode: 'remove' } })).toEqual([
      'omitted',
      'omitted',
      'full',
      'full',
    ])
    expect(forms(steps(4), { override: { after: 2 } })).toEqual(['full', 'full', 'full', 'full'])
    expect(forms(steps(4), { override: { mode: 'compact' } })).toEqual([
      'full',
      'full',
      'full',
      'full',
    ])
    expect(forms(steps(4), { tools, disable: true })).toEqual(['full', 'full', 'full', 'full'])
  })

  const mixed = {
    a: compact(3),
    b: remove(1),
    c: { after: 0, mode: 'none' },
    long: { after: 1, mode: 'remove', unit: 'turns' },
    short: { after: 2, mode: 'compact', length: 100 },
  } as const

  it('[D5] results of one step expire each by its own setting', () => {
    const tools = mixed
    expect(forms([['a', 'b'], ['b', 'c'], ['b', 'x'], ['x'], ['x']], { tools })).toEqual([
      ...['clipped', 'omitted'],
      ...['omitted', 'full'],
      ...['omitted', 'full'],
      ...['full', 'full'],
    ])
  })

  it('[D5] of several results in one message the most aggressive setting holds, in any unit', () => {
    const shared = (...tools: readonly string[]) => {
      const call = tools.map((name, n) => ({ type: 'tool_use', id: `c${n}`, name, input: {} }))
      const results = tools.map((name, n) => ({
        type: 'tool_result',
        tool_use_id: `c${n}`,
        content: text(name),
      }))
      const messages = [
        { role: 'user', content: 'go' },
        { role: 'assistant', content: call },
        { role: 'user', content: results },
        ...['x', 'y'].flatMap((id) => [
          { role: 'assistant', content: [{ type: 'tool_use', id, name: 'x', input: {} }] },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'ok' }] },
        ]),
      ]
      const { trace } = project(messages, { expiry: { tools: mixed } }, { format: 'anthropic' })
      return trace.map(({ form }) => form)
    }
    expect(shared('a', 'b')).toEqual(['omitted', 'omitted'])
    expect(shared('b', 'c')).toEqual(['omitted', 'omitted'])
    // One long turn: the limit in steps is reached, the one in turns never.
    expect(shared('long', 'short')).toEqual(['clipped', 'clipped'])
    expect(shared('long')).toEqual([])
  })

  it('[DB11] a short result is removed too, where removal is asked for', () => {
    for (const content of ['ok', 'done now', 'nothing found here at all']) {
      const messages = [
        user,
        call('a', 'x'),
        { role: 'tool', tool_call_id: 'a0', content },
        ...steps(3).flatMap((tools, n) => step(`s${n}`, ...tools)),
      ]
      for (const to of ['openai-chat', 'anthropic', 'openai-responses', 'gemini'] as const) {
        const { trace, messages: sent } = project(
          messages,
          { expiry: { tools: { x: remove(0) } } },
          { to },
        )
        expect(trace).toMatchObject([{ index: 2, form: 'omitted', rule: 'expiry' }])
        expect(JSON.stringify(sent)).not.toContain(content)
        const body = { anthropic: 'messages', 'openai-chat': 'messages', gemini: 'contents' }
        const key = to === 'openai-responses' ? 'input' : body[to]
        expect(validate(to, { [key]: sent })).toEqual([])
      }
    }
  })

  it('[D6] originals that are not preserved cannot be expanded, and the text says so', () => {
    const messages = [user, ...steps(3).flatMap((tools, n) => step(`s${n}`, ...tools))]
    const { trace, messages: sent } = project(messages, {
      expiry: { tools: { search: remove(0) }, preserveOriginals: false },
    })
    expect(trace.every(({ canExpand }) => !canExpand)).toBe(true)
    expect(sent[2]?.content).toMatch(/it was not kept\]$/)
  })
})
