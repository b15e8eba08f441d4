// Hashes as databases keep them: bytes, half as long as their hex text.

import { hash } from 'node:crypto'

/** Eight bytes to find an entry by the caller's id; who has them must still compare the id itself. */
export function externalKey(salt: string, externalId: string): Uint8Array {
  return hash('sha256', `${salt} external ${JSON.stringify(externalId)}`, 'buffer').subarray(0, 8)
}

export function toHex(bytes: unknown): string {
  return bytes instanceof Uint8Array
    ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('hex')
    : ''
}

export function fromHex(text: string): Uint8Array {
  return Buffer.from(text, 'hex')
}
