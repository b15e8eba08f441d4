// Settings of agents, kept in a store beside the logs: which tool's results expire when, and how much history
// a chat has.

import type { Expiry, SettingEntry } from '../core/log/entry.ts'
import { OrielError } from '../core/log/errors.ts'
import { entryId } from '../core/log/ids.ts'
import { isObject } from '../core/log/json.ts'
import { assertOptions } from '../core/log/options.ts'
import { KeyedSetting, Setting, type SettingBody } from '../core/log/settings.ts'
import type { Store, ThreadKey } from './store.ts'

export interface AgentKey {
  /** @default 'default' */
  readonly tenant?: string
  readonly agent: string
}

/** One row: an agent's setting for a tool. What is left out has the column's default. */
export interface ToolSetting {
  /** Steps or turns until the result expires; null = never. @default null */
  readonly after?: number | null
  /** @default 'steps' */
  readonly unit?: 'steps' | 'turns' | null
  /** @default 'none' */
  readonly mode?: 'none' | 'remove' | 'compact'
  readonly compact?: 'first-chars' | 'summary' | null
  readonly length?: number | null
  /** The id of the prompt that summarizes it. */
  readonly prompt?: string | null
}

/** How much history a chat has: the window of the policy part `history`. */
export interface ChatSettings {
  readonly historyPolicy?: 'lastN' | 'all' | 'none'
  readonly historyLength?: number
}

/** What is stored for an agent, in the shape of the policy part `expiry`. */
export interface StoredSettings {
  readonly tools: Readonly<Record<string, Expiry>>
  readonly toolDefaults: Readonly<Record<string, { readonly prompt: string }>>
  /** Absent where nothing was saved. */
  readonly chat?: ChatSettings
}

/**
 * Contracts:
 * - What was saved is durable like an append, and each change stays in the log of settings.
 * - Tenants and agents do not see each other's settings. An agent that is unknown has none.
 * - Two writers at once: both changes hold, or one where they are of the same tool.
 */
export interface AgentSettings {
  read(key: AgentKey): Promise<StoredSettings>
  /** Sets a tool's row; null removes it. Names may be patterns, as in a policy. */
  saveTool(key: AgentKey, tool: string, setting: ToolSetting | null): Promise<void>
  /** Sets the prompt for a tool's summaries where its own row names none; null removes it. */
  saveToolDefault(key: AgentKey, tool: string, prompt: string | null): Promise<void>
  /** Sets what is named of the chat's history; null removes it. */
  saveChat(
    key: AgentKey,
    settings: { readonly [Name in keyof ChatSettings]: ChatSettings[Name] | null },
  ): Promise<void>
}

/** How often a writer that loses races tries again. */
const maxAttempts = 20
/** Ids of these entries are never shown to a model. */
const salt = 'settings'

/** Every setting of an agent's log; null removes a value. */
const rows = {
  tool: new KeyedSetting('tool/', isRow),
  toolDefault: new KeyedSetting('default/', isPrompt),
  historyPolicy: new Setting('chat/historyPolicy', isHistoryPolicy),
  historyLength: new Setting('chat/historyLength', isHistoryLength),
} as const

type SettingsStore = Pick<Store, 'append' | 'read' | 'list'>

/** Agents' settings over any store: a log of their own for each agent, of which the newest value of each name holds. */
export function agentSettings(store: SettingsStore, now: () => number = Date.now): AgentSettings {
  return {
    async read(key) {
      const tools: Record<string, Expiry> = {}
      const toolDefaults: Record<string, { prompt: string }> = {}
      const chat: { -readonly [Name in keyof ChatSettings]: ChatSettings[Name] } = {}
      for (const entry of (await newest(store, key)).entries) {
        const tool = rows.tool.find(entry)
        if (tool?.value) define(tools, tool.key, tool.value)
        const prompt = rows.toolDefault.find(entry)
        if (prompt?.value) define(toolDefaults, prompt.key, { prompt: prompt.value })
        const policy = rows.historyPolicy.find(entry)
        if (policy != null) chat.historyPolicy = policy
        const length = rows.historyLength.find(entry)
        if (length != null) chat.historyLength = length
      }
      return { tools, toolDefaults, ...(Object.keys(chat).length === 0 ? {} : { chat }) }
    },
    async saveTool(key, tool, setting) {
      const row = setting === null ? null : rowOf(setting)
      await save(store, key, [rows.tool.at(nameOf(tool)).body(row)], now())
    },
    async saveToolDefault(key, tool, prompt) {
      if (!isPrompt(prompt)) throw wrong('prompt', "a prompt's id, or null")
      await save(store, key, [rows.toolDefault.at(nameOf(tool)).body(prompt)], now())
    },
    async saveChat(key, settings) {
      assertOptions(settings, { historyPolicy: true, historyLength: true }, 'saveChat')
      const { historyPolicy, historyLength } = settings
      if (historyPolicy !== undefined && !isHistoryPolicy(historyPolicy)) {
        throw wrong('historyPolicy', 'lastN, all or none')
      }
      if (historyLength !== undefined && !isHistoryLength(historyLength)) {
        throw wrong('historyLength', 'a whole number, 0 or more')
      }
      const changes = [
        ...(historyPolicy === undefined ? [] : [rows.historyPolicy.body(historyPolicy)]),
        ...(historyLength === undefined ? [] : [rows.historyLength.body(historyLength)]),
      ]
      if (changes.length > 0) await save(store, key, changes, now())
    },
  }
}

async function save(
  store: SettingsStore,
  key: AgentKey,
  changes: readonly SettingBody[],
  at: number,
): Promise<void> {
  let fresh: ThreadKey | undefined
  for (let attempt = 1; ; attempt++) {
    const { version, place } = await newest(store, key)
    const entries = changes.map(({ type, name, value }, index): SettingEntry => {
      const seq = version + 1 + index
      return { type, id: entryId(salt, seq), seq, at, name, value }
    })
    try {
      await store.append(version === 0 ? (fresh ?? place) : place, entries, version)
      return
    } catch (error) {
      // What was erased stays erased: the log continues under another name.
      if (OrielError.is(error, 'not-found')) fresh = { ...place, thread: laterName(key, attempt) }
      else if (!OrielError.is(error, 'version-conflict')) throw error
      if (attempt === maxAttempts) throw error
    }
  }
}

interface Newest {
  /** Where the log is, or where it would begin. */
  readonly place: ThreadKey
  readonly version: number
  /** The newest entry of each name. */
  readonly entries: Iterable<SettingEntry>
}

async function newest(store: SettingsStore, key: AgentKey): Promise<Newest> {
  const place = placeOf(key)
  const first = await readSettings(store, place)
  if (first.version > 0) return first
  const after = laterName(key, '')
  const [later] = await store.list(place.tenant, { after, limit: 1 })
  const isOwn = later?.thread.startsWith(after) === true
  return isOwn ? readSettings(store, { ...place, thread: later.thread }) : first
}

async function readSettings(store: SettingsStore, place: ThreadKey): Promise<Newest> {
  const entries = new Map<string, SettingEntry>()
  let version = 0
  for await (const entry of store.read(place)) {
    version = entry.seq
    if (entry.type !== 'setting') continue
    if (entry.value === null) entries.delete(entry.name)
    else entries.set(entry.name, entry)
  }
  return { place, version, entries: entries.values() }
}

/** Beside the tenant's threads, so that no list of threads shows it. */
function placeOf(key: AgentKey): ThreadKey {
  assertOptions(key, { tenant: true, agent: true }, 'An agent of settings', 'key')
  const { tenant = 'default', agent } = key
  if (typeof tenant !== 'string') throw wrong('tenant', "a tenant's name")
  if (typeof agent !== 'string' || agent === '') throw wrong('agent', "an agent's name")
  return { tenant: settingsTenant(tenant), thread: agent }
}

/** Another log of the same agent, after the first one was erased. No agent's own name has this character. */
function laterName({ agent }: AgentKey, suffix: string | number): string {
  return `${agent}\u001f${suffix}`
}

const prefix = 'settings:'

/** Where a tenant's settings are kept. */
export function settingsTenant(tenant: string): string {
  return `${prefix}${tenant}`
}

function nameOf(tool: unknown): string {
  if (typeof tool === 'string' && tool.trim() !== '') return tool.trim()
  throw wrong('tool', "a tool's name or a pattern")
}

function isRow(value: unknown): value is Expiry | null {
  return value === null || isObject(value)
}

function isPrompt(value: unknown): value is string | null {
  return value === null || (typeof value === 'string' && value !== '')
}

function isHistoryPolicy(value: unknown): value is ChatSettings['historyPolicy'] | null {
  return value === null || ['lastN', 'all', 'none'].includes(value as string)
}

function isHistoryLength(value: unknown): value is number | null {
  return value === null || (Number.isSafeInteger(value) && (value as number) >= 0)
}

function rowOf(setting: ToolSetting): Expiry {
  const { after = null, mode = 'none', unit, compact, length, prompt, ...others } = setting
  const [unknown] = Object.keys(others)
  if (unknown !== undefined) {
    throw wrong(unknown, 'left out: a row has after, unit, mode, compact, length and prompt')
  }
  const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0
  if (after !== null && !isCount(after)) throw wrong('after', 'a whole number, 0 or more, or null')
  if (!['none', 'remove', 'compact'].includes(mode)) throw wrong('mode', 'none, remove or compact')
  if (unit != null && unit !== 'steps' && unit !== 'turns') throw wrong('unit', 'steps or turns')
  if (compact != null && compact !== 'first-chars' && compact !== 'summary') {
    throw wrong('compact', 'first-chars or summary')
  }
  if (length != null && (!isCount(length) || length === 0)) {
    throw wrong('length', 'a whole number above 0')
  }
  if (prompt != null && (typeof prompt !== 'string' || prompt === '')) {
    throw wrong('prompt', "a prompt's id")
  }
  return {
    after,
    mode,
    ...(unit == null ? {} : { unit }),
    ...(compact == null ? {} : { compact }),
    ...(length == null ? {} : { length }),
    ...(prompt == null ? {} : { prompt }),
  }
}

/** Also for names such as `__proto__`. */
function define(target: object, name: string, value: unknown): void {
  Object.defineProperty(target, name, {
    value,
    enumerable: true,
    configurable: true,
    writable: true,
  })
}

function wrong(path: string, expected: string): OrielError {
  return new OrielError('invalid-option', `A setting's ${path} must be ${expected}.`, { path })
}
