// An animated PNG of stills: the pictures stay as they are, each one a frame. Browsers and GitHub play it; others show the first frame.

import { crc32 } from 'node:zlib'

interface Chunk {
  readonly type: string
  readonly data: Buffer
}

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

/** Joins PNGs of one size and colour type; it plays again and again. */
export function animatedPng(stills: readonly Buffer[], options: { delayMs: number }): Buffer {
  const frames = stills.map(chunksOf)
  const [header] = (frames[0] ?? []).filter(({ type }) => type === 'IHDR')
  if (header === undefined) throw new Error('There is no picture to animate.')
  for (const frame of frames) {
    const own = frame.find(({ type }) => type === 'IHDR')
    if (own?.data.equals(header.data) !== true) throw new Error('The pictures are not of one kind.')
  }
  let sequence = 0
  const next = (): Buffer => uint32(sequence++)
  const pictures = frames.flatMap((frame, at): Chunk[] => {
    const parts = frame.filter(({ type }) => type === 'IDAT')
    const control = { type: 'fcTL', data: Buffer.concat([next(), controlOf(header, options)]) }
    const data = parts.map((part) =>
      at === 0 ? part : { type: 'fdAT', data: Buffer.concat([next(), part.data]) },
    )
    return [control, ...data]
  })
  const whole: Chunk[] = [
    header,
    { type: 'acTL', data: Buffer.concat([uint32(frames.length), uint32(0)]) },
    ...pictures,
    { type: 'IEND', data: Buffer.alloc(0) },
  ]
  return Buffer.concat([signature, ...whole.map(written)])
}

export function chunksOf(png: Buffer): readonly Chunk[] {
  const chunks: Chunk[] = []
  for (let at = signature.length; at < png.length; ) {
    const length = png.readUInt32BE(at)
    const data = png.subarray(at + 8, at + 8 + length)
    chunks.push({ type: png.toString('latin1', at + 4, at + 8), data })
    at += length + 12
  }
  return chunks
}

/** A frame of the whole size, in the place of the one before. */
function controlOf({ data }: Chunk, { delayMs }: { readonly delayMs: number }): Buffer {
  const size = data.subarray(0, 8)
  const delay = Buffer.alloc(4)
  delay.writeUInt16BE(delayMs, 0)
  delay.writeUInt16BE(1000, 2)
  return Buffer.concat([size, uint32(0), uint32(0), delay, Buffer.from([0, 0])])
}

function written({ type, data }: Chunk): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data])
  return Buffer.concat([uint32(data.length), named, uint32(crc32(named))])
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}
