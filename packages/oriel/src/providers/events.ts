// Cuts a stream into its events without changing a character.

import type { StreamEvent } from './splice.ts'
import { parseEvent } from './stream.ts'

/** An event ends with an empty line; lines end with LF, CR LF or CR. */
const boundary = /\r\n\r\n|\n\n|\r\r(?!\n)|\n\r\n|\r\n\n/g

/** The most that is held of one event: a longer one is passed on in pieces, unread. */
const maxEvent = 32 * 1024 * 1024

export class EventCutter {
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  #text = ''
  /** Where an end was last looked for: it may straddle two chunks. */
  #looked = 0

  /** The events that this chunk completes. */
  take(chunk: Uint8Array): readonly StreamEvent[] {
    this.#text += this.#decoder.decode(chunk, { stream: true })
    const events: StreamEvent[] = []
    let start = 0
    boundary.lastIndex = Math.max(0, this.#looked - 4)
    for (let found = boundary.exec(this.#text); found !== null; found = boundary.exec(this.#text)) {
      const end = found.index + found[0].length
      // A CR at the very end may be half of a line's end.
      if (end === this.#text.length && found[0] === '\r\r') break
      events.push(eventOf(this.#text.slice(start, end)))
      start = end
    }
    this.#text = this.#text.slice(start)
    this.#looked = this.#text.length
    if (this.#text.length > maxEvent) events.push(...this.rest())
    return events
  }

  /** What came after the last end. */
  rest(): readonly StreamEvent[] {
    const raw = this.#text
    this.#text = ''
    this.#looked = 0
    return raw === '' ? [] : [eventOf(raw)]
  }
}

function eventOf(raw: string): StreamEvent {
  const lines = raw.split(/\r\n|\n|\r/).filter((line) => line.startsWith('data:'))
  const data = lines.map((line) => line.slice(line.charAt(5) === ' ' ? 6 : 5)).join('\n')
  return { raw, data, value: parseEvent(data) }
}
