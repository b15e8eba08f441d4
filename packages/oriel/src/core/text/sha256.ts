// SHA-256 (FIPS 180-4) without a module of Node, for `project` in browsers. Threads hash with Node's own, which is faster.

/** SHA-256 of a text in UTF-8, as hexadecimal digits. */
export function sha256(text: string): string {
  const bytes = padded(new TextEncoder().encode(text))
  const view = new DataView(bytes.buffer)
  const state = Uint32Array.from(initial)
  const schedule = new Uint32Array(64)
  for (let at = 0; at < bytes.length; at += 64) {
    for (let i = 0; i < 16; i++) schedule[i] = view.getUint32(at + i * 4)
    compress(state, schedule)
  }
  return Array.from(state, (word) => word.toString(16).padStart(8, '0')).join('')
}

/** The bytes, a one bit, zeros, and the number of bits in the last eight bytes of a block. */
function padded(content: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(Math.ceil((content.length + 9) / 64) * 64)
  bytes.set(content)
  bytes[content.length] = 0x80
  const view = new DataView(bytes.buffer)
  view.setUint32(bytes.length - 8, Math.floor(content.length / 2 ** 29))
  view.setUint32(bytes.length - 4, content.length << 3)
  return bytes
}

// biome-ignore format: the names of the standard, in its order.
function compress(state: Uint32Array, w: Uint32Array): void {
  for (let i = 16; i < 64; i++) {
    const x = w[i - 15] as number
    const y = w[i - 2] as number
    const s0 = rotate(x, 7) ^ rotate(x, 18) ^ (x >>> 3)
    const s1 = rotate(y, 17) ^ rotate(y, 19) ^ (y >>> 10)
    w[i] = (w[i - 16] as number) + s0 + (w[i - 7] as number) + s1
  }
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state
  for (let i = 0; i < 64; i++) {
    const s1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)
    const t1 = (h + s1 + ((e & f) ^ (~e & g)) + (constants[i] as number) + (w[i] as number)) | 0
    const s0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)
    const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0
    h = g; g = f; f = e; e = (d + t1) | 0
    d = c; c = b; b = a; a = (t1 + t2) | 0
  }
  const mixed = [a, b, c, d, e, f, g, h]
  for (let i = 0; i < 8; i++) state[i] = (state[i] as number) + (mixed[i] as number)
}

function rotate(word: number, by: number): number {
  return (word >>> by) | (word << (32 - by))
}

const primes = firstPrimes(64)
/** The first 32 bits of the fractional parts of the roots of primes. */
const fraction = (root: number): number => ((root - Math.floor(root)) * 2 ** 32) >>> 0
const initial = primes.slice(0, 8).map((prime) => fraction(Math.sqrt(prime)))
const constants = primes.map((prime) => fraction(Math.cbrt(prime)))

function firstPrimes(count: number): readonly number[] {
  const found: number[] = []
  for (let n = 2; found.length < count; n++)
    if (found.every((prime) => n % prime > 0)) found.push(n)
  return found
}
