// Base64 encoding of binary data in foreign messages.

/** Chunk size: a function call has a limited number of arguments. */
const pieceLength = 0x8000

/** Base64 of a byte array or buffer; undefined for anything else. */
export function bytesToBase64(value: object): string | undefined {
  const bytes = bytesOf(value)
  if (bytes === undefined) return undefined
  let text = ''
  for (let from = 0; from < bytes.length; from += pieceLength) {
    text += String.fromCharCode(...bytes.subarray(from, from + pieceLength))
  }
  return btoa(text)
}

function bytesOf(value: object): Uint8Array | undefined {
  if (value instanceof ArrayBuffer) return new Uint8Array(value)
  if (!(value instanceof Uint8Array)) return undefined
  return value
}
