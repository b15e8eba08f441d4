// Conversations in an export: the original messages of each thread, without edits.

import {
  type Draft,
  type Entry,
  encode,
  type FormatName,
  formatNames,
  type JsonObject,
  type MessageEntry,
  OrielError,
} from 'oriel'
import { settings } from 'oriel/inspect'
import { formatNamed } from 'oriel/providers'
import { isWholeEntry, readLine } from '../import/export-line.ts'
import type { Body } from './conversation.ts'
import type { Fields } from './detect.ts'
import type { Line } from './lines.ts'

export interface ReadExportOptions {
  /** The output format of the messages. @default their original format */
  readonly format?: FormatName | undefined
  readonly note: (text: string) => void
}

/** One conversation per non-empty thread. Hashes are checked by `oriel import` only. */
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
  // A truncated file has no end line.
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
  /** System messages before a resent history. */
  #leading: readonly Draft[] = []
  readonly #frames = new Map<string, JsonObject>()
  #frameHash = ''
  #format: string | undefined

  constructor(id: string) {
    this.#id = id
  }

  take(entry: Entry): void {
    if (entry.type === 'message' && isSaid(entry)) this.#messages.push(entry)
    else if (entry.type === 'request') {
      this.#frameHash = entry.frameHash
      this.#format = entry.format
    }
    this.#leading = settings.leading.find(entry) ?? this.#leading
    const frame = settings.frame.find(entry)
    if (frame !== undefined) this.#frames.set(settings.frame.at(frame.key).name, frame.value)
  }

  *bodies(wanted: FormatName | undefined): Generator<Body> {
    if (this.#messages.length === 0) return
    const format = wanted ?? this.#ownFormat()
    const drafts = [...this.#leading, ...this.#messages.map(draftOf)]
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

  /** The original format of its messages; if they have none, the format of its requests. */
  #ownFormat(): FormatName {
    const came = this.#messages.map(({ source }) => source?.format)
    const known = formatNames.find((name) => came.includes(name))
    return known ?? formatNames.find((name) => name === this.#format) ?? 'openai-chat'
  }

  /** The frame of the newest request. */
  #frame(): Fields {
    return this.#frames.get(settings.frame.at(this.#frameHash).name) ?? {}
  }
}

/**
 * True if later requests may show it. Notes for people and one-time content are not part of a
 * history.
 */
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
