// Compaction blocks that a gateway makes in the place of a provider: what they carry says that they are ours, and holds the summary, so that
// it can be read where the log is not.

import type { Audience } from '../core/log/block.ts'
import type { Json } from '../core/log/json.ts'

/** What no model is sent. */
export const forPeople: Audience = { now: false, later: false }

const mark = 'oriel1.'

/** What stands where a provider has its encrypted content. `id` tells it from any other compaction. */
export function sealCompaction(id: string, summary: string): string {
  return mark + encode(JSON.stringify([id, summary]))
}

/** Whether a block's encrypted content is ours. */
export function isOwnCompaction(sealed: Json | undefined): sealed is string {
  return typeof sealed === 'string' && sealed.startsWith(mark)
}

/** The summary in it; undefined where it is not ours, or was changed. */
export function openCompaction(sealed: Json | undefined): string | undefined {
  if (!isOwnCompaction(sealed)) return undefined
  try {
    const [, summary] = JSON.parse(decode(sealed.slice(mark.length))) as readonly unknown[]
    return typeof summary === 'string' ? summary : undefined
  } catch {
    return undefined
  }
}

/** Base64 of UTF-8, in pages too. */
function encode(text: string): string {
  const bytes = new TextEncoder().encode(text)
  let binary = ''
  for (const byte of bytes) binary += String.fromCharCode(byte)
  return btoa(binary)
}

function decode(text: string): string {
  return new TextDecoder().decode(Uint8Array.from(atob(text), (one) => one.charCodeAt(0)))
}
