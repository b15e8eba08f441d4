// Base64 of binary data in foreign messages, with what every platform of the web has.

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

/** Base64 of a text in UTF-8. */
export function textToBase64(text: string): string {
  // Bytes always have a text.
  return bytesToBase64(new TextEncoder().encode(text)) as string
}

/** The text that base64 stands for; `isExact` says whether its bytes are UTF-8. Lenient: what is no digit is passed over. */
export function base64ToText(base64: string): { readonly text: string; readonly isExact: boolean } {
  const [written = ''] = base64.split('=')
  const digits = written
    .replaceAll('-', '+')
    .replaceAll('_', '/')
    .replaceAll(/[^A-Za-z0-9+/]/g, '')
  // A single digit at the end is no whole byte.
  const whole = digits.length % 4 === 1 ? digits.slice(0, -1) : digits
  const bytes = Uint8Array.from(atob(whole), (one) => one.charCodeAt(0))
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
  const again = new TextEncoder().encode(text)
  const isExact =
    again.length === bytes.length && again.every((byte, index) => byte === bytes[index])
  return { text, isExact }
}

function bytesOf(value: object): Uint8Array | undefined {
  if (value instanceof ArrayBuffer) return new Uint8Array(value)
  if (!(value instanceof Uint8Array)) return undefined
  return value
}
