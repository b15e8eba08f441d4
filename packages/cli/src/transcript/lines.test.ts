import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readLines } from './lines.ts'

async function linesOf(...chunks: readonly Uint8Array[]): Promise<readonly string[]> {
  const lines: string[] = []
  for await (const { text, number } of readLines(streamOf(chunks))) {
    lines.push(text)
    if (number !== lines.length) throw new Error(`line ${lines.length} is called ${number}`)
  }
  return lines
}

async function* streamOf(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks
}

describe('readLines', () => {
  it('gives lines without their ends, with or without a last line end', async () => {
    expect(await linesOf(Buffer.from('a\nb\r\n\nc'))).toEqual(['a', 'b', '', 'c'])
    expect(await linesOf(Buffer.from('a\nb\n'))).toEqual(['a', 'b'])
    expect(await linesOf()).toEqual([])
  })

  it('does not break a line at U+2028, U+2029 or a lone carriage return', async () => {
    const line = '{"text":"one\u2028two\u2029three\rfour"}'
    expect(await linesOf(Buffer.from(`${line}\n`))).toEqual([line])
  })

  it('leaves out a byte order mark', async () => {
    expect(await linesOf(Buffer.from('\ufeff{}\n'))).toEqual(['{}'])
  })

  it('gives the same lines however the bytes arrive', async () => {
    const texts = fc.array(
      fc.string({ unit: 'binary' }).map((text) => text.replaceAll(/[\r\n\ufeff]/g, '')),
    )
    await fc.assert(
      fc.asyncProperty(texts, fc.array(fc.nat(200)), async (lines, cuts) => {
        const bytes = Buffer.from(lines.map((line) => `${line.toWellFormed()}\n`).join(''))
        const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length]
        const sorted = places.toSorted((a, b) => a - b)
        const chunks = sorted.slice(1).map((end, index) => bytes.subarray(sorted[index], end))
        expect(await linesOf(...chunks)).toEqual(lines.map((line) => line.toWellFormed()))
      }),
    )
  })
})
