// Digest: one note that replaces folded messages, with counts, quotes, and how to expand them; and
// the listing of files and commands.

import { type Block, textOf } from '../log/block.ts'
import type { MessageEntry } from '../log/entry.ts'
import { isObject, type JsonObject } from '../log/json.ts'
import { isCall } from '../state/exchange.ts'
import type { Counter } from '../tokens/counter.ts'
import { head, oneLine, shorten, tail } from './clip.ts'
import { directivesIn } from './directives.ts'

/** How many folded user messages are quoted in a note, the newest ones, and how many are kept for a checkpoint. */
const quotedMessages = 3
const quotedLength = 120
const keptRequests = 6
const keptLength = 160
/** Only the start of a message is searched for its request. */
const requestLength = 2000
const namedTools = 6
/** Maximum number of distinct tools, so that the digest stays small. */
const countedTools = 64

/** Collects folded messages one by one. The text stays short whatever their number. */
export class Digest {
  readonly #counts = new Map<string, number>()
  readonly #tools = new Map<string, { readonly count: number; readonly seq: number }>()
  #quotes: { readonly text: string; readonly seq: number }[] = []
  #first = ''
  #last = ''
  #total = 0

  /** Restores a digest from `data`, without content from withdrawn messages. */
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

  /** Adds a message, as a model may read it. */
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
      const quote = requestIn(blocks)
      if (quote !== '') this.#quotes = [...this.#quotes, { text: quote, seq }].slice(-keptRequests)
    }
    if (this.#first === '') this.#first = entry.id
    this.#last = entry.id
  }

  /** What folded user messages asked for, oldest first. With a limit the oldest are forgotten. */
  requests(room?: { readonly counter: Counter; readonly tokens: number }): readonly string[] {
    if (room !== undefined) {
      let left = room.tokens
      const kept = this.#quotes.findLastIndex(({ text }) => {
        left -= room.counter.count(text) + 6
        return left < 0
      })
      this.#quotes = this.#quotes.slice(kept + 1)
    }
    return this.#quotes.map(({ text }) => text)
  }

  /** The note: `brief` has the count and range; `closing` stands below the notes of a checkpoint; `whole` stands alone. */
  text(style: 'brief' | 'closing' | 'whole'): string {
    if (this.#total === 0) return '[Earlier messages left out; none of them is for the model]'
    const [first, last] = [this.#first, this.#last]
    const range = first === last ? `expand ${first}` : `expand ${first} to ${last}`
    const what = `${this.#total} earlier message${this.#total === 1 ? '' : 's'} left out`
    if (style === 'brief') return `[${what}; ${range}]`
    const roles = ['user', 'assistant', 'tool']
      .flatMap((role) => (this.#counts.has(role) ? [`${this.#counts.get(role)} ${role}`] : []))
      .join(', ')
    const parts = [`${what} (${roles})`]
    if (style === 'whole') parts.push(...this.#details())
    return `[${[...parts, range].join('; ')}]`
  }

  #details(): readonly string[] {
    const tools = [...this.#tools.entries()]
      .sort(([, a], [, b]) => b.count - a.count)
      .slice(0, namedTools)
      .map(([name, { count }]) => `${name} x${count}`)
    const quotes = this.#quotes
      .slice(-quotedMessages)
      .map(({ text }) => `a user message began: ${JSON.stringify(head(text, quotedLength))}`)
    return [...(tools.length === 0 ? [] : [`tools used: ${tools.join(', ')}`]), ...quotes]
  }
}

/** Cache: messages are immutable, and a budget folds the same ones at every step. */
const requests = new WeakMap<readonly Block[], string>()

/** What a message asks for, without the standing instructions in it: these are kept elsewhere, as long as they hold. */
function requestIn(blocks: readonly Block[]): string {
  const known = requests.get(blocks)
  if (known !== undefined) return known
  const start = head(textOf(blocks), requestLength)
  const rest = directivesIn(start).reduce((left, found) => left.replace(found.text, ' '), start)
  const request = head(oneLine(rest), keptLength)
  requests.set(blocks, request)
  return request
}

/** True if models may no longer read the message at `seq`; 0 means the source is unknown. */
export type IsWithdrawn = (seq: number) => boolean

/** Rows of stored data. A bare string is a row of an older version, without its source. */
export function rowsOf(value: unknown): readonly (readonly unknown[])[] {
  if (!Array.isArray(value)) return []
  return value.flatMap((row): (readonly unknown[])[] =>
    Array.isArray(row) ? [row] : typeof row === 'string' ? [[row]] : [],
  )
}

/** The source message of a row; 0 if unknown. */
export function seqIn(value: unknown): number {
  return typeof value === 'number' ? value : 0
}

/** Limits of the newest entries listed, so that the listing stays small. */
const maxFiles = 40
const maxCommands = 20
const maxLength = 160
/** Longer arguments are not parsed. */
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
/** Names of tools that modify their target. */
const changing =
  /write|edit|create|patch|replace|delete|remove|move|rename|insert|update|append|save|apply/i

/** Collects files and commands named in tool calls, newest last, deduplicated. */
export class Listing {
  readonly #changed: Recent
  readonly #read: Recent
  readonly #commands: Recent

  /** Restores a listing from `data`, without content from withdrawn messages. */
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

  /** Adds a message, as a model may read it. */
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

  /** One line per non-empty kind. */
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

/** Bounded set of the most recent values, each with the newest message that named it. */
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
    const value = head(oneLine(text), maxLength)
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

/** Arguments that name what a call is about, best first, beside paths and commands. */
const nameKeys = ['query', 'pattern', 'url', 'name', 'title', 'id', 'key', 'subject'] as const

/** What a call is about: the path, the command or another argument that names it, on one line; empty where none does. */
export function targetOf(text: string, length: number): string {
  const input = argumentsIn(text)
  if (input === undefined) return ''
  const [path] = pathsIn(input)
  if (path !== undefined) return shortPath(oneLine(path), Math.min(pathLength, length))
  const command = commandOf(input)
  if (command !== undefined) return shorten(bareCommand(command), length)
  const named = nameKeys.flatMap((key) => input[key] ?? [])
  const target = [...named, ...Object.values(input)].find(
    (value) => typeof value === 'string' && value.trim() !== '',
  )
  return typeof target === 'string' ? shorten(oneLine(target), length) : ''
}

/** The command of a call that runs one; undefined for other calls, and for those that name a path. */
export function commandIn(text: string): string | undefined {
  const input = argumentsIn(text)
  return input === undefined || pathsIn(input).length > 0 ? undefined : commandOf(input)
}

/** A word of a command that is a file: a path or a name with an extension. */
const fileWord = /^(?:[\w.@+~-]*\/)*[\w@+-][\w.@+-]*\.[A-Za-z]\w{0,7}$/

/** The one file that a command names; undefined where it names none or several. */
export function fileOf(command: string): string | undefined {
  const words = bareCommand(command).split(/[\s'"|;&<>()=]+/)
  const files = new Set(words.filter((word) => fileWord.test(word)))
  const [file] = files
  return files.size === 1 && file !== undefined && file.length <= maxLength ? file : undefined
}

/** Whether a tool changes its target, by its name. */
export function isChanging(tool: string): boolean {
  return changing.test(tool)
}

function commandOf(input: Readonly<Record<string, unknown>>): string | undefined {
  const [command] = commandKeys.flatMap((key) => {
    const value = input[key]
    if (Array.isArray(value)) return [value.map(String).join(' ')]
    return typeof value === 'string' && value.trim() !== '' ? [value] : []
  })
  return command
}

/** What a command does, without where it runs, its environment and the text that it is fed. */
function bareCommand(command: string): string {
  const [first = ''] = command.trimStart().split(/<<-?\s*['"]?\w+['"]?/, 1)
  const bare = oneLine(first)
    .replace(/^(?:cd \S+ ?(?:&&|;) ?|[A-Z_]+=\S+ )+/, '')
    .replace(/(?: 2>&1)?(?: \| (?:head|tail)(?: -n)? -?\d+)?$/, '')
  return bare === '' ? oneLine(head(command, maxLength)) : bare
}

/** Longer paths begin with an ellipsis. */
const pathLength = 44

/** The end of a path names the file. */
function shortPath(path: string, length: number): string {
  if (path.length <= length) return path
  const parts = path.split('/')
  let short = parts.pop() ?? ''
  while (parts.length > 0 && short.length + (parts.at(-1) as string).length + 3 <= length) {
    short = `${parts.pop()}/${short}`
  }
  return `…/${tail(short, length - 2)}`
}

function argumentsIn(text: string): Readonly<Record<string, unknown>> | undefined {
  return text.length > inspectedLength ? undefined : parse(text)
}

function parse(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
