import * as fc from 'fast-check'
import { OrielError } from 'oriel'
import { describe, expect, it } from 'vitest'
import { type FileFormat, type Setting, withoutSettings, withSettings } from './settings-file.ts'

const ours: readonly Setting[] = [
  { path: ['env', 'NEW_URL'], value: 'http://x' },
  { path: ['provider', 'openai', 'baseURL'], value: 'http://x' },
  { path: ['plugin'], value: { add: 'ours' } },
]
const edited = '"edited": 0'

/** What may stand between the tokens of a file that people write. */
const gaps = fc.array(
  fc.constantFrom(
    '',
    '',
    ' ',
    '\n',
    '\n  ',
    '\r\n\t',
    ' /* a, "b": { */ ',
    ' // mine, {"plugin": [\n',
  ),
  { minLength: 3, maxLength: 12 },
)
const key = fc.constantFrom('env', 'A', 'NEW_URL', 'provider', 'openai', 'baseURL', 'plugin', 'x')
const leaf = fc.oneof(fc.string({ maxLength: 4 }), fc.integer(), fc.boolean())
const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 3 },
    leaf,
    fc.array(leaf, { maxLength: 3 }),
    fc.dictionary(key, tie('tree'), { maxKeys: 4 }),
  ),
}))
const jsonText = fc
  .record({
    root: fc.dictionary(key, tree, { maxKeys: 4 }),
    gaps,
    hasComma: fc.boolean(),
    at: fc.nat({ max: 4 }),
  })
  .map(({ root, gaps: between, hasComma, at }) => {
    let next = 0
    const gap = (): string => between[next++ % between.length] ?? ''
    const list = (parts: readonly string[]): string =>
      parts
        .map((part, index) => {
          const isLast = index === parts.length - 1
          return `${gap()}${part}${gap()}${isLast && !hasComma ? '' : ','}`
        })
        .join('') + gap()
    const write = (value: unknown, isRoot = false): string => {
      if (Array.isArray(value)) return `[${list(value.map((one) => write(one)))}]`
      if (typeof value !== 'object' || value === null) return JSON.stringify(value)
      const written = Object.entries(value).map(
        ([name, one]) => `${JSON.stringify(name)}${gap()}:${gap()}${write(one)}`,
      )
      if (isRoot) written.splice(Math.min(at, written.length), 0, edited)
      return `{${list(written)}}`
    }
    return gap() + write(root, true) + gap()
  })

const plain = (text: string): string => text.replaceAll(/\s+/g, '')

/** Whether a text has another one's characters, in their order: only insertions were made. */
function isInside(part: string, whole: string): boolean {
  let at = 0
  for (const char of whole) if (char === part[at]) at += 1
  return at === part.length
}

/** Undefined where a text stands in the place of an object or a list. */
function changed(content: string, settings: readonly Setting[] = ours) {
  try {
    return withSettings(content, settings, 'json')
  } catch (error) {
    if (OrielError.is(error)) return undefined
    throw error
  }
}

describe('settings of other programs', () => {
  it('[CO1] JSON with comments anywhere: what is new is only inserted, and taken back byte for byte', () => {
    const seen = { inserted: 0, taken: 0 }
    fc.assert(
      fc.property(jsonText, (content) => {
        const set = changed(content)
        if (set === undefined) return
        seen.taken += 1
        expect(withoutSettings(set.text, set, 'json')).toBe(content)
        const isNew = set.before.every(
          ({ value, set: own }) => value === undefined || typeof own === 'object',
        )
        if (!isNew) return
        seen.inserted += 1
        expect(isInside(plain(content), plain(set.text))).toBe(true)
      }),
      { numRuns: 500 },
    )
    expect(Math.min(seen.inserted, seen.taken)).toBeGreaterThan(50)
  })

  it('[CO3] an edit elsewhere is all that remains, byte for byte', () => {
    const edit = fc.constantFrom(
      '"edited": 1',
      '"edited": [\n1,\n2]',
      '"edited": 0, "new": {}',
      '// gone\n"edited": "http://x"',
    )
    const end = fc.constantFrom('', '\n', '\r\n// end')
    const seen = { count: 0 }
    fc.assert(
      fc.property(jsonText, edit, end, (content, value, last) => {
        const set = changed(content)
        const apply = (text: string): string => text.replace(edited, value) + last
        if (set === undefined) return
        seen.count += 1
        expect(withoutSettings(apply(set.text), set, 'json')).toBe(apply(content))
      }),
      { numRuns: 500 },
    )
    expect(seen.count).toBeGreaterThan(50)
  })

  const url: readonly Setting[] = [{ path: ['U'], value: 'http://x' }]
  const item: readonly Setting[] = [{ path: ['plugin'], value: { add: 'ours' } }]
  it.each<[FileFormat, readonly Setting[], string, string]>([
    ['json', url, '{"a":1}', '{"a":1,"U": "http://x"}'],
    ['json', url, '{ "a": 1, }', '{ "a": 1, "U": "http://x", }'],
    ['json', url, '{\n  "a": 1 // why\n}', '{\n  "a": 1, // why\n  "U": "http://x"\n}'],
    [
      'json',
      url,
      '{\n\t"a": 1, // why\n\t// b\n}',
      '{\n\t"a": 1, // why\n\t"U": "http://x",\n\t// b\n}',
    ],
    ['json', item, '{"plugin":["m"]}', '{"plugin":["m","ours"]}'],
    [
      'json',
      item,
      '{\n  "plugin": [\n    "m" // mine\n    // "n"\n  ]\n}',
      '{\n  "plugin": [\n    "m", // mine\n    "ours"\n    // "n"\n  ]\n}',
    ],
    ['json', item, '{ "plugin": [/* none */] }', '{ "plugin": ["ours"/* none */] }'],
    [
      'json',
      [{ path: ['env', 'U'], value: 'http://x' }],
      '{\n  "a": 0,\n  "env": { // mine\n  }\n}',
      '{\n  "a": 0,\n  "env": { // mine\n    "U": "http://x"\n  }\n}',
    ],
    ['toml', url, 'U = "old" # why', 'U = "http://x" # why'],
    ['toml', url, "U='old'\r\n[a]\r\n", 'U="http://x"\r\n[a]\r\n'],
    ['env', url, 'A=1', 'A=1\nU=http://x\n'],
  ])(
    '[CO2] in %s leaves comments and layout where they are: %j in %j',
    (format, settings, content, expected) => {
      const set = withSettings(content, settings, format)
      expect(set.text).toBe(expected)
      expect(withoutSettings(set.text, set, format)).toBe(content)
      const line = format === 'json' ? '// new\n' : '# new\n'
      expect(withoutSettings(line + set.text, set, format)).toBe(line + content)
    },
  )
})
