import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { referencePages, writtenPages } from './reference.ts'

const pages = referencePages()

it('the reference has one page for each subpath, and no other', () => {
  const made = [...pages.keys()].filter((path) => path.startsWith('docs/api/'))
  expect(writtenPages().toSorted()).toEqual(made.toSorted())
})

it.each([...pages])('%s is what `npm run reference` makes of the sources', (path, text) => {
  expect(readFileSync(join(import.meta.dirname, '..', path), 'utf8')).toBe(text)
})
