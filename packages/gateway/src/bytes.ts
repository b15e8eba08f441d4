// Bytes in other shapes, without copies where none are needed.

/** The same bytes, with what a buffer can do. */
export function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** All chunks as one. */
export function joined(chunks: readonly Uint8Array[]): Uint8Array {
  const [first] = chunks
  return chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks)
}
