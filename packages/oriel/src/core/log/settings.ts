// The settings of a thread's log: one table of what each name holds. Nothing else knows the names,
// and no value is used before it was checked against its row.

import { type Block, isBlock } from './block.ts'
import type { Draft, Entry, SettingEntry } from './entry.ts'
import { assert, OrielError } from './errors.ts'
import { isJsonObject, isObject, type Json, type JsonObject } from './json.ts'

/** A setting entry without what the log itself gives it. */
export type SettingBody = Pick<SettingEntry, 'type' | 'name' | 'value'>

type Check<T> = (value: unknown) => value is T

/** A setting of one name. The newest entry of that name holds. */
export class Setting<T> {
  readonly name: string
  readonly #check: Check<T>

  constructor(name: string, check: Check<T>) {
    this.name = name
    this.#check = check
  }

  /** What is written. A value that could not be read back is not. */
  body(value: T): SettingBody {
    assert(this.#check(value), `a value of the setting ${this.name} fits it`)
    // Every row of the table holds JSON.
    return { type: 'setting', name: this.name, value: value as Json }
  }

  /** True for an entry of this name, whatever its value. */
  names(entry: Entry): entry is SettingEntry {
    return entry.type === 'setting' && entry.name === this.name
  }

  /** The value, for those who rely on it. Throws 'corrupt-entry' where it does not fit. */
  read({ seq, value }: SettingEntry): T {
    if (this.#check(value)) return value
    throw new OrielError(
      'corrupt-entry',
      `Entry ${seq} holds no valid value of the setting ${this.name}. Run \`oriel doctor\`.`,
      { details: { seq } },
    )
  }

  /** The value of an entry of this name, for those who can do without: undefined where it does not fit. */
  find(entry: Entry): T | undefined {
    return this.names(entry) && this.#check(entry.value) ? entry.value : undefined
  }
}

/** Settings whose names share a prefix; the rest of the name is the key. */
export class KeyedSetting<T> {
  readonly #prefix: string
  readonly #check: Check<T>
  readonly #write: (key: string) => string

  /** `write` is the form in which a key stands in the name. @default as it is */
  constructor(prefix: string, check: Check<T>, write = (key: string): string => key) {
    this.#prefix = prefix
    this.#check = check
    this.#write = write
  }

  at(key: string): Setting<T> {
    return new Setting(`${this.#prefix}${this.#write(key)}`, this.#check)
  }

  /** Those among a list of names, in their order. */
  among(names: readonly string[]): readonly Setting<T>[] {
    return names
      .filter((name) => this.#keyIn(name) !== undefined)
      .map((name) => new Setting(name, this.#check))
  }

  /** The key in the name of an entry; undefined for every other entry. */
  keyOf(entry: Entry): string | undefined {
    return entry.type === 'setting' ? this.#keyIn(entry.name) : undefined
  }

  /** The keys in a list of names, in their order. */
  keysIn(names: readonly string[]): readonly string[] {
    return names.flatMap((name) => this.#keyIn(name) ?? [])
  }

  /** As `Setting.find`, with the key. */
  find(entry: Entry): { readonly key: string; readonly value: T } | undefined {
    const key = this.keyOf(entry)
    if (key === undefined || entry.type !== 'setting') return undefined
    return this.#check(entry.value) ? { key, value: entry.value } : undefined
  }

  #keyIn(name: string): string | undefined {
    return name.startsWith(this.#prefix) ? name.slice(this.#prefix.length) : undefined
  }
}

/** The first entry of a log. */
export interface Header {
  /** Ids of entries derive from it. */
  readonly salt: string
  /** The name of the counter, fixed for the thread. */
  readonly tokens: string
  readonly version: number
  /** The scope that the thread began in; absent for one that shares nothing with others. */
  readonly scope?: JsonObject
}

/** The stored form of the header; raised when its meaning changes. */
export const headerVersion = 1

/** A position in another log. */
interface ForkedFrom extends JsonObject {
  readonly thread: string
  readonly seq: number
}

/** Every setting of a thread's log. Names are stored, so they never change. */
export const settings = {
  header: new Setting('thread', isHeader),
  /** A parsed policy; which parts there are is known to the policy's schema. */
  policy: new Setting('policy', isJsonObject),
  /** Since which position the policy is that of requests which bring it along; 0 for a policy of the thread's own. */
  requestPolicy: new Setting('request-policy', isSeq),
  /** What was stored for the agent at the newest view. */
  agentSettings: new Setting('agent-settings', isJsonObject),
  /** System messages in front of a resent history. */
  leading: new Setting('leading', isDrafts),
  /** What plugins say in the system prompt. */
  pluginSystem: new Setting('plugin-system', isBlocks),
  /** In a fork: where it began. What stands before this entry is a copy of the parent's log. */
  forkedFrom: new Setting('forked-from', isForkedFrom),
  /** In a parent: the id of a fork, and where it began. */
  fork: new KeyedSetting('fork/', isFork),
  /** A frame by its hash, once, when it first comes. */
  frame: new KeyedSetting('frame/', isJsonObject, (hash) => hash.slice(0, 32)),
  /** A model's summary by the key of its source. */
  summary: new KeyedSetting('summary/', isText),
  /** How relevant a result is to what came after it, by the key of both, where that took a job. */
  relevance: new KeyedSetting('relevance/', isScore),
  /** A file that was written for this thread: the hash of its content, and its directory. */
  outputFile: new KeyedSetting('output-file/', isText),
  /** The name of the expand tool, once it was added to a request of the thread: it stays. Forks inherit it. */
  expandTool: new Setting('expand-tool', isText),
  /** The tool definitions that requests carry where most are deferred, and the name of the search. Forks inherit it. */
  shownTools: new Setting('shown-tools', isShownTools),
  /** What is recalled behind a user's message: where it stands in this log or in others, never its words. */
  recall: new Setting('recall', isRecalled),
  /** The lasting instructions of the scope that requests carry, by their ids. */
  lasting: new Setting('lasting', isTexts),
  /** The host's own; forks inherit them. */
  host: new KeyedSetting('host/', isJson, hostKey),
} as const

/** Settings of which the policy in force is made. */
export const policySettings = [settings.policy, settings.agentSettings] as const

/** Reads the first entry of a log. */
export function headerOf(entry: Entry): Header {
  if (!settings.header.names(entry)) {
    throw new OrielError(
      'corrupt-entry',
      'The log does not begin with a header. Run `oriel doctor`.',
    )
  }
  const { value } = entry
  // Whatever else a later version says there, it says its version.
  const version = isObject(value) ? value.version : undefined
  if (typeof version === 'number' && version > headerVersion) {
    throw new OrielError(
      'schema-version',
      `The thread was written by a later version (${version}; this one knows ${headerVersion}). Update Oriel.`,
    )
  }
  return settings.header.read(entry)
}

function isHeader(value: unknown): value is Header {
  if (!isObject(value)) return false
  const { salt, tokens, version } = value
  return typeof salt === 'string' && typeof tokens === 'string' && typeof version === 'number'
}

function isForkedFrom(value: unknown): value is ForkedFrom {
  return isObject(value) && typeof value.thread === 'string' && isSeq(value.seq)
}

function isFork(value: unknown): value is { readonly seq: number } {
  return isObject(value) && isSeq(value.seq)
}

function isSeq(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

const roles: readonly unknown[] = ['system', 'user', 'assistant', 'tool']

function isDrafts(value: unknown): value is readonly Draft[] {
  return Array.isArray(value) && value.every(isDraft)
}

function isDraft(value: unknown): boolean {
  if (!isObject(value) || !roles.includes(value.role)) return false
  return typeof value.content === 'string' || isBlocks(value.content)
}

function isBlocks(value: unknown): value is readonly Block[] {
  return Array.isArray(value) && value.every(isBlock)
}

/** Passages that are shown behind a message. */
export interface RecalledPassages extends JsonObject {
  /** The message. */
  readonly for: number
  /** Thread (empty for this one), seq, block, inner block or -1, from, to. */
  readonly passages: readonly (readonly [string, number, number, number, number, number])[]
}

function isRecalled(value: unknown): value is RecalledPassages {
  if (!isObject(value) || !isSeq(value.for) || !Array.isArray(value.passages)) return false
  return value.passages.every(
    (row: unknown) =>
      Array.isArray(row) &&
      row.length === 6 &&
      typeof row[0] === 'string' &&
      row.slice(1).every((number) => Number.isSafeInteger(number)),
  )
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(isText)
}

function isScore(value: unknown): value is number {
  return typeof value === 'number'
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

function isShownTools(
  value: unknown,
): value is JsonObject & { readonly find: string; readonly names: readonly string[] } {
  if (!isObject(value) || typeof value.find !== 'string') return false
  return Array.isArray(value.names) && value.names.every(isText)
}

/** Whatever a log holds is JSON. */
function isJson(value: unknown): value is Json {
  return value !== undefined
}

function hostKey(name: string): string {
  if (/^[\w.-]{1,100}$/.test(name)) return name
  const message = 'The name of a setting has 1 to 100 letters, digits or any of . _ -'
  throw new OrielError('invalid-option', message, { path: 'name' })
}
