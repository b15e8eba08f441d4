// One note that stands for messages which were folded away: what they were, and how to get them back.

import { textOf } from '../log/block.ts'
import type { MessageEntry } from '../log/entry.ts'
import { isObject, type JsonObject } from '../log/json.ts'
import { isCall } from '../state/exchange.ts'
import { head } from './clip.ts'

/** How many of the folded user messages are quoted, the newest ones. */
const quotedMessages = 3
const quotedLength = 120
const namedTools = 6
/** Tools that are counted at all: a digest must stay small whatever a conversation does. */
const countedTools = 64

/** Collects folded messages one by one; `text` is short whatever their number. */
export class Digest {
  readonly #counts = new Map<string, number>()
  readonly #tools = new Map<string, { readonly count: number; readonly seq: number }>()
  #quotes: { readonly text: string; readonly seq: number }[] = []
  #first = ''
  #last = ''
  #total = 0

  /** Goes on from what `data` of an earlier digest holds, without what comes from messages that models may no longer read. */
  static from(data: JsonObject | undefined, isWithdrawn: IsWithdrawn = () => false): Digest {
    const digest = new Digest()
    if (data === undefined) return digest
    digest.#total = Number(data.total ?? 0)
    digest.#first = String(data.first ?? '')
    digest.#last = String(data.last ?? '')
    for (const [role, count] of rowsOf(data.counts)) digest.#counts.set(String(role), Number(count))
    for (const [tool, count, from] of rowsOf(data.tools)) {
      const seq = seqIn(from)
      if (!isWithdrawn(seq)) digest.#tools.set(String(tool), { count: Number(count), seq })
    }
    for (const [text, from] of rowsOf(data.quotes)) {
      const seq = seqIn(from)
      if (!isWithdrawn(seq)) digest.#quotes.push({ text: String(text), seq })
    }
    return digest
  }

  data(): JsonObject {
    return {
      total: this.#total,
      first: this.#first,
      last: this.#last,
      counts: [...this.#counts],
      tools: [...this.#tools].map(([name, { count, seq }]) => [name, count, seq]),
      quotes: this.#quotes.map(({ text, seq }) => [text, seq]),
    }
  }

  get size(): number {
    return this.#total
  }

  /** Takes in a message as a model may read it. */
  add(entry: MessageEntry): void {
    const { blocks, seq } = entry
    this.#total += 1
    this.#counts.set(entry.role, (this.#counts.get(entry.role) ?? 0) + 1)
    for (const block of blocks) {
      if (!isCall(block)) continue
      const name = head(block.name, 40)
      const known = this.#tools.get(name)
      if (known !== undefined || this.#tools.size < countedTools) {
        this.#tools.set(name, { count: (known?.count ?? 0) + 1, seq })
      }
    }
    if (entry.role === 'user') {
      const quote = head(textOf(blocks).replaceAll(/\s+/g, ' ').trim(), quotedLength)
      if (quote !== '') {
        this.#quotes = [...this.#quotes, { text: quote, seq }].slice(-quotedMessages)
      }
    }
    if (this.#first === '') this.#first = entry.id
    this.#last = entry.id
  }

  /** The note; `brief` leaves out everything but the count. */
  text(brief: boolean): string {
    if (this.#total === 0) return '[Earlier messages left out; none of them is for the model]'
    const [first, last] = [this.#first, this.#last]
    const range = first === last ? `expand ${first}` : `expand ${first} to ${last}`
    const what = `${this.#total} earlier message${this.#total === 1 ? '' : 's'} left out`
    if (brief) return `[${what}; ${range}]`
    const roles = ['user', 'assistant', 'tool']
      .flatMap((role) => (this.#counts.has(role) ? [`${this.#counts.get(role)} ${role}`] : []))
      .join(', ')
    const parts = [`${what} (${roles})`]
    if (this.#tools.size > 0) {
      const tools = [...this.#tools.entries()]
        .sort(([, a], [, b]) => b.count - a.count)
        .slice(0, namedTools)
      parts.push(`tools used: ${tools.map(([name, { count }]) => `${name} x${count}`).join(', ')}`)
    }
    for (const { text } of this.#quotes) {
      parts.push(`a user message began: ${JSON.stringify(text)}`)
    }
    return `[${[...parts, range].join('; ')}]`
  }
}

/** Whether models may no longer read the message at `seq`; asked with 0 where it is not known which message it was. */
export type IsWithdrawn = (seq: number) => boolean

/** Rows of kept data. A bare text is a row without its source: that is how it was kept before sources were. */
export function rowsOf(value: unknown): readonly (readonly unknown[])[] {
  if (!Array.isArray(value)) return []
  return value.flatMap((row): (readonly unknown[])[] =>
    Array.isArray(row) ? [row] : typeof row === 'string' ? [[row]] : [],
  )
}

/** The message that a row comes from; 0 where that was not kept. */
export function seqIn(value: unknown): number {
  return typeof value === 'number' ? value : 0
}

/** The newest of each that are listed: a listing must stay small whatever a conversation does. */
const maxFiles = 40
const maxCommands = 20
const maxLength = 160
/** Arguments longer than this are not read: paths stand in short ones, or at their start. */
const inspectedLength = 100_000

const pathKeys = [
  'path',
  'file_path',
  'filePath',
  'file',
  'filename',
  'fileName',
  'target_file',
  'notebook_path',
  'absolute_path',
  'relative_path',
] as const
const listKeys = ['paths', 'files'] as const
const commandKeys = ['command', 'cmd', 'script'] as const
/** Names of tools that change what they name. */
const changing =
  /write|edit|create|patch|replace|delete|remove|move|rename|insert|update|append|save|apply/i

/** Collects what calls name, newest last, each once. */
export class Listing {
  readonly #changed: Recent
  readonly #read: Recent
  readonly #commands: Recent

  /** Goes on from what `data` of an earlier one holds, without what comes from messages that models may no longer read. */
  constructor(data: JsonObject = {}, isWithdrawn: IsWithdrawn = () => false) {
    this.#changed = new Recent(maxFiles, data.changed, isWithdrawn)
    this.#read = new Recent(maxFiles, data.read, isWithdrawn)
    this.#commands = new Recent(maxCommands, data.commands, isWithdrawn)
  }

  data(): JsonObject {
    return {
      changed: this.#changed.data(),
      read: this.#read.data(),
      commands: this.#commands.data(),
    }
  }

  /** Takes in a message as a model may read it. */
  add({ blocks, seq }: MessageEntry): void {
    for (const block of blocks) {
      if (!isCall(block) || block.arguments.length > inspectedLength) continue
      const input = parse(block.arguments)
      if (input === undefined) continue
      const files = changing.test(block.name) ? this.#changed : this.#read
      for (const path of pathsIn(input)) files.add(path, seq)
      for (const key of commandKeys) {
        const command = input[key]
        if (typeof command === 'string') this.#commands.add(command, seq)
        else if (Array.isArray(command)) this.#commands.add(command.map(String).join(' '), seq)
      }
    }
  }

  /** One line for each kind that there is; empty where there is nothing. */
  text(): string {
    const changed = this.#changed.values()
    const read = this.#read.values().filter((path) => !changed.includes(path))
    const lines = [
      line('Files changed', changed, ', '),
      line('Files read', read, ', '),
      line('Commands run', this.#commands.values(), '; '),
    ]
    return lines.filter((one) => one !== '').join('\n')
  }
}

/** The newest values, each once, with the newest message that named it. */
class Recent {
  readonly #limit: number
  readonly #values = new Map<string, number>()

  constructor(limit: number, values: unknown, isWithdrawn: IsWithdrawn) {
    this.#limit = limit
    for (const [value, from] of rowsOf(values)) {
      const seq = seqIn(from)
      if (!isWithdrawn(seq)) this.#values.set(String(value), seq)
    }
  }

  add(text: string, seq: number): void {
    const value = head(text.toWellFormed().replaceAll(/\s+/g, ' ').trim(), maxLength)
    if (value === '') return
    this.#values.delete(value)
    this.#values.set(value, seq)
    if (this.#values.size <= this.#limit) return
    const [oldest] = this.#values.keys()
    this.#values.delete(oldest as string)
  }

  values(): readonly string[] {
    return [...this.#values.keys()]
  }

  data(): [string, number][] {
    return [...this.#values]
  }
}

function line(title: string, values: readonly string[], separator: string): string {
  return values.length === 0 ? '' : `${title}: ${values.join(separator)}`
}

function pathsIn(input: Readonly<Record<string, unknown>>): readonly string[] {
  const single = pathKeys.flatMap((key) => input[key] ?? [])
  const several = listKeys.flatMap((key) => input[key] ?? [])
  return [...single, ...several].filter((path) => typeof path === 'string')
}

function parse(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
