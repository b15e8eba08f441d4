import { describe, expect, it } from 'vitest'
import type { Fact } from './facts.ts'
import { Witness } from './fidelity.ts'
import { piecesOf } from './pieces.ts'
import { openRecording } from './recording.ts'
import { Sightings } from './sightings.ts'

const said = 'line one\nbooking reference is ABC-1234 for the long flight\nlisting.txt\n'
const recording = openRecording({
  id: 'a',
  messages: [
    { role: 'user', content: said },
    { role: 'assistant', content: 'ok' },
  ],
})

async function fate(value: string, view: string, recover?: (text: string) => boolean) {
  const witness = new Witness(recording, new Sightings())
  const fact: Fact = { value, place: 'arguments', first: 0, age: 1 }
  const pieces = piecesOf([{ role: 'user', content: view }])
  const fates = await witness.fates([fact], pieces, { until: 1, ...(recover && { recover }) })
  return fates[0]
}

describe('Witness', () => {
  it('[W3] calls a fact anchored where its message stands as it was', async () => {
    expect(await fate('ABC-1234', said)).toBe('anchored')
  })

  it('[W3] calls it anchored in rewritten text with two of its neighbours on the same line', async () => {
    expect(await fate('ABC-1234', '[memory] booking reference ABC-1234')).toBe('anchored')
    expect(await fate('ABC-1234', 'flight ABC-1234')).toBe('bare')
    expect(await fate('ABC-1234', 'booking reference\nABC-1234')).toBe('bare')
  })

  it('[W3] asks for no neighbours where the original line has none', async () => {
    expect(await fate('listing.txt', 'x: listing.txt')).toBe('anchored')
  })

  it('[W3] calls it recoverable behind an id that the request prints, else lost', async () => {
    const recover = (text: string) => text.includes('e7k2')
    expect(await fate('ABC-1234', '[Omitted: expand e7k2]', recover)).toBe('recoverable')
    expect(await fate('ABC-1234', '[Omitted]', recover)).toBe('lost')
    expect(await fate('ABC-1234', 'ABC-12345', recover)).toBe('lost')
  })
})
