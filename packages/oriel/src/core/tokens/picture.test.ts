import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { pictureSize, pictureTokens } from './picture.ts'

const base64 = (...bytes: readonly (number | string)[]): string =>
  Buffer.concat(
    bytes.map((one) => (typeof one === 'string' ? Buffer.from(one, 'latin1') : Buffer.of(one))),
  ).toString('base64')

const png = (width: number, height: number): string => {
  const size = Buffer.alloc(8)
  size.writeUInt32BE(width, 0)
  size.writeUInt32BE(height, 4)
  return base64('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', size.toString('latin1'), '\x08\x06\0\0\0')
}

/** Segments of other data before the frame, as cameras write them. */
const jpeg = (before: number): string => {
  const other = `\xff\xe1${String.fromCharCode((before + 2) >> 8, (before + 2) & 255)}${'x'.repeat(before)}`
  return base64(
    '\xff\xd8',
    other,
    '\xff\xff\xc0\0\x11\x08',
    0x02,
    0x58,
    0x03,
    0x20,
    '\x03'.repeat(12),
  )
}

describe('the size of a picture', () => {
  it.each([
    ['PNG', png(1280, 720), { width: 1280, height: 720 }],
    ['GIF', base64('GIF89a', 0x40, 0x01, 0xc8, 0x00, '\xf7\0\0'), { width: 320, height: 200 }],
    ['JPEG', jpeg(10), { width: 800, height: 600 }],
    ['JPEG with a long preview', jpeg(60_000), { width: 800, height: 600 }],
    [
      'WebP, lossy',
      base64('RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a', 0x80, 0x02, 0xe0, 0x01),
      { width: 640, height: 480 },
    ],
    [
      'WebP, lossless',
      base64('RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f', 0x7f, 0xc2, 0x77, 0x00),
      { width: 640, height: 480 },
    ],
    [
      'WebP, extended',
      base64('RIFF\0\0\0\0WEBPVP8X\0\0\0\0\0\0\0\0', 0x7f, 0x02, 0x00, 0xdf, 0x01, 0x00),
      { width: 640, height: 480 },
    ],
  ])('[PX1] of a %s is read from its first bytes', (_, data, size) => {
    expect(pictureSize(data)).toEqual(size)
  })

  it('[PX1] of a real screenshot is read', () => {
    const path = new URL('../../../../../docs/images/chat.png', import.meta.url)
    const { width = 0, height = 0 } = pictureSize(readFileSync(path).toString('base64')) ?? {}
    expect(width).toBeGreaterThan(500)
    expect(height).toBeGreaterThan(300)
  })

  it.each([
    ['nothing', ''],
    ['no base64', '%%%%%%%%'],
    ['another file', base64('%PDF-1.7 and so on')],
    ['a PNG that is cut off', png(1, 1).slice(0, 16)],
    ['an empty PNG', png(0, 10)],
    ['a JPEG without a frame', base64('\xff\xd8\xff\xd9', 'x'.repeat(40))],
    ['a JPEG that is cut off', jpeg(60_000).slice(0, 4000)],
  ])('[PX1] of %s is unknown, and costs what an unknown picture costs', (_, data) => {
    expect(pictureSize(data)).toBeUndefined()
    expect(pictureTokens({ data })).toBe(1200)
  })

  it.each([
    [16, 16, 258],
    [512, 512, 350],
    [1092, 1092, 1590],
    [1568, 1568, 1600],
    [8000, 8000, 1600],
    [4000, 200, 765],
  ])('[PX1] %i by %i pixels are %i tokens', (width, height, tokens) => {
    expect(pictureTokens({ data: png(width, height) })).toBe(tokens)
  })
})
