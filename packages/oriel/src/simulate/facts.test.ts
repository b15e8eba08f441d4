import { describe, expect, it } from 'vitest'
import { commonValues, needsOf, withoutCommon } from './facts.ts'
import { openRecording } from './recording.ts'
import { Sightings } from './sightings.ts'

const call = (name: string, args: object, content: string | null = null) => ({
  role: 'assistant',
  content,
  tool_calls: [
    { id: `c-${name}`, type: 'function', function: { name, arguments: JSON.stringify(args) } },
  ],
})
const result = (name: string, content: string) => ({
  role: 'tool',
  tool_call_id: `c-${name}`,
  content,
})

function needs(messages: readonly object[]) {
  return needsOf(openRecording({ id: 'a', messages }), new Sightings())
}
const values = (messages: readonly object[]) =>
  needs(messages).map(({ facts }) => facts.map(({ value, place }) => `${place} ${value}`))

describe('needsOf', () => {
  it('[W2] takes values of arguments and text that first stood in a tool result or user message', () => {
    const messages = [
      { role: 'user', content: 'Look at src/app/main.ts for user mia_li_7.' },
      call('read', { path: '/work/src/app/main.ts' }),
      result('read', 'export const orderNumber = "W2378156"'),
      call('find', { order: 'W2378156', mine: 'W999' }, 'Found orderNumber in it.'),
    ]
    expect(values(messages)).toEqual([
      ['arguments src/app/main.ts'],
      ['arguments W2378156', 'text orderNumber'],
    ])
  })

  it('[W2] leaves out what the agent came up with, what the system text says, and names of tools and arguments', () => {
    const messages = [
      { role: 'system', content: 'Use account ACC-001.' },
      { role: 'user', content: 'Use order_id and find_order with ACC-001 and draft_7.' },
      { role: 'assistant', content: 'I call it plan_b9.' },
      { role: 'user', content: 'Yes, plan_b9.' },
      call('find_order', { order_id: 'plan_b9', account: 'ACC-001', x: 'draft_7' }, 'find_order'),
    ]
    expect(values(messages)).toEqual([[], ['arguments draft_7']])
  })

  it('[W2] leaves out what stands in the frame', () => {
    const messages = [
      { role: 'user', content: 'Take zone_a1 or zone_b2.' },
      call('go', { to: 'zone_a1 zone_b2' }),
    ]
    const recording = openRecording({ id: 'a', messages, frame: { system: 'Only zone_a1.' } })
    const [need] = needsOf(recording, new Sightings())
    expect(need?.facts.map(({ value }) => value)).toEqual(['zone_b2'])
  })

  it('[W2] counts the calls since a fact was last seen', () => {
    const step = (n: number) => [call(`t${n}`, { n }), result(`t${n}`, 'ok')]
    const messages = [
      { role: 'user', content: 'Remember key_77.' },
      ...[1, 2, 3, 4].flatMap(step),
      call('use', { key: 'key_77' }),
    ]
    expect(needs(messages).at(-1)?.facts).toMatchObject([{ value: 'key_77', first: 0, age: 4 }])
  })

  it('[W2] takes a greeting before anyone spoke for no model call', () => {
    const messages = [
      { role: 'assistant', content: 'Hello.' },
      { role: 'user', content: 'Hi.' },
      { role: 'assistant', content: 'So.' },
    ]
    expect(needs(messages).map(({ answer }) => answer)).toEqual([2])
  })
})

describe('commonValues', () => {
  it('[W2] leaves out what over 30 % of the conversations of a source need, where there are enough', () => {
    const lists = [['a1', 'x'], ['a1'], ['a1', 'b2'], ['b2'], ['c3']]
    expect([...commonValues(lists)]).toEqual(['a1', 'b2'])
    expect(commonValues(lists.slice(1)).size).toBe(0)
    const fact = { place: 'arguments', first: 0, age: 1 } as const
    const own = [{ answer: 1, facts: ['a1', 'x'].map((value) => ({ ...fact, value })) }]
    expect(withoutCommon(own, commonValues(lists))[0]?.facts.map(({ value }) => value)).toEqual([
      'x',
    ])
  })
})
