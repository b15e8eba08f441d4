// Transcript reader: JSON or JSONL, from files or standard input, one conversation at a time.

import { createReadStream } from 'node:fs'
import { type FormatName, OrielError } from 'oriel'
import { isExport } from '../import/export-line.ts'
import { type Body, type Conversation, readValue, toConversation } from './conversation.ts'
import type { Fields } from './detect.ts'
import { readExport } from './export-file.ts'
import { type Line, maxValueLength, readLines, tooLong } from './lines.ts'

export interface ReadOptions {
  /** The format, if known. @default detected per conversation */
  readonly format?: FormatName | undefined
  /** The stream for `-`. */
  readonly stdin: AsyncIterable<Uint8Array>
  /** Called for everything that was left out. */
  readonly onNote: (note: Note) => void
  /** Called with the number of bytes after each read. */
  readonly onBytes?: (bytes: number) => void
}

/** A note about the file for the user. */
export interface Note {
  readonly file: string
  readonly text: string
}

/**
 * The conversations of all files, in order. Throws OrielError with one clear sentence if a file
 * cannot be used.
 */
export async function* readTranscripts(
  files: readonly string[],
  options: ReadOptions,
): AsyncGenerator<Conversation> {
  let number = 0
  for (const file of files) {
    let fallback: FormatName | undefined
    for await (const body of readFile(file, options)) {
      number += 1
      const conversation = toConversation(body, { number, file, format: options.format, fallback })
      // A conversation without evidence is assumed to have the format of the previous one.
      fallback = conversation.detection.format
      yield conversation
    }
  }
}

async function* readFile(file: string, options: ReadOptions): AsyncGenerator<Body> {
  const name = file === '-' ? 'standard input' : file
  let found = 0
  try {
    const source = file === '-' ? options.stdin : createReadStream(file)
    for await (const body of readBodies(counted(source, options.onBytes), name, options)) {
      found += 1
      yield body
    }
  } catch (error) {
    throw readable(error, name)
  }
  if (found > 0) return
  throw new OrielError(
    'invalid-input',
    `${name}: no conversation found; expected OpenAI chat, OpenAI Responses, Anthropic, Gemini, AI SDK or LangChain messages, as JSON or JSONL.`,
  )
}

async function* counted(
  source: AsyncIterable<Uint8Array>,
  onBytes: ReadOptions['onBytes'],
): AsyncGenerator<Uint8Array> {
  for await (const chunk of source) {
    onBytes?.(chunk.length)
    yield chunk
  }
}

/**
 * A file whose first of several lines is JSON is JSONL, of Oriel or others; anything else is one
 * value.
 */
async function* readBodies(
  source: AsyncIterable<Uint8Array>,
  file: string,
  { format, onNote }: ReadOptions,
): AsyncGenerator<Body> {
  const lines = withoutBlanks(readLines(source))
  const first = await lines.next()
  if (first.done === true) return
  const value = parse(first.value.text)
  const note = (text: string): void => onNote({ file, text })
  if (value === undefined) {
    yield* bodiesOf(await readWhole(first.value, lines))
  } else if (isExport(value.parsed)) {
    yield* readExport(from(first.value, lines), { format, note })
  } else {
    yield* readJsonLines(value.parsed, lines, note)
  }
}

async function* from(first: Line, lines: AsyncIterable<Line>): AsyncGenerator<Line> {
  yield first
  yield* lines
}

async function* readJsonLines(
  first: unknown,
  lines: AsyncIterable<Line>,
  note: (text: string) => void,
): AsyncGenerator<Body> {
  const loose: Fields[] = []
  let skipped = 0
  let torn: Line | undefined
  const take = function* (value: unknown): Generator<Body> {
    const reading = readValue(value)
    if (reading.type === 'conversations') yield* reading.bodies
    else if (reading.type === 'message') join(loose, reading.message)
    else skipped += 1
  }
  yield* take(first)
  for await (const line of lines) {
    if (torn !== undefined) throw notJson(`line ${torn.number} is not JSON`)
    const value = parse(line.text)
    if (value === undefined) torn = line
    else yield* take(value.parsed)
  }
  if (loose.length > 0) yield { fields: {}, messages: loose }
  if (torn !== undefined) note(`line ${torn.number}, the last one, is torn and was skipped`)
  if (skipped > 0) note(`${skipped} ${skipped === 1 ? 'line holds' : 'lines hold'} no message`)
}

/** Some agents log a message in pieces: one line per content part, all with the message's id. */
function join(messages: Fields[], message: Fields): void {
  const last = messages.at(-1)
  const isPiece =
    last !== undefined &&
    typeof message.id === 'string' &&
    message.id === last.id &&
    message.role === last.role &&
    Array.isArray(message.content) &&
    Array.isArray(last.content)
  if (!isPiece) messages.push(message)
  else {
    const content = [...(last.content as unknown[]), ...(message.content as unknown[])]
    messages[messages.length - 1] = { ...last, content }
  }
}

async function readWhole(first: Line, lines: AsyncIterable<Line>): Promise<unknown> {
  const texts = [first.text]
  let length = first.text.length
  for await (const { text } of lines) {
    texts.push(text)
    length += text.length
    if (length > maxValueLength) throw tooLong(first.number)
  }
  const text = texts.join('\n')
  try {
    return JSON.parse(text)
  } catch (error) {
    // The parser's message quotes content, so use only its position.
    const place = /\(line (\d+) column (\d+)\)/.exec(String(error))
    const where = place === null ? '' : ` after line ${place[1]}, column ${place[2]}`
    throw notJson(texts.length === 1 ? 'it is not JSON' : `it is not JSON${where}`)
  }
}

function* bodiesOf(value: unknown): Generator<Body> {
  const reading = readValue(value)
  if (reading.type === 'conversations') yield* reading.bodies
  if (reading.type === 'message') yield { fields: {}, messages: [reading.message] }
}

async function* withoutBlanks(lines: AsyncIterable<Line>): AsyncGenerator<Line> {
  for await (const line of lines) if (line.text.trim() !== '') yield line
}

function parse(text: string): { readonly parsed: unknown } | undefined {
  try {
    return { parsed: JSON.parse(text) }
  } catch {
    return undefined
  }
}

function notJson(problem: string): OrielError {
  return new OrielError('invalid-input', `${problem}; check that the file is JSON or JSONL`)
}

function readable(error: unknown, name: string): unknown {
  if (OrielError.is(error)) {
    const text = error.message.startsWith(name) ? error.message : `${name}: ${error.message}.`
    return new OrielError(error.code, text, { cause: error })
  }
  const code = error instanceof Error && 'code' in error ? String(error.code) : undefined
  const reasons: Readonly<Record<string, string>> = {
    ENOENT: 'there is no such file; check the path',
    EACCES: 'it may not be read; check its permissions',
    EISDIR: 'it is a folder; name the files in it',
  }
  const reason = code === undefined ? undefined : (reasons[code] ?? `it cannot be read (${code})`)
  if (reason === undefined) return error
  return new OrielError('invalid-option', `${name}: ${reason}.`, { cause: error })
}
