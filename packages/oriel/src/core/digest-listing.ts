// Files and commands of calls that were folded away: listed mechanically, so that no summary can forget them.

import { head } from './clip.ts'
import { type IsWithdrawn, rowsOf, seqIn } from './digest.ts'
import type { MessageEntry } from './entry.ts'
import { isCall } from './exchange.ts'
import { isObject, type JsonObject } from './json.ts'

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
