import { mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { HighWater, highWaterPath } from './high-water.ts'

const header = (digit: string): string => digit.repeat(64)
let directory = ''
let path = ''

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'oriel-mark-'))
  path = join(directory, 'store.db')
})
afterEach(() => rmSync(directory, { recursive: true }))

function open<T>(use: (mark: HighWater) => T): T {
  const mark = new HighWater(path)
  try {
    return use(mark)
  } finally {
    mark.close()
  }
}

it('has no mark at first, and keeps the one it was given, readable by its owner alone', () => {
  expect(open((mark) => mark.read())).toBeUndefined()
  open((mark) => mark.raise({ position: 7, header: header('a') }))
  expect(open((mark) => mark.read())).toEqual({ position: 7, header: header('a') })
  expect(statSync(highWaterPath(path)).mode & 0o777).toBe(0o600)
})

it('never goes down, whichever process writes last', () => {
  open((mark) => {
    mark.raise({ position: 9, header: header('b') })
    mark.raise({ position: 8, header: header('a') })
    expect(mark.read()).toEqual({ position: 9, header: header('b') })
    mark.reset({ position: 3, header: header('c') })
    expect(mark.read()).toEqual({ position: 3, header: header('c') })
  })
})

it('takes a damaged mark for none', () => {
  open((mark) => mark.raise({ position: 7, header: header('a') }))
  const bytes = readFileSync(highWaterPath(path))
  for (let index = 0; index < bytes.length; index += 5) {
    const damaged = Buffer.from(bytes)
    damaged[index] = (damaged[index] ?? 0) ^ 1
    writeFileSync(highWaterPath(path), damaged)
    expect(open((mark) => mark.read())).toBeUndefined()
    writeFileSync(highWaterPath(path), bytes.subarray(0, index))
    expect(open((mark) => mark.read())).toBeUndefined()
  }
})

it('does not write through a link', () => {
  const other = join(directory, 'other')
  writeFileSync(other, 'of somebody else')
  symlinkSync(other, highWaterPath(path))
  expect(() => new HighWater(path)).toThrow('ELOOP')
  expect(readFileSync(other, 'utf8')).toBe('of somebody else')
})
