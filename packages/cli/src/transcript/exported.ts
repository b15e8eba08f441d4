// The conversations of an export: what was said in each thread, as it was said, whatever a policy made of it later.

import {
  type Draft,
  type Entry,
  encode,
  type FormatName,
  formatNames,
  type MessageEntry,
  OrielError,
} from 'oriel'
import { formatNamed } from 'oriel/providers'
import { isWholeEntry, readLine } from '../import/reading.ts'
import type { Body } from './conversation.ts'
import { type Fields, isFields } from './detect.ts'
import type { Line } from './lines.ts'

export interface ReadExportOptions {
  /** The format to write the messages in. @default the one in which they came */
  readonly format?: FormatName | undefined
  readonly note: (text: string) => void
}

/** One conversation for each thread in which something was said. Hashes are for `oriel import` to check. */
export async function* readExport(
  lines: AsyncIterable<Line>,
  { format, note }: ReadExportOptions,
): AsyncGenerator<Body> {
  let thread: ExportedThread | undefined
  let torn: Line | undefined
  for await (const line of lines) {
    if (torn !== undefined) throw notOfExport(torn)
    const reading = readLine(line.text)
    if (reading.type === 'entry' && isWholeEntry(reading.line.entry)) {
      thread?.take(reading.line.entry)
    } else if (reading.type === 'header' || reading.type === 'end') {
      yield* thread?.bodies(format) ?? []
      thread = reading.type === 'header' ? new ExportedThread(reading.header.thread) : undefined
    } else torn = line
  }
  // A file that was cut off has no closing line.
  yield* thread?.bodies(format) ?? []
  if (torn !== undefined) note(`line ${torn.number}, the last one, is torn and was skipped`)
}

function notOfExport({ number }: Line): OrielError {
  return new OrielError(
    'invalid-input',
    `line ${number} is not of an export; oriel import says more`,
  )
}

class ExportedThread {
  readonly #id: string
  readonly #messages: MessageEntry[] = []
  readonly #settings = new Map<string, unknown>()
  #frameHash = ''
  #format: string | undefined

  constructor(id: string) {
    this.#id = id
  }

  take(entry: Entry): void {
    if (entry.type === 'message' && isSaid(entry)) this.#messages.push(entry)
    else if (entry.type === 'setting') this.#settings.set(entry.name, entry.value)
    else if (entry.type === 'request') {
      this.#frameHash = entry.frameHash
      this.#format = entry.format
    }
  }

  *bodies(wanted: FormatName | undefined): Generator<Body> {
    if (this.#messages.length === 0) return
    const format = wanted ?? this.#ownFormat()
    const drafts = [...this.#leading(), ...this.#messages.map(draftOf)]
    const { messages, system } = encode(format, drafts)
    const frame = this.#frame()
    const around = frame.system ?? system
    const { system: key } = formatNamed(format).fields
    yield {
      id: this.#id,
      format,
      fields: {
        ...(around === undefined ? {} : { [key]: around }),
        ...(frame.tools === undefined ? {} : { tools: frame.tools }),
      },
      messages,
    }
  }

  /** The format in which its messages came; for those that came in none, the one in which they were asked for. */
  #ownFormat(): FormatName {
    const came = this.#messages.map(({ source }) => source?.format)
    const known = formatNames.find((name) => came.includes(name))
    return known ?? formatNames.find((name) => name === this.#format) ?? 'openai-chat'
  }

  /** System messages that stood in front of a resent history. */
  #leading(): readonly Draft[] {
    const value = this.#settings.get('leading')
    return Array.isArray(value) ? (value as readonly Draft[]) : []
  }

  /** What stood around the messages of the newest request. */
  #frame(): Fields {
    const value = this.#settings.get(`frame/${this.#frameHash.slice(0, 32)}`)
    return isFields(value) ? value : {}
  }
}

/** Whether the model is to see it in later requests: notes for people and what was shown only once are no part of a history. */
function isSaid({ audience, blocks }: MessageEntry): boolean {
  return audience?.later !== false && blocks.some(isKept)
}

function isKept({ audience }: MessageEntry['blocks'][number]): boolean {
  return audience?.later !== false
}

function draftOf(message: MessageEntry): Draft {
  const { role, origin, tool, source, extra, native } = message
  const blocks = message.blocks.filter(isKept)
  const isWhole = blocks.length === message.blocks.length
  return {
    role,
    origin,
    content: blocks,
    ...(tool === undefined ? {} : { tool }),
    ...(source === undefined ? {} : { source }),
    ...(extra === undefined ? {} : { extra }),
    ...(native !== undefined && isWhole ? { native } : {}),
  }
}
