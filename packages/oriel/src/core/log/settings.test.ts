import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { neutralConversation } from '../../testing/arbitraries.ts'
import { policyArbitrary } from '../../testing/index.ts'
import type { Draft, Entry, EntryId, SettingEntry } from './entry.ts'
import { equalJson, type Json } from './json.ts'
import { headerOf, KeyedSetting, type Setting, type SettingBody, settings } from './settings.ts'

const fields = { id: 'e2aa' as EntryId, seq: 2, at: 10 }

/** The entry that a store gives back. */
const stored = (body: SettingBody): SettingEntry =>
  JSON.parse(JSON.stringify({ ...body, ...fields })) as SettingEntry

const entryOf = (name: string, value: Json): SettingEntry =>
  stored({ type: 'setting', name, value })

/** The rows of the table that take an entry for their own. */
const rowsOf = (entry: Entry): readonly string[] =>
  Object.entries(settings).flatMap(([row, setting]) => {
    const isOwn =
      setting instanceof KeyedSetting ? setting.keyOf(entry) !== undefined : setting.names(entry)
    return isOwn ? [row] : []
  })

interface Case {
  readonly row: keyof typeof settings
  readonly setting: Setting<unknown>
  readonly value: unknown
}

const seq = fc.nat()
const id = fc.uuid()
const text = fc.string({ unit: 'binary' })
const object = fc.dictionary(text, fc.jsonValue() as fc.Arbitrary<Json>)
const drafts = fc
  .constantFrom('openai-chat', 'anthropic', 'langchain' as const)
  .chain((format) => neutralConversation(format as 'anthropic'))
  .map((list): readonly Draft[] => JSON.parse(JSON.stringify(list)))
const hashes = fc.array(fc.constantFrom(...'0123456789abcdef'), { minLength: 64, maxLength: 64 })
const hash = hashes.map((digits) => digits.join(''))
const policies = policyArbitrary().map((policy) => (typeof policy === 'object' ? policy : {}))

const of = <T>(
  row: keyof typeof settings,
  setting: Setting<T> | fc.Arbitrary<Setting<T>>,
  value: fc.Arbitrary<T>,
): fc.Arbitrary<Case> =>
  fc
    .tuple(setting instanceof fc.Arbitrary ? setting : fc.constant(setting), value)
    .map(([one, given]) => ({ row, setting: one as Setting<unknown>, value: given }))

const cases: fc.Arbitrary<Case> = fc.oneof(
  of('header', settings.header, fc.record({ salt: text, tokens: text, version: seq })),
  of('policy', settings.policy, policies as fc.Arbitrary<Record<string, Json>>),
  of('leading', settings.leading, drafts),
  of(
    'pluginSystem',
    settings.pluginSystem,
    drafts.map((list) =>
      list.flatMap(({ content }) => (typeof content === 'string' ? [] : content)),
    ),
  ),
  of('forkedFrom', settings.forkedFrom, fc.record({ thread: id, seq })),
  of(
    'fork',
    id.map((key) => settings.fork.at(key)),
    fc.record({ seq }),
  ),
  of(
    'frame',
    hash.map((key) => settings.frame.at(key)),
    object,
  ),
  of(
    'summary',
    hash.map((key) => settings.summary.at(key)),
    text,
  ),
  of(
    'relevance',
    hash.map((key) => settings.relevance.at(key)),
    fc.double({ min: 0, max: 1, noNaN: true }),
  ),
  of(
    'outputFile',
    hash.map((key) => settings.outputFile.at(key)),
    text,
  ),
  of(
    'host',
    fc.stringMatching(/^[\w.-]{1,100}$/).map((key) => settings.host.at(key)),
    fc.jsonValue() as fc.Arbitrary<Json>,
  ),
)

describe('the settings of a log', () => {
  it('[SE1] are read back as they were written, by their own row of the table and by no other', () => {
    fc.assert(
      fc.property(cases, ({ row, setting, value }) => {
        const entry = stored(setting.body(value))
        expect(rowsOf(entry)).toEqual([row])
        expect(equalJson(setting.read(entry), JSON.parse(JSON.stringify(value)))).toBe(true)
        expect(setting.find(entry)).toBe(entry.value)
      }),
    )
  })

  it('[SE1] of a prefix are found with their key, and in the order of a list of names', () => {
    const names = ['host/b', 'policy', 'fork/x', 'host/a', 'hosts', 'fork/y']
    expect(settings.fork.keysIn(names)).toEqual(['x', 'y'])
    expect(settings.host.among(names).map(({ name }) => name)).toEqual(['host/b', 'host/a'])
    const entry = entryOf('output-file/ab', '/tmp/outputs')
    expect(settings.outputFile.find(entry)).toEqual({ key: 'ab', value: '/tmp/outputs' })
    expect(settings.outputFile.find(entryOf('output-file/ab', 5))).toBeUndefined()
  })

  /** As versions before this one wrote them. These names and values stay for ever. */
  const written: readonly (readonly [keyof typeof settings, string, Json])[] = [
    ['header', 'thread', { salt: 'ab', tokens: 'estimate', version: 1 }],
    ['policy', 'policy', { history: { mode: 'lastN', length: 2 } }],
    ['policy', 'policy', {}],
    ['leading', 'leading', [{ role: 'system', content: 'Be brief.', origin: 'system' }]],
    ['leading', 'leading', [{ role: 'system', content: [{ type: 'text', text: 'Hi' }] }]],
    ['pluginSystem', 'plugin-system', [{ type: 'text', text: 'Plugins' }]],
    ['pluginSystem', 'plugin-system', []],
    ['forkedFrom', 'forked-from', { thread: 'parent', seq: 7 }],
    ['fork', 'fork/child', { seq: 7 }],
    ['frame', 'frame/0123456789abcdef0123456789abcdef', { system: 'Be brief.', tools: [] }],
    ['summary', 'summary/k1', 'It went well.'],
    ['relevance', 'relevance/k1', 0.25],
    ['outputFile', `output-file/${'0'.repeat(64)}`, '/tmp/outputs'],
    ['host', 'host/title', null],
  ]

  it.each(written)('[SE3] keep their names and values: %s, %s', (row, name, value) => {
    const entry = entryOf(name, value)
    expect(rowsOf(entry)).toEqual([row])
    const own = settings[row]
    const [key] = own instanceof KeyedSetting ? own.keysIn([name]) : []
    const setting: Setting<unknown> = own instanceof KeyedSetting ? own.at(key as string) : own
    expect(setting.body(setting.read(entry))).toEqual({ type: 'setting', name, value })
  })

  it('[SE3] of other names belong to no row', () => {
    for (const name of ['', 'salt', 'threads', 'fork', 'frames/1', 'Policy', 'of-the-future/1'])
      expect(rowsOf(entryOf(name, {}))).toEqual([])
  })
})

describe('a setting that does not fit its name', () => {
  const text = { type: 'text', text: 'Hi' }
  const malformed: readonly (readonly [Setting<unknown>, readonly Json[]])[] = [
    [
      settings.header,
      [null, 'x', [], {}, { salt: 5, tokens: 'estimate', version: 1 }, { salt: 'a', version: 1 }],
    ],
    [settings.policy, [null, 'recommended', 5, []]],
    [
      settings.leading,
      [
        ...[
          null,
          {},
          'Be brief.',
          [5],
          [null],
          [{ content: 'x' }],
          [{ role: 'robot', content: '' }],
        ],
        ...[[{ role: 'system' }], [{ role: 'system', content: 5 }]],
        [{ role: 'system', content: [text, { type: 'text', text: 5 }] }],
        [{ role: 'system', content: [{ text: 'no type' }] }],
      ],
    ],
    [
      settings.pluginSystem,
      [
        ...[null, text, ['x'], [[text]], [{ type: 'text' }], [{ type: 'opaque', format: 'x' }]],
        [{ type: 'tool-call', callId: 'a', name: 'b' }],
        [{ type: 'tool-result', callId: 'a', content: [text, 5] }],
      ],
    ],
    [
      settings.forkedFrom,
      [null, 'parent', { thread: 'p' }, { seq: 1 }, { thread: 5, seq: 1 }, { thread: 'p', at: 1 }],
    ],
    [settings.fork.at('x'), [null, 7, {}, { seq: '7' }, { seq: -1 }, { seq: 1.5 }]],
    [settings.frame.at('x'), [null, 'x', [{}]]],
    [settings.summary.at('x'), [null, 5, { text: 'x' }]],
    [settings.relevance.at('x'), [null, '0.5', [1]]],
    [settings.outputFile.at('x'), [null, 5, ['/tmp']]],
  ]

  it.each(malformed)('[SE2] is refused with its position, or not found: %s', (setting, values) => {
    for (const value of values) {
      const entry = entryOf(setting.name, value)
      expect(() => setting.read(entry)).toThrowError(
        expect.objectContaining({ code: 'corrupt-entry', details: { seq: 2 } }),
      )
      expect(setting.find(entry)).toBeUndefined()
      // Nor is it ever written.
      expect(() => setting.body(value)).toThrowError(/fits it/)
    }
  })

  it('[SE2] is named as a later version where a header says so, whatever else it says', () => {
    for (const value of [{ version: 2 }, { version: 99, salt: {}, counter: 'x' }]) {
      expect(() => headerOf(entryOf('thread', value))).toThrowError(
        expect.objectContaining({ code: 'schema-version' }),
      )
    }
    expect(() => headerOf(entryOf('policy', {}))).toThrowError(/does not begin with a header/)
  })
})
