// Agent templates, and the settings that the store has for them. Stored settings win over the file.

import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { LRUCache } from 'lru-cache'
import { type ChatSettings, OrielError, type Store, type StoredSettings } from 'oriel'
import { z } from 'zod'
import type { AgentOptions } from '../options.ts'
import { type Agents, checkAgentName } from './resolve.ts'

export const chatSettingsSchema = z.strictObject({
  historyPolicy: z.enum(['lastN', 'all', 'none']).optional(),
  historyLength: z.number().int().min(0).optional(),
})

/** Where settings are kept that hold for all tenants. */
const shared = 'index:'
/** Agents of tenants whose stored settings are cached. */
const maxOwn = 10_000

export class AgentRegistry implements Agents {
  readonly #templates: ReadonlyMap<string, AgentOptions>
  /** Templates with what was stored for all tenants. */
  readonly #changed = new Map<string, AgentOptions>()
  /** Templates with a tenant's own settings on top; without one where the tenant has stored none. */
  readonly #own = new LRUCache<string, { readonly template?: AgentOptions }>({ max: maxOwn })
  readonly #stored = new WeakMap<AgentOptions, StoredSettings>()
  readonly #store: Store

  constructor(templates: Readonly<Record<string, AgentOptions>>, store: Store) {
    for (const name of Object.keys(templates)) checkAgentName(name)
    this.#templates = new Map(Object.entries(templates))
    this.#store = store
  }

  get names(): readonly string[] {
    return [...this.#templates.keys()]
  }

  get(name: string, tenant?: string): AgentOptions | undefined {
    const own = tenant === undefined ? undefined : this.#own.get(ownKey(name, tenant))?.template
    return own ?? this.#changed.get(name) ?? this.#templates.get(name)
  }

  storedFor(template: AgentOptions): StoredSettings | undefined {
    return this.#stored.get(template)
  }

  /** Reads what was stored for all tenants before, by this process or another. */
  async load(): Promise<void> {
    await Promise.all(this.names.map((name) => this.#read(name)))
  }

  ready(name: string, tenant: string): Promise<void> | undefined {
    const isCached = this.#own.get(ownKey(name, tenant)) !== undefined
    return isCached ? undefined : this.readOwn(name, tenant)
  }

  /** Reads what a tenant has stored for an agent, again where it is known. */
  async readOwn(name: string, tenant: string): Promise<void> {
    const template = this.#templates.get(name)
    if (template === undefined) return
    const own = await this.#store.settings.read({ tenant, agent: name })
    const base = this.#changed.get(name)
    const before = (base && this.#stored.get(base)) ?? nothing
    const cached = isEmpty(own) ? {} : { template: this.#with(template, merged(before, own)) }
    this.#own.set(ownKey(name, tenant), cached)
  }

  /** Stores settings for a tenant; without one, for all of them. */
  async store(
    agent: string,
    settings: z.infer<typeof chatSettingsSchema>,
    tenant?: string,
  ): Promise<void> {
    // Absent fields are missing in what was parsed, not undefined.
    const chat = settings as ChatSettings
    await this.#store.settings.saveChat({ tenant: tenant ?? shared, agent }, chat)
    if (tenant === undefined) await this.#read(agent)
    else await this.readOwn(agent, tenant)
  }

  async #read(agent: string): Promise<void> {
    const template = this.#templates.get(agent)
    if (template === undefined) return
    const stored = await this.#store.settings.read({ tenant: shared, agent })
    this.#changed.set(agent, this.#with(template, stored))
    // What tenants have stored stands on top of it.
    for (const key of [...this.#own.keys()]) {
      if (key.startsWith(ownKey(agent, ''))) this.#own.delete(key)
    }
  }

  #with(template: AgentOptions, stored: StoredSettings): AgentOptions {
    const chatSettings = { ...template.chatSettings, ...stored.chat }
    const changed = stored.chat === undefined ? { ...template } : { ...template, chatSettings }
    this.#stored.set(changed, stored)
    return changed
  }
}

/** No agent's name has this character. */
function ownKey(name: string, tenant: string): string {
  return `${name}\0${tenant}`
}

const nothing: StoredSettings = { tools: {}, toolDefaults: {} }

function isEmpty({ tools, toolDefaults, chat }: StoredSettings): boolean {
  const hasRows = Object.keys(tools).length > 0 || Object.keys(toolDefaults).length > 0
  return !hasRows && chat === undefined
}

function merged(all: StoredSettings, own: StoredSettings): StoredSettings {
  const chat = { ...all.chat, ...own.chat }
  return {
    tools: { ...all.tools, ...own.tools },
    toolDefaults: { ...all.toolDefaults, ...own.toolDefaults },
    ...(Object.keys(chat).length === 0 ? {} : { chat }),
  }
}

/** The templates in a folder: `support.json` is the agent `support`. */
export function readAgents(folder: string): Readonly<Record<string, AgentOptions>> {
  const files = readdirSync(folder).filter((file) => file.endsWith('.json'))
  return Object.fromEntries(
    files.map((file) => {
      try {
        const value: unknown = JSON.parse(readFileSync(join(folder, file), 'utf8'))
        if (typeof value !== 'object' || value === null || Array.isArray(value))
          throw new Error('no object')
        return [basename(file, '.json'), value as AgentOptions]
      } catch (cause) {
        const message = `The agent template ${file} is not a JSON object.`
        throw new OrielError('invalid-option', message, { path: 'agents', cause })
      }
    }),
  )
}
