// What a picture costs: its size in pixels, read from the first bytes of the file, and the tokens that providers charge for it.

import type { ImageBlock } from '../log/block.ts'

export interface PictureSize {
  readonly width: number
  readonly height: number
}

/** Where nothing is known of a picture: about one of 950 by 950 pixels. */
const unknownTokens = 1200

/** Tokens of a picture: the most that one of the formulas below gives, so that a budget holds wherever it is sent. They were not compared with the providers' pages. */
export function pictureTokens(block: Pick<ImageBlock, 'data'>): number {
  const size = block.data === undefined ? undefined : pictureSize(block.data)
  if (size === undefined) return unknownTokens
  return Math.max(smallest, areaTokens(size), tileTokens(size))
}

/** No provider charges less for any picture. */
const smallest = 258

/** By area: 750 pixels are a token, after the longer edge was scaled to 1568 pixels and the whole to 1,600 tokens. */
function areaTokens({ width, height }: PictureSize): number {
  const scale = Math.min(1, 1568 / Math.max(width, height))
  return Math.min(1600, Math.ceil((width * scale * height * scale) / 750))
}

/** By tiles: scaled into 2048 by 2048, then to a shorter edge of 768; 170 tokens for each tile of 512 by 512, and 85. */
function tileTokens({ width, height }: PictureSize): number {
  const inside = Math.min(1, 2048 / Math.max(width, height))
  const scale = inside * Math.min(1, 768 / (Math.min(width, height) * inside))
  return 85 + 170 * Math.ceil((width * scale) / 512) * Math.ceil((height * scale) / 512)
}

/** Base64 characters that are read at first, and at most: a JPEG may have its size behind a preview and other data. */
const firstCharacters = 64
const mostCharacters = 256 * 1024

/** The size of a PNG, JPEG, GIF or WebP in base64; undefined for anything else, and where the file does not say it. */
export function pictureSize(data: string): PictureSize | undefined {
  const start = bytesOf(data.slice(0, firstCharacters))
  if (start === undefined) return undefined
  const read = pngSize(start) ?? gifSize(start) ?? webpSize(start)
  const found =
    read ?? (isJpeg(start) ? jpegSize(bytesOf(data.slice(0, mostCharacters))) : undefined)
  return found !== undefined && found.width > 0 && found.height > 0 ? found : undefined
}

function bytesOf(base64: string): Uint8Array | undefined {
  try {
    const text = atob(base64.slice(0, base64.length - (base64.length % 4)))
    return Uint8Array.from(text, (character) => character.charCodeAt(0))
  } catch {
    return undefined
  }
}

function startsWith(bytes: Uint8Array, text: string, at = 0): boolean {
  return [...text].every((character, index) => bytes[at + index] === character.charCodeAt(0))
}

function big(bytes: Uint8Array, at: number, count: number): number {
  let value = 0
  for (let index = 0; index < count; index++) value = value * 256 + (bytes[at + index] ?? 0)
  return value
}

function little(bytes: Uint8Array, at: number, count: number): number {
  let value = 0
  for (let index = count - 1; index >= 0; index--) value = value * 256 + (bytes[at + index] ?? 0)
  return value
}

function pngSize(bytes: Uint8Array): PictureSize | undefined {
  if (!startsWith(bytes, '\x89PNG') || !startsWith(bytes, 'IHDR', 12)) return undefined
  return { width: big(bytes, 16, 4), height: big(bytes, 20, 4) }
}

function gifSize(bytes: Uint8Array): PictureSize | undefined {
  if (!startsWith(bytes, 'GIF8')) return undefined
  return { width: little(bytes, 6, 2), height: little(bytes, 8, 2) }
}

function webpSize(bytes: Uint8Array): PictureSize | undefined {
  if (!startsWith(bytes, 'RIFF') || !startsWith(bytes, 'WEBP', 8)) return undefined
  if (startsWith(bytes, 'VP8X', 12)) {
    return { width: 1 + little(bytes, 24, 3), height: 1 + little(bytes, 27, 3) }
  }
  if (startsWith(bytes, 'VP8L', 12)) {
    const packed = little(bytes, 21, 4)
    return { width: 1 + (packed % 0x4000), height: 1 + (Math.floor(packed / 0x4000) % 0x4000) }
  }
  if (!startsWith(bytes, 'VP8 ', 12)) return undefined
  return { width: little(bytes, 26, 2) % 0x4000, height: little(bytes, 28, 2) % 0x4000 }
}

function isJpeg(bytes: Uint8Array): boolean {
  return bytes[0] === 0xff && bytes[1] === 0xd8
}

/** Walks the segments up to the frame header. */
function jpegSize(bytes: Uint8Array | undefined): PictureSize | undefined {
  if (bytes === undefined) return undefined
  let at = 2
  while (at + 9 < bytes.length) {
    if (bytes[at] !== 0xff) return undefined
    const marker = bytes[at + 1] as number
    // Fill bytes, and marks without a length.
    if (marker === 0xff || marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8)) {
      at += marker === 0xff ? 1 : 2
      continue
    }
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)
    if (isFrame) return { height: big(bytes, at + 5, 2), width: big(bytes, at + 7, 2) }
    at += 2 + Math.max(2, big(bytes, at + 2, 2))
  }
  return undefined
}
