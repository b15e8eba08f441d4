// Agent templates, and what was stored for them since: stored settings win over the file.

import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { type ChatSettings, OrielError, type Store, type StoredSettings } from 'oriel'
import { z } from 'zod'
import type { AgentOptions } from './options.ts'
import { type Agents, checkAgentName } from './settings.ts'

export const chatSettingsSchema = z.strictObject({
  historyPolicy: z.enum(['lastN', 'all', 'none']).optional(),
  historyLength: z.number().int().min(0).optional(),
})

/** Whose the settings are: the gateway's own, and so of all that call it. */
const tenant = 'index:'

export class AgentBook implements Agents {
  readonly #templates: ReadonlyMap<string, AgentOptions>
  /** Templates with what was stored for them. */
  readonly #changed = new Map<string, AgentOptions>()
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

  get(name: string): AgentOptions | undefined {
    return this.#changed.get(name) ?? this.#templates.get(name)
  }

  storedFor(template: AgentOptions): StoredSettings | undefined {
    return this.#stored.get(template)
  }

  /** Reads what was stored before, by this process or another. */
  async load(): Promise<void> {
    await Promise.all(this.names.map((name) => this.#read(name)))
  }

  async store(agent: string, settings: z.infer<typeof chatSettingsSchema>): Promise<void> {
    // Absent fields are missing in what was parsed, not undefined.
    await this.#store.settings.saveChat({ tenant, agent }, settings as ChatSettings)
    await this.#read(agent)
  }

  async #read(agent: string): Promise<void> {
    const template = this.#templates.get(agent)
    if (template === undefined) return
    const stored = await this.#store.settings.read({ tenant, agent })
    const chatSettings = { ...template.chatSettings, ...stored.chat }
    const changed = stored.chat === undefined ? { ...template } : { ...template, chatSettings }
    this.#changed.set(agent, changed)
    this.#stored.set(changed, stored)
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
