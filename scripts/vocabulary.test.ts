// Banned words: none in the documents, the comments and the texts of the programs, and each kind of them is found where it is planted.

import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { findInComments, findInDocument, findInTexts, hasEmptyName } from './vocabulary.ts'

const root = join(import.meta.dirname, '..')
const read = (file: string): string => readFileSync(join(root, file), 'utf8')
const files = (...patterns: readonly string[]): readonly string[] =>
  patterns.flatMap((pattern) =>
    globSync(pattern, { cwd: root, exclude: (path) => /node_modules|dist|\.cache/.test(path) }),
  )

const documents = files('*.md', 'docs/**/*.md', 'examples/**/*.md', 'packages/**/README.md')
const sources = files('{packages,scripts,examples}/**/*.{ts,tsx}')
/** Phrases that the library looks for in what people write are not its own words; neither are the words of tests. */
const programs = files('packages/{oriel,gateway,cli,studio,plugins/*}/src/**/*.{ts,tsx}').filter(
  (path) => !path.includes('.test.') && !/\/(core\/text|testing)\//.test(path),
)
/** Documents about the documents that the project began with. */
const isForUsers = (document: string): boolean =>
  !/^docs\/(seeds\.md|decisions\/)/.test(document) && document !== 'SPEC.md'

const checker = /^scripts\/vocabulary/

describe('banned words', () => {
  it('are looked for in all documents and sources', () => {
    expect(documents.length).toBeGreaterThan(80)
    expect(sources.length).toBeGreaterThan(500)
    expect(programs.length).toBeGreaterThan(200)
  })

  it.each(documents)('are not in %s', (document) => {
    expect(findInDocument(read(document), { isForUsers: isForUsers(document) })).toEqual([])
  })

  it('are not in comments', () => {
    const found = sources
      .filter((path) => !checker.test(path))
      .flatMap((path) => findInComments(path, read(path)).map((finding) => ({ path, ...finding })))
    expect(found).toEqual([])
  })

  it('are not in the texts of the programs', () => {
    const found = programs.flatMap((path) =>
      findInTexts(path, read(path)).map((finding) => ({ path, ...finding })),
    )
    expect(found).toEqual([])
  })

  it('such as utils are not the names of files and folders', () => {
    expect([...sources, ...documents].filter(hasEmptyName)).toEqual([])
  })
})

describe('the search for banned words', () => {
  const user = { isForUsers: true }

  it.each([
    ['Novels are dear.', 'dear'],
    ['The store is away.', 'is away'],
    ['It turns such calls away.', 'turns such calls away'],
    ['null takes it away', 'takes it away'],
    ['The format is found out.', 'found out'],
    ['They are told apart by shape.', 'told apart'],
    ['The loop goes on.', 'goes on'],
    ['Else the digest serves.', 'serves'],
    ['Short chats are left alone.', 'left alone'],
    ['See document 004.', 'document 004'],
    ['TODO: later', 'TODO'],
    ['Done \u{1F389}', '\u{1F389}'],
  ])('finds what is wrong in: %s', (text, found) => {
    expect(findInDocument(`\n${text}\n`, user)).toMatchObject([{ line: 2, found }])
  })

  it('reads prose alone', () => {
    const text = '`goes on` and "goes on"\n\n```ts\n// goes on\n```\n\n    goes on\n\nOn the wire.'
    expect(findInDocument(text, user)).toEqual([])
  })

  it('leaves documents about the source documents their names', () => {
    expect(findInDocument('document 004', { isForUsers: false })).toEqual([])
  })

  it('reads comments and texts of sources, each on its own', () => {
    const source = [
      '/** It is dear, and goes',
      ' * on. */',
      "const dear = 'It is away.'",
      'const b = `It serves.` // left alone',
    ].join('\n')
    expect(findInComments('a.ts', source).map(({ line, found }) => [line, found])).toEqual([
      [1, 'dear'],
      [4, 'left alone'],
      [1, 'goes on'],
    ])
    expect(findInTexts('a.ts', source).map(({ line, found }) => [line, found])).toEqual([
      [3, 'is away'],
      [4, 'serves'],
    ])
  })

  it.each(['src/utils.ts', 'src/helpers/a.ts', 'src/types.d.ts'])('refuses the name %s', (path) => {
    expect(hasEmptyName(path)).toBe(true)
  })

  it.each(['src/event-types.ts', 'src/shared-prefix.ts'])('accepts the name %s', (path) => {
    expect(hasEmptyName(path)).toBe(false)
  })
})
